// SPDX-License-Identifier: BSD-3-Clause
//
// Completing arrays of requests. The library decides which are complete, and writes statuses and
// indices. Entries of these are unpacked before the call returns; the others are put back.
#include "interpose/requests/many.hpp"

#include <sched.h>

#include "interpose/direct/pipeline/pipeline.hpp"

namespace lacuna {

namespace {

bool is_gone(const PendingRequest& entry, const MPI_Request* requests) {
  return lacuna::is_gone(entry, requests[entry.index]);
}
bool outlives_call(PendingRequest& entry, const MPI_Request* requests) {
  return lacuna::outlives_call(&entry, requests[entry.index]);
}

// After a call with one status for each request. `flag`: all have completed.
int settle_all(const Claims& claims, int count, const MPI_Request* requests,
               const Statuses& statuses, int code, bool flag) {
  const Successes successes(code);
  const bool none = code == MPI_SUCCESS && !flag;
  const Failure failure =
      settle(claims, statuses, count, code == MPI_SUCCESS, [&](PendingRequest& entry) {
        MPI_Status* status = statuses.at(entry.index);
        const bool well = !none && successes.has(status);
        if (outlives_call(entry, requests) || is_gone(entry, requests))
          return EntryResult{well || is_gone(entry, requests), successes.of(status)};
        // If another request has failed, MPICH keeps successful ones and still writes their
        // statuses.
        return EntryResult{well && code != MPI_SUCCESS, status, true};
      });
  return code_after(failure, code, MPI_ERR_IN_STATUS);
}

// After a call that completes at most one request, that at `index`.
int settle_any(const Claims& claims, const MPI_Request* requests, int index, const Statuses& status,
               int code) {
  const bool ok = code == MPI_SUCCESS;
  MPI_Status* success = ok ? status.at(0) : nullptr;
  const Failure failure = settle(claims, status, 1, ok, [&](PendingRequest& entry) {
    const bool completed =
        outlives_call(entry, requests) ? ok && index == entry.index : is_gone(entry, requests);
    return EntryResult{completed, success};
  });
  return code_after(failure, code, failure.error_class);
}

// After a call that lists the indices of completed requests.
int settle_some(const Claims& claims, const MPI_Request* requests, int outcount, const int* indices,
                const Statuses& statuses, int code) {
  const Successes successes(code);
  IndexSearch search(successes.any() ? outcount : 0, indices);
  const Failure failure =
      settle(claims, statuses, outcount, code == MPI_SUCCESS, [&](PendingRequest& entry) {
        const bool stays = outlives_call(entry, requests);
        if (!stays && !is_gone(entry, requests)) return EntryResult{};
        const int at = search.find(entry.index);
        if (stays && at < 0) return EntryResult{};
        return EntryResult{true, at >= 0 ? successes.of(statuses.at(at)) : nullptr};
      });
  return code_after(failure, code, MPI_ERR_IN_STATUS);
}

// Whether a persistent request has completed in a call that did not return. Open MPI reports an
// inactive request as complete with an empty status. Not asked of MPICH 5.0.2, where the question
// makes a request inactive.
bool is_inactive(MPI_Request request) {
  if (runtime().flavour != Flavour::kOpenMpi) return false;
  MPI_Status status;
  int flag = 0;
  return next_functions().MPI_Request_get_status(request, &flag, &status) == MPI_SUCCESS &&
         flag != 0 && status.MPI_SOURCE == MPI_ANY_SOURCE;
}

// After a call out of which the program's error handler has thrown. `status_of` finds the status
// that the call has written for a request, if any. Whether a persistent request has completed is
// known from the list of indices (`lists`) or from the library; else it counts as active.
template <typename StatusOf>
void settle_thrown(const Claims& claims, const MPI_Request* requests, const Statuses& statuses,
                   bool lists, const StatusOf& status_of) {
  settle(claims, statuses, 0, false, [&](PendingRequest& entry) {
    MPI_Status* status = status_of(entry.index);
    const bool ended = !outlives_call(entry, requests) ? is_gone(entry, requests)
                       : lists                         ? status != nullptr
                                                       : is_inactive(entry.request);
    if (!ended) return EntryResult{};
    return EntryResult{true,
                       status != nullptr && status->MPI_ERROR == MPI_SUCCESS ? status : nullptr};
  });
}

// `call` completes all requests or none; `flag` says which (null: all).
template <typename Call>
Answer handle_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses,
                  const Call& call) {
  finish_freed_requests();
  Claims claims(count, requests);
  if (claims.empty()) return kDeclined;
  if (flag != nullptr) {
    claims.leave_out_incomplete();
    if (claims.any_left_out()) return none_complete(&claims, flag);
  }
  const Statuses results(count, statuses, claims.any_receive());
  const LibraryRequests library_requests(claims, count, requests, Completes::kAll);
  if (!results.ok() || !library_requests.ok()) return out_of_memory(&claims);
  // The library may not write it after an error.
  if (flag != nullptr && claims.any_persistent()) *flag = 0;
  const int code = or_else([&] { return call(library_requests.get(), results.get()); },
                           [&] {
                             library_requests.write_back(requests);
                             settle_thrown(claims, requests, results, false,
                                           [&](int index) { return results.at(index); });
                           });
  library_requests.write_back(requests);
  const int reported =
      settle_all(claims, count, requests, results, code, flag == nullptr || *flag != 0);
  if (flag == nullptr && results.left_pending(statuses, count, code) &&
      !handle_waitall(count, requests, MPI_STATUSES_IGNORE).handled) {
    next_functions().MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
  return handled(reported);
}

// MPI_Testany, or, without a flag, MPI_Waitany.
Answer handle_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  finish_freed_requests();
  Claims claims(count, requests);
  if (claims.empty()) return kDeclined;
  if (flag != nullptr) claims.leave_out_incomplete();
  const Statuses result(1, status, claims.any_receive());
  const LibraryRequests library_requests(claims, count, requests, Completes::kOne);
  if (!library_requests.ok()) return out_of_memory(&claims);
  if (claims.any_persistent()) *index = MPI_UNDEFINED;
  const Next& next = next_functions();
  const int code = or_else(
      [&] {
        return flag == nullptr
                   ? next.MPI_Waitany(count, library_requests.get(), index, result.get())
                   : next.MPI_Testany(count, library_requests.get(), index, flag, result.get());
      },
      [&] {
        library_requests.write_back(requests);
        settle_thrown(claims, requests, result, false, [](int) -> MPI_Status* { return nullptr; });
      });
  library_requests.write_back(requests);
  *index = library_requests.returned(*index);
  // For the library, what was left out is inactive.
  if (claims.any_left_out() && *index == MPI_UNDEFINED && code == MPI_SUCCESS) *flag = 0;
  return handled(settle_any(claims, requests, *index, result, code));
}

// Whether a call must not wait in the library: it would complete a request whose pieces are still
// on their way, while others may be complete.
bool must_ask(int count, const MPI_Request* requests) noexcept {
  if (!direct::has_pipeline()) return false;
  Claims claims(count, requests);
  bool any = false;
  for (PendingRequest* entry = claims.first(); entry != nullptr && !any;
       entry = entry->next_claimed) {
    any = may_be_in_pieces(entry);
  }
  claims.put_all_back();
  return any;
}

}  // namespace

