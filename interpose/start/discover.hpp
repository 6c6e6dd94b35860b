// SPDX-License-Identifier: BSD-3-Clause
//
// What lacuna finds out about the MPI library in MPI_Init: its constants, its version and what
// depends on it, the program's thread level, and the table for the library.
#ifndef LACUNA_INTERPOSE_START_DISCOVER_HPP_
#define LACUNA_INTERPOSE_START_DISCOVER_HPP_

#include "mpi/header.hpp"

namespace lacuna {

struct Next;
struct Runtime;

// Whether another job has started this one (MPI_Comm_spawn).
bool is_spawned(const Next& next) noexcept;

// Whether the job may go on after ranks have failed, and revoke communicators (ULFM).
bool outlives_failures() noexcept;

// Fills in what needs no communicator of lacuna's and creates no MPI object.
void learn_library(const Next& next, Runtime* rt);

// Sets lacuna's error handler on a communicator of lacuna's: its errors are not shown to the
// program, and do not end it.
void set_own_handler(MPI_Comm comm) noexcept;

// Makes Runtime::probe_comm, with an error handler of lacuna's. MPI_ERRORS_RETURN would not do:
// libraries of the standard ABI disagree on its value (Intel MPI 2021.19 has another than MPICH
// 5.0.2, and takes that one for MPI_ERRORS_ABORT). The handler must record the error itself: MPICH
// 5 returns MPI_SUCCESS after it has called a handler that returns.
bool make_probe(const Next& next, Runtime* rt) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_START_DISCOVER_HPP_
