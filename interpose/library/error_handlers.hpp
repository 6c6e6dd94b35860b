// SPDX-License-Identifier: BSD-3-Clause
//
// Raises errors that only lacuna has found on the program's error handlers.
#ifndef LACUNA_INTERPOSE_LIBRARY_ERROR_HANDLERS_HPP_
#define LACUNA_INTERPOSE_LIBRARY_ERROR_HANDLERS_HPP_

#include "mpi/header.hpp"

namespace lacuna {

// Frees a handle from MPI_Comm_get_errhandler or its like. False for MPI's own handlers
// (MPI_ERRORS_RETURN, MPI_ERRORS_ARE_FATAL), which are not freed; true if the program made it.
bool free_handler(MPI_Errhandler* handler) noexcept;

// Calls the error handler of the communicator. Returns the code that the MPI call must return.
int raise_error(MPI_Comm comm, int error_class);
// The same for a call that completes several requests, of which one, on `comm`, has failed. The
// call returns `reported`.
int raise_error_of_many(MPI_Comm comm, int error_class, int reported);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_ERROR_HANDLERS_HPP_
