// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of MPI 4.1 for older libraries. A program that looks for them at run time finds
// lacuna's names (mpi4py does), so they must work. They use MPI_Request_get_status for each
// request.
#include "interpose/functions/bodies.hpp"
#include "interpose/library/next.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {
namespace {

MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses != MPI_STATUSES_IGNORE ? statuses + i : MPI_STATUS_IGNORE;
}

// MPI_Request_get_status does not tell whether a persistent request is active; for lacuna's own the
// table does.
bool is_active(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return false;
  const PendingRequest* entry = find_persistent(request);
  return entry == nullptr || entry->active;
}

}  // namespace

int missing_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status) {
  const Next& next = next_functions();
  bool any_active = false;
  for (int i = 0; i < count; ++i) {
    if (!is_active(requests[i])) continue;
    any_active = true;
    const int code = next.MPI_Request_get_status(requests[i], flag, status);
    if (code == MPI_SUCCESS && *flag == 0) continue;
    *index = i;
    return code;
  }
  *index = MPI_UNDEFINED;
  *flag = any_active ? 0 : 1;
  if (any_active || status == MPI_STATUS_IGNORE) return MPI_SUCCESS;
  return next.MPI_Request_get_status(MPI_REQUEST_NULL, flag, status);  // the empty status
}

int missing_get_status_all(int count, const MPI_Request* requests, int* flag,
                           MPI_Status* statuses) {
  int all = 1;
  for (int i = 0; i < count && all != 0; ++i) {
    const int code =
        next_functions().MPI_Request_get_status(requests[i], &all, status_at(statuses, i));
    if (code != MPI_SUCCESS) return code;
  }
  *flag = all;
  return MPI_SUCCESS;
}

int missing_get_status_some(int incount, const MPI_Request* requests, int* outcount, int* indices,
                            MPI_Status* statuses) {
  bool any_active = false;
  int found = 0;
  for (int i = 0; i < incount; ++i) {
    if (!is_active(requests[i])) continue;
    any_active = true;
    int done = 0;
    const int code =
        next_functions().MPI_Request_get_status(requests[i], &done, status_at(statuses, found));
    if (code != MPI_SUCCESS) return code;
    if (done != 0) indices[found++] = i;
  }
  *outcount = any_active ? found : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace lacuna
