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

// While it lives, errors that belong to no communicator call no handler of the program's: libraries
// raise them on MPI_COMM_WORLD or MPI_COMM_SELF, whose handlers are replaced. Not with threads,
// whose errors would be lost meanwhile.
//
// MPICH distinguishes a communicator on which no handler was set from one with
// MPI_ERRORS_ARE_FATAL, but MPI_Comm_get_errhandler gives the same for both. If MPI_COMM_SELF has
// none, such errors are raised on MPI_COMM_WORLD, and restoring "fatal" on MPI_COMM_SELF would
// change that. So there a handler that reads as fatal is not replaced; on MPI_COMM_WORLD it is if
// `fatal_too`.
class SilencedErrors {
 public:
  explicit SilencedErrors(bool fatal_too);
  ~SilencedErrors();
  SilencedErrors(const SilencedErrors&) = delete;
  SilencedErrors& operator=(const SilencedErrors&) = delete;

 private:
  struct Silenced {
    MPI_Comm comm;
    MPI_Errhandler handler;
    bool is_silent;
  };
  Silenced silenced_[2];
};

// Calls the error handler of the communicator. Returns the code that the MPI call must return.
int raise_error(MPI_Comm comm, int error_class);
// The same for a call that completes several requests, of which one, on `comm`, has failed. The
// call returns `reported`.
int raise_error_of_many(MPI_Comm comm, int error_class, int reported);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_ERROR_HANDLERS_HPP_
