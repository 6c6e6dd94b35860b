// SPDX-License-Identifier: BSD-3-Clause
//
// Enters types into the registry (registry.hpp). A type gets an attribute: when it is freed, by
// whomever, MPI deletes the attribute and calls lacuna_forget before it can use the handle again.
// MPI_Finalize empties the registry, by an attribute of MPI_COMM_SELF. All MPI calls here are
// PMPI_: tools see only what the program does.
#include "optimizer/templates/registry.hpp"

using lacuna::compiled::Entry;
using lacuna::compiled::Kernels;
using lacuna::compiled::Layout;
using lacuna::compiled::Registry;

extern "C" {
Registry lacuna_registry_1 = {};
}

namespace {

constexpr int64_t kMostElement = int64_t(64) << 20;

Registry& all() { return lacuna_registry_1; }

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

void clear(Entry& place) { __atomic_store_n(&place.handle, uintptr_t{0}, __ATOMIC_RELEASE); }

// Compiled to be small, as all here that is not called for each message: every file that registers
// types has a copy.
extern "C" [[clang::minsize]] int lacuna_forget(MPI_Datatype, int, void* value, void*) {
  clear(*static_cast<Entry*>(value));
  return MPI_SUCCESS;
}

extern "C" [[clang::minsize]] int lacuna_forget_all(MPI_Comm, int, void*, void*) {
  __atomic_store_n(&all().state, Registry::kClosed, __ATOMIC_RELAXED);
  for (Entry(&both)[2] : all().places) {
    for (Entry& place : both) clear(place);
  }
  return MPI_SUCCESS;
}

// Whether types can be registered: between MPI_Init and MPI_Finalize. Not with sessions alone,
// which may end and begin again, after which a handle may mean another type. Not with
// MPI_THREAD_MULTIPLE: MPICH releases its lock while it calls functions that delete attributes,
// also during progress, when the last message of a freed type completes; MPICH 4.0.2 then sometimes
// aborts.
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

// Whether to register the next type of a place. Asked before the rest is computed.
extern "C" [[gnu::always_inline]] int lacuna_template_may_enter(int64_t* place) {
  const int64_t spent = lacuna::compiled::spent_at(place);
  if (spent < lacuna::compiled::kMostSpent) return 1;
  lacuna::compiled::set_spent(place, spent - 1);
  return 0;
}

extern "C" [[gnu::always_inline]] int lacuna_template_is_registered(MPI_Datatype type) {
  return lacuna::compiled::is_registered(type) ? 1 : 0;
}

extern "C" [[gnu::noinline]] int lacuna_lookup_1_fill(lacuna::compiled::Lookup* lookup,
                                                      lacuna::compiled::BufferArg* arg,
                                                      MPI_Datatype type, int64_t count, int side,
                                                      int64_t most) {
  return lookup->fill_numbers(*arg, type, count, lacuna::compiled::Lookup::Side(side), most) ? 1
                                                                                             : 0;
}

// After MPI_Type_commit has returned `code`: enters the type into the registry.
extern "C" [[gnu::noinline, clang::minsize]] void lacuna_template_enter(
    int code, MPI_Datatype type, const Kernels* kernels, int64_t bytes, int64_t lb, int64_t extent,
    int64_t run, const int64_t* numbers, int64_t number_count) {
  lacuna::compiled::set_spent(
      kernels->spent, lacuna::compiled::spent_at(kernels->spent) + lacuna::compiled::kPrice);
  const bool has_gaps = run < bytes || extent != bytes;
  if (code != MPI_SUCCESS || bytes <= 0 || bytes > kMostElement || !has_gaps ||
      lacuna::compiled::is_registered(type)) {
    return;
  }
  Layout layout = {kernels, bytes, lb, extent, run, {}};
  for (int64_t i = 0; i < number_count && i < lacuna::interface::kMostNumbers; ++i)
    layout.numbers[i] = numbers[i];
  const Lock lock;
  if (all().state == Registry::kUnknown)
    all().state = opens() ? Registry::kOpen : Registry::kClosed;
  if (all().state != Registry::kOpen) {
    lacuna::compiled::set_spent(kernels->spent, INT64_MAX / 2);  // never again
    return;
  }
  for (unsigned i = 0; i < 2; ++i) {
    Entry& place = lacuna::compiled::places_of(lacuna::compiled::number_of(type))[i];
    if (__atomic_load_n(&place.handle, __ATOMIC_ACQUIRE) != 0) continue;
    // A constructor that failed may have left another type in the variable.
    if (!is_of_layout(type, layout) ||
        PMPI_Type_set_attr(type, all().keyval, &place) != MPI_SUCCESS) {
      return;
    }
    place.layout = layout;
    __atomic_store_n(&place.handle, lacuna::compiled::number_of(type), __ATOMIC_RELEASE);
    return;
  }
}