Answer handle_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  return handle_all(count, requests, nullptr, statuses,
                    [&](MPI_Request* library_requests, MPI_Status* results) {
                      return next_functions().MPI_Waitall(count, library_requests, results);
                    });
}

Answer handle_testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (flag == nullptr) return kDeclined;
  return handle_all(count, requests, flag, statuses,
                    [&](MPI_Request* library_requests, MPI_Status* results) {
                      return next_functions().MPI_Testall(count, library_requests, flag, results);
                    });
}

Answer handle_waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (index == nullptr) return kDeclined;
  if (!must_ask(count, requests)) return handle_any(count, requests, index, nullptr, status);
  for (int flag = 0;;) {
    const Answer answer = handle_any(count, requests, index, &flag, status);
    if (!answer.handled || answer.code != MPI_SUCCESS || flag != 0) return answer;
    sched_yield();
  }
}

Answer handle_testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (index == nullptr || flag == nullptr) return kDeclined;
  return handle_any(count, requests, index, flag, status);
}

// MPI_Waitsome and MPI_Testsome differ in the call alone.
static Answer handle_some(int (*some)(int, MPI_Request*, int*, int*, MPI_Status*), int incount,
                          MPI_Request* requests, int* outcount, int* indices,
                          MPI_Status* statuses) {
  finish_freed_requests();
  if (outcount == nullptr || indices == nullptr) return kDeclined;
  Claims claims(incount, requests);
  if (claims.empty()) return kDeclined;
  claims.leave_out_incomplete();
  const Statuses results(incount, statuses, claims.any_receive());
  const LibraryRequests library_requests(claims, incount, requests, Completes::kSome);
  if (!results.ok() || !library_requests.ok()) return out_of_memory(&claims);
  constexpr int kUnlisted = -123456789;
  int listed = kUnlisted;
  const auto tell = [&] {
    if (listed == kUnlisted)
      listed = 0;  // failed before anything was written
    else
      *outcount = listed;
  };
  const int code = or_else(
      [&] { return some(incount, library_requests.get(), &listed, indices, results.get()); },
      [&] {
        tell();
        library_requests.write_back(requests);
        IndexSearch search(listed, indices);
        settle_thrown(claims, requests, results, true, [&](int index) {
          const int at = search.find(index);
          return at >= 0 ? results.at(at) : nullptr;
        });
      });
  library_requests.write_back(requests);
  if (claims.any_left_out() && listed == MPI_UNDEFINED) listed = 0;
  tell();
  return handled(settle_some(claims, requests, listed, indices, results, code));
}

Answer handle_waitsome(int incount, MPI_Request* requests, int* outcount, int* indices,
                       MPI_Status* statuses) {
  const Next& next = next_functions();
  const bool tests = must_ask(incount, requests);
  for (;;) {
    const Answer answer = handle_some(tests ? next.MPI_Testsome : next.MPI_Waitsome, incount,
                                      requests, outcount, indices, statuses);
    if (!tests || !answer.handled || answer.code != MPI_SUCCESS || *outcount != 0) return answer;
    sched_yield();
  }
}

Answer handle_testsome(int incount, MPI_Request* requests, int* outcount, int* indices,
                       MPI_Status* statuses) {
  return handle_some(next_functions().MPI_Testsome, incount, requests, outcount, indices, statuses);
}

}  // namespace lacuna
