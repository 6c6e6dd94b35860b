// SPDX-License-Identifier: BSD-3-Clause
//
// The reverse of decoding, for benchmarks and tests: builds an MPI_Datatype from a Type by the
// constructors that it names.
#ifndef LACUNA_BENCH_HARNESS_BUILD_MPI_HPP_
#define LACUNA_BENCH_HARNESS_BUILD_MPI_HPP_

#include <optional>

#include "mpi/predefined.hpp"
#include "type/type.hpp"

namespace lacuna::bench {

// The type is not committed; the caller frees it. Empty if this MPI has no such type (Fortran types
// in a library without Fortran, value_index pairs before MPI 4.1) or an argument does not fit an
// int.
std::optional<MPI_Datatype> build_mpi(const Type& type, const PredefinedTypes& predefined);

// Frees the handle, unless it is a predefined one.
void free_built(MPI_Datatype datatype, const PredefinedTypes& predefined);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_HARNESS_BUILD_MPI_HPP_
