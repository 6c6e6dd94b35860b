// SPDX-License-Identifier: BSD-3-Clause
//
// The reverse of decoding, for benchmarks and tests: an MPI_Datatype built from a Type by the very
// constructors it names.
#ifndef LACUNA_BENCH_HARNESS_BUILD_MPI_HPP_
#define LACUNA_BENCH_HARNESS_BUILD_MPI_HPP_

#include <optional>

#include "mpi/predefined.hpp"
#include "type/type.hpp"

namespace lacuna::bench {

// Not committed; the caller frees it. Nothing where this MPI has no such type (Fortran types in a
// library without Fortran, value_index pairs before MPI 4.1) or an argument does not fit into an
// int.
std::optional<MPI_Datatype> build_mpi(const Type& type, const PredefinedTypes& predefined);

// Whether the handle is a predefined one, which is not to be freed.
void free_built(MPI_Datatype datatype, const PredefinedTypes& predefined);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_HARNESS_BUILD_MPI_HPP_
