// SPDX-License-Identifier: BSD-3-Clause
//
// Notes types (noted.hpp). That a type is freed is told by MPI itself: it gets an attribute, whose
// deletion calls forget() before the handle can be given again, whoever frees it. What is still
// there in MPI_Finalize goes with an attribute of MPI_COMM_SELF. All this by PMPI: tools see what
// the program does.
#include "optimizer/templates/noted.hpp"

#include <elf.h>
#include <sys/auxv.h>

using lacuna::AllNoted;
using lacuna::Kernels;
using lacuna::Layout;
using lacuna::Noted;

extern "C" {
AllNoted lacuna_noted_types_1 = {};
// The linker's: where this program or library begins.
[[gnu::weak, gnu::visibility("hidden")]] extern const Elf64_Ehdr __ehdr_start;
}

namespace {

constexpr int64_t kMostElement = int64_t(64) << 20;
// So many types may be noted for nothing: making a vector, noting and freeing it takes about twice
// as long as without.
constexpr int kMostWasted = 64;
constexpr int kWorth = 4;  // a type that was asked for, in such

AllNoted& all() { return lacuna_noted_types_1; }

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

extern "C" int lacuna_forget(MPI_Datatype, int, void* value, void*) {
  auto* place = static_cast<Noted*>(value);
  const bool is_used = __atomic_load_n(&place->is_used, __ATOMIC_RELAXED) != 0;
  __atomic_fetch_add(&all().balance, is_used ? kWorth : -1, __ATOMIC_RELAXED);
  clear(*place);
  return MPI_SUCCESS;
}

extern "C" int lacuna_forget_all(MPI_Comm, int, void*, void*) {
  __atomic_store_n(&all().state, AllNoted::kClosed, __ATOMIC_RELAXED);
  for (Noted& place : all().places) clear(place);
  return MPI_SUCCESS;
}

// Whether this is the program itself: a library may be unloaded while its types live.
bool is_program() {
  if (&__ehdr_start == nullptr) return false;
  const char* const begin = reinterpret_cast<const char*>(&__ehdr_start);
  return getauxval(AT_PHDR) == reinterpret_cast<unsigned long>(begin + __ehdr_start.e_phoff);
}

// Whether types can be noted: between MPI_Init and MPI_Finalize. Not where sessions alone are used,
// which may end and begin again, with handles that mean something else then. Nor where several
// threads may call MPI: MPICH gives up its lock around functions that delete attributes, also
// inside its progress, where a freed type's last message ends, and 4.0.2 then ends the program now
// and then.
bool opens() {
  int is_initialized = 0, is_finalized = 1, of_self = MPI_KEYVAL_INVALID;
  int threads = MPI_THREAD_MULTIPLE;
  if (!is_program() || PMPI_Initialized(&is_initialized) != MPI_SUCCESS || is_initialized == 0 ||
      PMPI_Finalized(&is_finalized) != MPI_SUCCESS || is_finalized != 0 ||
      PMPI_Query_thread(&threads) != MPI_SUCCESS || threads == MPI_THREAD_MULTIPLE ||
      PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, lacuna_forget, &all().keyval, nullptr) !=
          MPI_SUCCESS ||
      PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, lacuna_forget_all, &of_self, nullptr) !=
          MPI_SUCCESS) {
    return false;
  }
  const bool is_told = PMPI_Comm_set_attr(MPI_COMM_SELF, of_self, nullptr) == MPI_SUCCESS;
  PMPI_Comm_free_keyval(&of_self);
  return is_told;
}

bool is_of_layout(MPI_Datatype type, const Layout& layout) {
  int bytes = -1;
  MPI_Aint lb = 0, extent = 0;
  return PMPI_Type_size(type, &bytes) == MPI_SUCCESS && bytes == layout.bytes &&
         PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS && lb == layout.lb &&
         extent == layout.extent;
}

}  // namespace

// After a commit of that code.
extern "C" [[gnu::noinline]] void lacuna_template_note(int code, MPI_Datatype type,
                                                       const Kernels* kernels, int64_t bytes,
                                                       int64_t lb, int64_t extent, int64_t run,
                                                       const int64_t* numbers,
                                                       int64_t number_count) {
  const bool has_gaps = run < bytes || extent != bytes;
  if (code != MPI_SUCCESS || bytes <= 0 || bytes > kMostElement || !has_gaps ||
      __atomic_load_n(&all().balance, __ATOMIC_RELAXED) < -kMostWasted ||
      lacuna::find_noted(type) != nullptr) {
    return;
  }
  Layout layout = {kernels, bytes, lb, extent, run, {}};
  for (int64_t i = 0; i < number_count && i < lacuna::kMostNumbers; ++i)
    layout.numbers[i] = numbers[i];
  // A constructor that failed may have left another type there.
  if (!is_of_layout(type, layout)) return;
  const Lock lock;
  if (all().state == AllNoted::kUnknown)
    all().state = opens() ? AllNoted::kOpen : AllNoted::kClosed;
  if (all().state != AllNoted::kOpen) return;
  const uintptr_t handle = lacuna::number_of(type);
  for (unsigned i = 0; i < 2; ++i) {
    Noted& place = all().places[lacuna::place_of(handle) ^ i];
    if (__atomic_load_n(&place.handle, __ATOMIC_ACQUIRE) != 0) continue;
    if (PMPI_Type_set_attr(type, all().keyval, &place) != MPI_SUCCESS) return;
    place.is_used = 0;
    place.layout = layout;
    __atomic_store_n(&place.handle, handle, __ATOMIC_RELEASE);
    return;
  }
}
