// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of MPI as a program linked to MPI sees them. Only for such programs (tests,
// benchmarks): the preload libraries must not name a symbol of MPI.
#ifndef LACUNA_MPI_DIRECT_HPP_
#define LACUNA_MPI_DIRECT_HPP_

#include "mpi/functions.hpp"

namespace lacuna {

const MpiFunctions& direct_mpi_functions();

}  // namespace lacuna

#endif  // LACUNA_MPI_DIRECT_HPP_
