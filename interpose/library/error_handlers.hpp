// SPDX-License-Identifier: BSD-3-Clause
//
// The program's error handlers: errors that only lacuna has met are raised on them.
#ifndef LACUNA_INTERPOSE_LIBRARY_ERROR_HANDLERS_HPP_
#define LACUNA_INTERPOSE_LIBRARY_ERROR_HANDLERS_HPP_

#include "mpi/header.hpp"

namespace lacuna {

// What MPI_Comm_get_errhandler or its kin gave is given back. Whether the program made it: one of
// MPI's own returns what it hears, or ends the job.
bool let_go(MPI_Errhandler* handler) noexcept;

// The error handler of the call's communicator hears of it; what the call returns.
int raise_error(MPI_Comm comm, int error_class);
// The same out of a call that completes several requests, of which one has failed, on `comm`, and
// which returns `told`.
int raise_error_of_many(MPI_Comm comm, int error_class, int told);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_ERROR_HANDLERS_HPP_
