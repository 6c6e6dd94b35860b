// SPDX-License-Identifier: BSD-3-Clause
//
// What lacuna learns at its start of the MPI library that it is loaded before: its values, its
// version and what follows from that, the program's threads, and the table that goes by it.
#ifndef LACUNA_INTERPOSE_START_DISCOVER_HPP_
#define LACUNA_INTERPOSE_START_DISCOVER_HPP_

#include "mpi/header.hpp"

namespace lacuna {

struct Next;
struct Runtime;

// Whether another job has started this one.
bool is_spawned(const Next& next) noexcept;

// Whether the program may go on where ranks have died, and revoke communicators.
bool outlives_failures() noexcept;

// What needs no communicator and makes no object.
void learn_library(const Next& next, Runtime* rt);

// Its error handler, for a communicator of lacuna's: errors there are nobody else's, and none ends
// the program.
void set_own_handler(MPI_Comm comm) noexcept;

// An error handler of our own, for the standard ABI's libraries do not agree on the value of
// MPI_ERRORS_RETURN (Intel MPI 2021.19 has another than MPICH 5.0.2, and takes that one for
// MPI_ERRORS_ABORT). It must note the error itself: MPICH 5 returns MPI_SUCCESS after it has called
// a handler that returns.
bool make_probe(const Next& next, Runtime* rt) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_START_DISCOVER_HPP_
