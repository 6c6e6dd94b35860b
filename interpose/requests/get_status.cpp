// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI 4.1 calls that report on arrays of requests and leave them alone. Lacuna finishes a
// complete request (one.cpp), except one with a substitute, which later calls must find.
#include "interpose/requests/many.hpp"

namespace lacuna {

Answer handle_request_get_status_all(int count, const MPI_Request* requests, int* flag,
                                     MPI_Status* statuses) {
  finish_freed_requests();
  if (flag == nullptr) return kDeclined;
  Claims claims(count, requests);
  if (claims.empty()) return kDeclined;
  claims.leave_out_incomplete();
  if (claims.any_left_out()) return none_complete(&claims, flag);
  const Statuses results(count, statuses, claims.any_receive());
  const LibraryRequests library_requests(claims, count, requests, Completes::kAll);
  if (!results.ok() || !library_requests.ok()) return out_of_memory(&claims);
  const int code = or_else(
      [&] {
        return next_functions().MPI_Request_get_status_all(count, library_requests.get(), flag,
                                                           results.get());
      },
      [&] { claims.put_all_back(); });
  const bool done = code == MPI_SUCCESS && *flag != 0;
  const Failure failure =
      settle(claims, results, count, code == MPI_SUCCESS, [&](const PendingRequest& entry) {
        return EntryResult{done, results.at(entry.index), true};
      });
  return handled(code_after(failure, code, MPI_ERR_IN_STATUS));
}

Answer handle_request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                                     MPI_Status* status) {
  finish_freed_requests();
  if (index == nullptr || flag == nullptr) return kDeclined;
  Claims claims(count, requests);
  if (claims.empty()) return kDeclined;
  claims.leave_out_incomplete();
  const Statuses result(1, status, claims.any_receive());
  const LibraryRequests library_requests(claims, count, requests, Completes::kOne);
  if (!library_requests.ok()) return out_of_memory(&claims);
  const int code = or_else(
      [&] {
        return next_functions().MPI_Request_get_status_any(count, library_requests.get(), index,
                                                           flag, result.get());
      },
      [&] { claims.put_all_back(); });
  int done = MPI_UNDEFINED;
  if (code == MPI_SUCCESS && *flag != 0) done = *index = library_requests.returned(*index);
  if (claims.any_left_out() && code == MPI_SUCCESS && *index == MPI_UNDEFINED) *flag = 0;
  const Failure failure =
      settle(claims, result, 1, code == MPI_SUCCESS, [&](const PendingRequest& entry) {
        return EntryResult{entry.index == done, result.at(0), true};
      });
  return handled(code_after(failure, code, failure.error_class));
}

Answer handle_request_get_status_some(int incount, const MPI_Request* requests, int* outcount,
                                      int* indices, MPI_Status* statuses) {
  finish_freed_requests();
  if (outcount == nullptr || indices == nullptr) return kDeclined;
  Claims claims(incount, requests);
  if (claims.empty()) return kDeclined;
  claims.leave_out_incomplete();
  const Statuses results(incount, statuses, claims.any_receive());
  const LibraryRequests library_requests(claims, incount, requests, Completes::kSome);
  if (!results.ok() || !library_requests.ok()) return out_of_memory(&claims);
  const int code = or_else(
      [&] {
        return next_functions().MPI_Request_get_status_some(incount, library_requests.get(),
                                                            outcount, indices, results.get());
      },
      [&] { claims.put_all_back(); });
  if (claims.any_left_out() && code == MPI_SUCCESS && *outcount == MPI_UNDEFINED) *outcount = 0;
  const int listed = code == MPI_SUCCESS && *outcount != MPI_UNDEFINED ? *outcount : 0;
  IndexSearch search(listed, indices);
  const Failure failure =
      settle(claims, results, listed, code == MPI_SUCCESS, [&](const PendingRequest& entry) {
        const int at = search.find(entry.index);
        return at < 0 ? EntryResult{} : EntryResult{true, results.at(at), true};
      });
  return handled(code_after(failure, code, MPI_ERR_IN_STATUS));
}

}  // namespace lacuna
