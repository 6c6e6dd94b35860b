// SPDX-License-Identifier: BSD-3-Clause
//
// Completing one request: MPI_Wait, MPI_Test, MPI_Request_get_status.
#include "interpose/bodies.hpp"
#include "interpose/next.hpp"
#include "interpose/requests.hpp"
#include "interpose/runtime.hpp"

namespace lacuna {
namespace {

// What the completing call returns.
int complete(PendingRequest* entry, int code, MPI_Status* status) {
  const MPI_Comm comm = entry->incoming.comm;  // the entry may be gone
  const int error_class = finish_pending(entry, status);
  return error_class == MPI_SUCCESS ? code : raise_error(comm, error_class);
}

// A request that has completed, with or without an error, leaves MPI_REQUEST_NULL behind; one that
// the call has not touched is as it was. The code does not always tell (transfer.hpp, OwnStatus).
// A persistent request is always as it was; `ended` is what the call has said of it.
int settle(PendingRequest* entry, const MPI_Request* request, bool ended, int code,
           MPI_Status* status) {
  const bool over =
      entry->persistent ? ended && code == MPI_SUCCESS : handle_bits(*request) != entry->key;
  if (over) return complete(entry, code, code == MPI_SUCCESS ? status : nullptr);
  put_back(entry);
  return code;
}

}  // namespace

Answer take_wait(MPI_Request* request, MPI_Status* status) {
  finish_freed_requests();
  PendingRequest* entry = request != nullptr ? claim_pending(*request) : nullptr;
  if (entry == nullptr) return kDeclined;
  MPI_Status own;
  if (entry->receive && status == MPI_STATUS_IGNORE) status = &own;
  const int code = next_functions().MPI_Wait(request, status);
  return taken(settle(entry, request, true, code, status));
}

Answer take_test(MPI_Request* request, int* flag, MPI_Status* status) {
  finish_freed_requests();
  PendingRequest* entry = request != nullptr && flag != nullptr ? claim_pending(*request) : nullptr;
  if (entry == nullptr) return kDeclined;
  MPI_Status own;
  if (entry->receive && status == MPI_STATUS_IGNORE) status = &own;
  if (entry->persistent) *flag = 0;  // after an error nobody may have written it
  const int code = next_functions().MPI_Test(request, flag, status);
  return taken(settle(entry, request, *flag != 0, code, status));
}

// The request stays the program's, but the operation is over and lacuna's part in it, too.
Answer take_request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  finish_freed_requests();
  PendingRequest* entry = flag != nullptr ? claim_pending(request) : nullptr;
  if (entry == nullptr) return kDeclined;
  MPI_Status own;
  if (entry->receive && status == MPI_STATUS_IGNORE) status = &own;
  const int code = next_functions().MPI_Request_get_status(request, flag, status);
  if (code == MPI_SUCCESS && *flag != 0) {
    const MPI_Comm comm = entry->incoming.comm;
    const int error_class = observe_pending(entry, status);
    return taken(error_class == MPI_SUCCESS ? code : raise_error(comm, error_class));
  }
  put_back(entry);
  return taken(code);
}

}  // namespace lacuna
