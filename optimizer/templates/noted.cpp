// SPDX-License-Identifier: BSD-3-Clause
//
// Notes types (noted.hpp). That a type is freed is told by MPI itself: it gets an attribute, whose
// deletion calls forget() before the handle can be given again, whoever frees it. What is still
// there in MPI_Finalize goes with an attribute of MPI_COMM_SELF. All this by PMPI: tools see what
// the program does.
#include "optimizer/templates/noted.hpp"

using lacuna::AllNoted;
using lacuna::Kernels;
using lacuna::Layout;
using lacuna::Noted;

extern "C" {
AllNoted lacuna_noted_types_2 = {};
}

namespace {

constexpr int64_t kMostElement = int64_t(64) << 20;

AllNoted& all() { return lacuna_noted_types_2; }

class Lock {
 public:
  Lock() {
    while (__atomic_exchange_n(&all().lock, 1, __ATOMIC_ACQUIRE) != 0) {
    }
  }
  ~Lock() { __atomic_store_n(&all().lock, 0, __ATOMIC_RELEASE); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

void clear(Noted& place) { __atomic_store_n(&place.handle, uintptr_t{0}, __ATOMIC_RELEASE); }

// Small rather than fast, like all here that is not called for each message: every file that notes
// types has its own.
extern "C" [[clang::minsize]] int lacuna_forget(MPI_Datatype, int, void* value, void*) {
  clear(*static_cast<Noted*>(value));
  return MPI_SUCCESS;
}

extern "C" [[clang::minsize]] int lacuna_forget_all(MPI_Comm, int, void*, void*) {
  __atomic_store_n(&all().state, AllNoted::kClosed, __ATOMIC_RELAXED);
  for (Noted(&both)[2] : all().places) {
    for (Noted& place : both) clear(place);
  }
  return MPI_SUCCESS;
}

// Whether types can be noted: between MPI_Init and MPI_Finalize. Not where sessions alone are used,
// which may end and begin again, with handles that mean something else then. Nor where several
// threads may call MPI: MPICH gives up its lock around functions that delete attributes, also
// inside its progress, where a freed type's last message ends, and 4.0.2 then ends the program now
// and then.
bool opens() {
  int threads = MPI_THREAD_MULTIPLE;
  return lacuna_template_at_finalize(lacuna_forget_all) != 0 &&
         PMPI_Query_thread(&threads) == MPI_SUCCESS && threads != MPI_THREAD_MULTIPLE &&
         PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, lacuna_forget, &all().keyval, nullptr) ==
             MPI_SUCCESS;
}

bool is_of_layout(MPI_Datatype type, const Layout& layout) {
  int bytes = -1;
  MPI_Aint lb = 0, extent = 0;
  return PMPI_Type_size(type, &bytes) == MPI_SUCCESS && bytes == layout.bytes &&
         PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS && lb == layout.lb &&
         extent == layout.extent;
}

}  // namespace

// Whether to note the next type of a place; before it is known what to note.
extern "C" [[gnu::always_inline]] int lacuna_template_may_note(int64_t* place) {
  const int64_t spent = lacuna::spent_at(place);
  if (spent < lacuna::kMostSpent) return 1;
  lacuna::set_spent(place, spent - 1);
  return 0;
}

extern "C" [[gnu::always_inline]] int lacuna_template_is_noted(MPI_Datatype type) {
  return lacuna::is_noted(type) ? 1 : 0;
}

extern "C" [[gnu::noinline]] int lacuna_asks_2_fill(lacuna::Asked* asked, lacuna::Part* part,
                                                    MPI_Datatype type, int64_t count, int side,
                                                    int64_t most) {
  return asked->fill_numbers(*part, type, count, lacuna::Asked::Side(side), most) ? 1 : 0;
}

// After a commit of that code.
extern "C" [[gnu::noinline, clang::minsize]] void lacuna_template_note(
    int code, MPI_Datatype type, const Kernels* kernels, int64_t bytes, int64_t lb, int64_t extent,
    int64_t run, const int64_t* numbers, int64_t number_count) {
  lacuna::set_spent(kernels->spent, lacuna::spent_at(kernels->spent) + lacuna::kPrice);
  const bool has_gaps = run < bytes || extent != bytes;
  if (code != MPI_SUCCESS || bytes <= 0 || bytes > kMostElement || !has_gaps ||
      lacuna::is_noted(type)) {
    return;
  }
  Layout layout = {kernels, bytes, lb, extent, run, {}};
  for (int64_t i = 0; i < number_count && i < lacuna::kMostNumbers; ++i)
    layout.numbers[i] = numbers[i];
  const Lock lock;
  if (all().state == AllNoted::kUnknown)
    all().state = opens() ? AllNoted::kOpen : AllNoted::kClosed;
  if (all().state != AllNoted::kOpen) {
    lacuna::set_spent(kernels->spent, INT64_MAX / 2);  // never again
    return;
  }
  for (unsigned i = 0; i < 2; ++i) {
    Noted& place = lacuna::places_of(lacuna::number_of(type))[i];
    if (__atomic_load_n(&place.handle, __ATOMIC_ACQUIRE) != 0) continue;
    // A constructor that failed may have left another type there.
    if (!is_of_layout(type, layout) ||
        PMPI_Type_set_attr(type, all().keyval, &place) != MPI_SUCCESS) {
      return;
    }
    place.layout = layout;
    __atomic_store_n(&place.handle, lacuna::number_of(type), __ATOMIC_RELEASE);
    return;
  }
}
