// SPDX-License-Identifier: BSD-3-Clause
//
// MpiFunctions for programs that are linked to MPI (tests, benchmarks). Not for the preload
// libraries, which must not name a symbol of MPI.
#ifndef LACUNA_MPI_DIRECT_HPP_
#define LACUNA_MPI_DIRECT_HPP_

#include "mpi/functions.hpp"

namespace lacuna {

const MpiFunctions& direct_mpi_functions();

}  // namespace lacuna

#endif  // LACUNA_MPI_DIRECT_HPP_
