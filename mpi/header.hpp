// SPDX-License-Identifier: BSD-3-Clause
//
// mpi.h, as all of lacuna's own code must include it. Compiled once for each ABI
// (LACUNA_MPI_FAMILY_MPICH, _OMPI or _MPIABI). An object made with it has no undefined symbol of
// MPI, neither function nor data, so that the preload libraries can be loaded into programs that
// load MPI late, or never.
//
// Open MPI's predefined handles are addresses of data symbols in libmpi. Here they are looked up by
// name. The program's own copy comes first: in an executable that is not position independent, the
// linker has moved the symbols there (copy relocation), and those are the addresses that the
// program and libmpi both use.
#ifndef LACUNA_MPI_HEADER_HPP_
#define LACUNA_MPI_HEADER_HPP_

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#if defined(LACUNA_MPI_FAMILY_MPICH) + defined(LACUNA_MPI_FAMILY_OMPI) + \
        defined(LACUNA_MPI_FAMILY_MPIABI) !=                             \
    1
#error "lacuna: exactly one LACUNA_MPI_FAMILY_* must be defined"
#endif

namespace lacuna {

// The bits of a handle, whatever C type the ABI gives it (int in MPICH's, pointer in the others).
template <typename Handle>
uintptr_t handle_bits(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<uintptr_t>(handle);
  } else {
    return static_cast<uintptr_t>(static_cast<std::make_unsigned_t<Handle>>(handle));
  }
}

// The address of a data symbol of the MPI library, or nullptr. Two implementations: mpi/direct.cpp
// for programs linked to MPI, interpose/library/next.cpp for the preload libraries.
void* mpi_data_symbol(const char* name);

// The same, kept in `found` once it is there.
inline void* mpi_data_symbol_once(std::atomic<void*>* found, const char* name) {
  void* address = found->load(std::memory_order_relaxed);
  if (address != nullptr) return address;
  address = mpi_data_symbol(name);
  found->store(address, std::memory_order_relaxed);
  return address;
}

}  // namespace lacuna

#if defined(LACUNA_MPI_FAMILY_OMPI)
// Looked up once in each place that names it, as a look-up takes some 1000 instructions.
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                \
  (static_cast<type>([] {                                   \
    static constinit ::std::atomic<void*> found{nullptr};   \
    return ::lacuna::mpi_data_symbol_once(&found, #global); \
  }()))
#endif

#endif  // LACUNA_MPI_HEADER_HPP_
