// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/library/error_handlers.hpp"

#include "interpose/library/communicator.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/policy/policy.hpp"

namespace lacuna {

// A communicator may be gone before what was received on it: libraries that then do not know its
// handler go to that of the world.
int raise_error(MPI_Comm comm, int error_class) {
  if (!is_communicator(comm)) comm = runtime().comm_world;
  next_functions().MPI_Comm_call_errhandler(comm, error_class);
  return error_class;
}

bool let_go(MPI_Errhandler* handler) noexcept {
  if (*handler == runtime().errors_are_fatal || *handler == runtime().errors_return) return false;
  next_functions().MPI_Errhandler_free(handler);
  return true;
}

// Open MPI's handlers hear of the request's own error, on its communicator; MPICH's of what the
// call returns, on none.
int raise_error_of_many(MPI_Comm comm, int error_class, int told) {
  if (runtime().flavour != Flavour::kOpenMpi)
    return raise_error(tells_none_of_several(runtime().flavour) ? hears_of_none() : comm, told);
  raise_error(comm, error_class);
  return told;
}

}  // namespace lacuna
