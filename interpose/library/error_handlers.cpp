// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/library/error_handlers.hpp"

#include "interpose/library/communicator.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/policy/policy.hpp"

namespace lacuna {

// The program may have freed the communicator before the receive completed. Libraries that no
// longer know its error handler call that of MPI_COMM_WORLD.
int raise_error(MPI_Comm comm, int error_class) {
  if (!is_communicator(comm)) comm = runtime().comm_world;
  next_functions().MPI_Comm_call_errhandler(comm, error_class);
  return error_class;
}

bool free_handler(MPI_Errhandler* handler) noexcept {
  if (*handler == runtime().errors_are_fatal || *handler == runtime().errors_return) return false;
  next_functions().MPI_Errhandler_free(handler);
  return true;
}

SilencedErrors::SilencedErrors(bool fatal_too)
    : silenced_{{runtime().comm_world, {}, false}, {runtime().comm_self, {}, false}} {
  const Next& next = next_functions();
  MPI_Errhandler silent;
  if (next.MPI_Comm_get_errhandler(runtime().probe_comm, &silent) != MPI_SUCCESS) return;
  bool keeps_fatal = runtime().flavour != Flavour::kOpenMpi && !fatal_too;
  for (Silenced& one : silenced_) {
    if (next.MPI_Comm_get_errhandler(one.comm, &one.handler) != MPI_SUCCESS) continue;
    if (keeps_fatal && one.handler == runtime().errors_are_fatal) continue;
    one.is_silent = next.MPI_Comm_set_errhandler(one.comm, silent) == MPI_SUCCESS;
    keeps_fatal = runtime().flavour != Flavour::kOpenMpi;
  }
  next.MPI_Errhandler_free(&silent);
}

SilencedErrors::~SilencedErrors() {
  for (Silenced& one : silenced_) {
    if (!one.is_silent) continue;
    next_functions().MPI_Comm_set_errhandler(one.comm, one.handler);
    free_handler(&one.handler);
  }
}

// Open MPI calls the handler of the request's communicator with the request's own error. MPICH
// passes what the call returns, to the handler for errors that have no communicator.
int raise_error_of_many(MPI_Comm comm, int error_class, int reported) {
  if (runtime().flavour != Flavour::kOpenMpi)
    return raise_error(
        raises_errors_of_several_on_none(runtime().flavour) ? comm_of_unattached_errors() : comm,
        reported);
  raise_error(comm, error_class);
  return reported;
}

}  // namespace lacuna
