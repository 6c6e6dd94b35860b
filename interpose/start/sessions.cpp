// SPDX-License-Identifier: BSD-3-Clause
//
// MPI sessions, which may outlive MPI_Finalize. A token (direct/arena/region.hpp) in flight at that
// moment would reach a rank in which lacuna has ended. A rank that sends on a communicator of a
// session has a session itself, so it is enough that lacuna begins nothing in a rank that has one.
#include "interpose/functions/bodies.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/requests/freed.hpp"

namespace lacuna {

int around_session_init(const Next& next, MPI_Info info, MPI_Errhandler handler,
                        MPI_Session* session) {
  const int code = next.MPI_Session_init(info, handler, session);
  if (code == MPI_SUCCESS) count_sessions(1);
  return code;
}

int around_session_finalize(const Next& next, MPI_Session* session) {
  finish_freed_requests();  // they hold on to its communicators
  const int code = next.MPI_Session_finalize(session);
  if (code == MPI_SUCCESS) count_sessions(-1);
  return code;
}

}  // namespace lacuna
