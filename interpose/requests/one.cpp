// SPDX-License-Identifier: BSD-3-Clause
//
// Completing one request: MPI_Wait, MPI_Test, MPI_Request_get_status.
#include <algorithm>

#include "interpose/functions/bodies.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {
namespace {

// What the completing call returns.
int complete(PendingRequest* entry, int code, MPI_Status* status) {
  const MPI_Comm comm = entry->incoming.comm;  // the entry may be gone
  const int error_class = finish_pending(entry, status);
  return error_class == MPI_SUCCESS ? code : raise_error(comm, error_class);
}

// A request that has completed, with or without an error, is MPI_REQUEST_NULL after the call; an
// incomplete one is unchanged. The code alone does not tell (OwnStatus,
// direct/messages/incoming.hpp). The handle of a persistent request is always unchanged; then
// `ended` says what the call reported.
int settle(PendingRequest* entry, const MPI_Request* request, bool ended, int code,
           MPI_Status* status) {
  const bool over =
      outlives_call(entry, *request) ? ended && code == MPI_SUCCESS : is_gone(*entry, *request);
  if (over) return complete(entry, code, code == MPI_SUCCESS ? status : nullptr);
  put_back(entry);
  return code;
}

Answer leave_incomplete(PendingRequest* entry, int* flag) {
  put_back(entry);
  *flag = 0;
  return handled(MPI_SUCCESS);
}

}  // namespace

Answer handle_wait(MPI_Request* request, MPI_Status* status) {
  finish_freed_requests();
  PendingRequest* entry = request != nullptr ? claim_pending(*request) : nullptr;
  if (entry == nullptr) return kDeclined;
  MPI_Status own;
  if (entry->receive && status == MPI_STATUS_IGNORE) status = &own;
  const int code = or_else(
      [&] { return next_functions().MPI_Wait(outstanding_request(entry, request), status); },
      [&] { settle(entry, request, false, MPI_ERR_OTHER, nullptr); });
  return handled(settle(entry, request, true, code, status));
}

Answer handle_test(MPI_Request* request, int* flag, MPI_Status* status) {
  finish_freed_requests();
  PendingRequest* entry = request != nullptr && flag != nullptr ? claim_pending(*request) : nullptr;
  if (entry == nullptr) return kDeclined;
  if (is_incomplete(entry)) return leave_incomplete(entry, flag);
  MPI_Status own;
  if (entry->receive && status == MPI_STATUS_IGNORE) status = &own;
  if (entry->persistent) *flag = 0;  // the library may not write it after an error
  const int code = or_else(
      [&] { return next_functions().MPI_Test(outstanding_request(entry, request), flag, status); },
      [&] { settle(entry, request, false, MPI_ERR_OTHER, nullptr); });
  return handled(settle(entry, request, *flag != 0, code, status));
}

// The request stays the program's, but lacuna's part in it is finished.
Answer handle_request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  finish_freed_requests();
  PendingRequest* entry = flag != nullptr ? claim_pending(request) : nullptr;
  if (entry == nullptr) return kDeclined;
  if (is_incomplete(entry)) return leave_incomplete(entry, flag);
  MPI_Status own;
  if (entry->receive && status == MPI_STATUS_IGNORE) status = &own;
  const int code = or_else(
      [&] {
        return next_functions().MPI_Request_get_status(*outstanding_request(entry, &request), flag,
                                                       status);
      },
      [&] { put_back(entry); });
  if (code == MPI_SUCCESS && *flag != 0) {
    const MPI_Comm comm = entry->incoming.comm;
    const int error_class = observe_pending(entry, status);
    return handled(
        error_class == MPI_SUCCESS ? code : raise_error_of_many(comm, error_class, error_class));
  }
  put_back(entry);
  return handled(code);
}

// Only with MPICH 5.0.2 and Intel MPI 2021.19; MPICH 4.0.2 and Open MPI stop waiting in either
// case.
bool leaves_pending(int code, int count, const MPI_Status* statuses) noexcept {
  const Runtime& rt = runtime();
  const bool else_waits =
      rt.flavour == Flavour::kIntelMpi || (rt.flavour == Flavour::kMpich && rt.mpich_major >= 5);
  if (code == MPI_SUCCESS || !else_waits) return false;
  int error_class = code;
  next_functions().MPI_Error_class(code, &error_class);
  return error_class == MPI_ERR_IN_STATUS &&
         std::any_of(statuses, statuses + count,
                     [](const MPI_Status& status) { return status.MPI_ERROR == MPI_ERR_PENDING; });
}

}  // namespace lacuna
