// SPDX-License-Identifier: BSD-3-Clause
//
// Completing arrays of requests. The library decides which are complete and writes statuses and
// indices; what is lacuna's among them is unpacked before the call returns, the rest is put back.
#include <algorithm>
#include <cstdlib>

#include "interpose/bodies.hpp"
#include "interpose/next.hpp"
#include "interpose/requests.hpp"
#include "interpose/runtime.hpp"
#include "interpose/transfer.hpp"

namespace lacuna {

// Of MPICH 5.0.2 and Intel MPI 2021.19; MPICH 4.0.2 and Open MPI wait no longer either way.
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

namespace {

// The caller's statuses, or our own where it wants none and a receive of ours needs one.
class Statuses {
 public:
  Statuses(int count, MPI_Status* callers, bool needed) : statuses_(callers) {
    if (callers != MPI_STATUSES_IGNORE || !needed) return;
    statuses_ = few_;
    if (count <= kFew) return;
    many_ = static_cast<MPI_Status*>(std::malloc(sizeof(MPI_Status) * static_cast<size_t>(count)));
    statuses_ = many_;
    ok_ = many_ != nullptr;
  }
  ~Statuses() { std::free(many_); }
  Statuses(const Statuses&) = delete;
  Statuses& operator=(const Statuses&) = delete;

  bool ok() const { return ok_; }
  MPI_Status* get() const { return statuses_; }
  MPI_Status* at(int i) const { return statuses_ != MPI_STATUSES_IGNORE ? statuses_ + i : nullptr; }
  // Whether there are requests that the library would have waited for without them.
  bool left_pending(const MPI_Status* callers, int count, int code) const {
    return callers != statuses_ && leaves_pending(code, count, statuses_);
  }
  void all_well(int count) const {
    for (int i = 0; i < count; ++i) statuses_[i].MPI_ERROR = MPI_SUCCESS;
  }

 private:
  static constexpr int kFew = 64;
  MPI_Status few_[kFew];
  MPI_Status* many_ = nullptr;
  MPI_Status* statuses_;
  bool ok_ = true;
};

// Nothing has been done; the requests are as they were.
Answer out_of_memory(Claims* claims) {
  claims->put_all_back();
  next_functions().MPI_Comm_call_errhandler(runtime().comm_world, MPI_ERR_NO_MEM);
  return taken(MPI_ERR_NO_MEM);
}

// A request that has completed, with or without an error, leaves MPI_REQUEST_NULL behind.
bool is_gone(const PendingRequest& entry, const MPI_Request* requests) {
  return handle_bits(requests[entry.index]) != entry.key;
}

// Which statuses of a call stand for success: all, those that say so themselves, or none.
class Successes {
 public:
  explicit Successes(int code) : all_(code == MPI_SUCCESS) {
    if (all_) return;
    int error_class = code;
    next_functions().MPI_Error_class(code, &error_class);
    some_ = error_class == MPI_ERR_IN_STATUS;
  }
  // Whether the request of this status, none if it was not asked for, has ended well.
  bool has(const MPI_Status* status) const {
    return all_ || (some_ && status != nullptr && status->MPI_ERROR == MPI_SUCCESS);
  }
  // The status, if it stands for success.
  MPI_Status* of(MPI_Status* status) const { return has(status) ? status : nullptr; }
  bool any() const { return all_ || some_; }

 private:
  bool all_;
  bool some_ = false;
};

// What the call did to one entry: left it pending, or completed it, with a status if that was a
// success.
struct Outcome {
  bool completed = false;
  MPI_Status* status = nullptr;
  bool observed = false;  // the request is complete, but still the program's
};

// What first went wrong after the library had called it a success: on which communicator, and the
// class.
struct Failure {
  MPI_Comm comm;
  int error_class = MPI_SUCCESS;
};

template <typename Judge>
Failure settle(const Claims& claims, const Statuses& statuses, int count, const Judge& judge) {
  Failure failure;
  for (PendingRequest* entry = claims.first(); entry != nullptr;) {
    PendingRequest* next = entry->next_claimed;
    const Outcome outcome = judge(*entry);
    const MPI_Comm comm = entry->incoming.comm;  // the entry may be gone afterwards
    int error_class = MPI_SUCCESS;
    if (!outcome.completed) {
      put_back(entry);
    } else if (outcome.observed) {
      error_class = observe_pending(entry, outcome.status);
    } else {
      error_class = finish_pending(entry, outcome.status);
    }
    if (error_class != MPI_SUCCESS) {
      // From the first on all statuses say how they ended.
      if (failure.error_class == MPI_SUCCESS) {
        statuses.all_well(count);
        failure = {comm, error_class};
      }
      outcome.status->MPI_ERROR = error_class;
    }
    entry = next;
  }
  return failure;
}

// What the call returns: `told`, but where nothing has failed here alone.
int code_after(const Failure& failure, int code, int told) {
  if (failure.error_class == MPI_SUCCESS || code != MPI_SUCCESS) return code;
  return raise_error_of_many(failure.comm, failure.error_class, told);
}

// After a form that has one status for each request. `flag` says whether all have completed.
int settle_all(const Claims& claims, int count, const MPI_Request* requests,
               const Statuses& statuses, int code, bool flag) {
  const Successes successes(code);
  const bool none = code == MPI_SUCCESS && !flag;
  const Failure failure = settle(claims, statuses, count, [&](const PendingRequest& entry) {
    MPI_Status* status = statuses.at(entry.index);
    const bool completed =
        entry.persistent ? !none && successes.has(status) : is_gone(entry, requests);
    return Outcome{completed, successes.of(status)};
  });
  return code_after(failure, code, MPI_ERR_IN_STATUS);
}

// After a form that completes one request at most, that of `index`.
int settle_any(const Claims& claims, const MPI_Request* requests, int index, const Statuses& status,
               int code) {
  const bool ok = code == MPI_SUCCESS;
  MPI_Status* success = ok ? status.at(0) : nullptr;
  const Failure failure = settle(claims, status, 1, [&](const PendingRequest& entry) {
    const bool completed = entry.persistent ? ok && index == entry.index : is_gone(entry, requests);
    return Outcome{completed, success};
  });
  return code_after(failure, code, failure.error_class);
}

// Libraries list indices in ascending order, as the claims are, so that the search goes on where it
// stopped.
class IndexSearch {
 public:
  IndexSearch(int outcount, const int* indices)
      : count_(outcount == MPI_UNDEFINED ? 0 : outcount), indices_(indices) {}

  // Where `index` is in the list, or -1.
  int find(int index) {
    for (int step = 0; step < count_; ++step) {
      const int at = (start_ + step) % count_;
      if (indices_[at] != index) continue;
      start_ = (at + 1) % count_;
      return at;
    }
    return -1;
  }

 private:
  int count_;
  const int* indices_;
  int start_ = 0;
};

// After a form that lists the indices of those it has completed.
int settle_some(const Claims& claims, const MPI_Request* requests, int outcount, const int* indices,
                const Statuses& statuses, int code) {
  const Successes successes(code);
  IndexSearch search(successes.any() ? outcount : 0, indices);
  const Failure failure = settle(claims, statuses, outcount, [&](const PendingRequest& entry) {
    if (!entry.persistent && !is_gone(entry, requests)) return Outcome{};
    const int at = search.find(entry.index);
    if (entry.persistent && at < 0) return Outcome{};
    return Outcome{true, at >= 0 ? successes.of(statuses.at(at)) : nullptr};
  });
  return code_after(failure, code, MPI_ERR_IN_STATUS);
}

// `call` completes all or none; `flag` says which, nullptr: all.
template <typename Call>
Answer take_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses,
                const Call& call) {
  finish_freed_requests();
  Claims claims(count, requests);
  if (claims.empty()) return kDeclined;
  const Statuses results(count, statuses, claims.any_receive());
  if (!results.ok()) return out_of_memory(&claims);
  // After an error nobody may have written it.
  if (flag != nullptr && claims.any_persistent()) *flag = 0;
  const int code = call(results.get());
  const int told =
      settle_all(claims, count, requests, results, code, flag == nullptr || *flag != 0);
  if (flag == nullptr && results.left_pending(statuses, count, code) &&
      !take_waitall(count, requests, MPI_STATUSES_IGNORE).taken) {
    next_functions().MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
  return taken(told);
}

// One whose message was here before its start (persistent.cpp): the library's request is inactive,
// and would never be the one. `end` is finish_pending or observe_pending; `error` is what a call
// returns that fails.
Answer end_early(PendingRequest* entry, int (*end)(PendingRequest*, MPI_Status*), int* index,
                 MPI_Status* status, int error = MPI_SUCCESS) {
  MPI_Status own{};
  if (status == MPI_STATUS_IGNORE) status = &own;
  *index = entry->index;
  next_functions().MPI_Status_set_cancelled(status, 0);
  const MPI_Comm comm = entry->incoming.comm;
  const int error_class = end(entry, status);
  if (error_class == MPI_SUCCESS) return taken(MPI_SUCCESS);
  if (error != MPI_SUCCESS) status->MPI_ERROR = error_class;
  return taken(raise_error_of_many(comm, error_class, error != MPI_SUCCESS ? error : error_class));
}

// `call` completes one request at most.
template <typename Call>
Answer take_any(int count, const MPI_Request* requests, int* index, MPI_Status* status,
                const Call& call, int* flag = nullptr) {
  finish_freed_requests();
  Claims claims(count, requests);
  if (claims.empty()) return kDeclined;
  const Statuses result(1, status, claims.any_receive());
  if (PendingRequest* early = claims.keep_early()) {
    if (flag != nullptr) *flag = 1;
    return end_early(early, finish_pending, index, status);
  }
  if (claims.any_persistent()) *index = MPI_UNDEFINED;
  const int code = call(result.get());
  return taken(settle_any(claims, requests, *index, result, code));
}

}  // namespace

Answer take_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  return take_all(count, requests, nullptr, statuses, [&](MPI_Status* results) {
    return next_functions().MPI_Waitall(count, requests, results);
  });
}

Answer take_testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (flag == nullptr) return kDeclined;
  return take_all(count, requests, flag, statuses, [&](MPI_Status* results) {
    return next_functions().MPI_Testall(count, requests, flag, results);
  });
}

Answer take_waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (index == nullptr) return kDeclined;
  return take_any(count, requests, index, status, [&](MPI_Status* result) {
    return next_functions().MPI_Waitany(count, requests, index, result);
  });
}

Answer take_testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (index == nullptr || flag == nullptr) return kDeclined;
  return take_any(
      count, requests, index, status,
      [&](MPI_Status* result) {
        return next_functions().MPI_Testany(count, requests, index, flag, result);
      },
      flag);
}

// The same in a form that lists what it has completed: this one alone.
static Answer end_early_of_some(PendingRequest* entry, int (*end)(PendingRequest*, MPI_Status*),
                                int* outcount, int* indices, MPI_Status* statuses) {
  *outcount = 1;
  return end_early(entry, end, indices,
                   statuses != MPI_STATUSES_IGNORE ? statuses : MPI_STATUS_IGNORE,
                   MPI_ERR_IN_STATUS);
}

// MPI_Waitsome and MPI_Testsome differ in the call alone.
static Answer take_some(int (*some)(int, MPI_Request*, int*, int*, MPI_Status*), int incount,
                        MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  finish_freed_requests();
  if (outcount == nullptr || indices == nullptr) return kDeclined;
  Claims claims(incount, requests);
  if (claims.empty()) return kDeclined;
  const Statuses results(incount, statuses, claims.any_receive());
  if (!results.ok()) return out_of_memory(&claims);
  if (PendingRequest* early = claims.keep_early())
    return end_early_of_some(early, finish_pending, outcount, indices, statuses);
  if (claims.any_persistent()) *outcount = 0;
  const int code = some(incount, requests, outcount, indices, results.get());
  return taken(settle_some(claims, requests, *outcount, indices, results, code));
}

Answer take_waitsome(int incount, MPI_Request* requests, int* outcount, int* indices,
                     MPI_Status* statuses) {
  return take_some(next_functions().MPI_Waitsome, incount, requests, outcount, indices, statuses);
}

Answer take_testsome(int incount, MPI_Request* requests, int* outcount, int* indices,
                     MPI_Status* statuses) {
  return take_some(next_functions().MPI_Testsome, incount, requests, outcount, indices, statuses);
}

// The MPI 4.1 forms that leave the requests alone: a complete one is over for lacuna
// (completion.cpp), but one that ended early, which has to be found again.

Answer take_request_get_status_all(int count, const MPI_Request* requests, int* flag,
                                   MPI_Status* statuses) {
  finish_freed_requests();
  if (flag == nullptr) return kDeclined;
  Claims claims(count, requests);
  if (claims.empty()) return kDeclined;
  const Statuses results(count, statuses, claims.any_receive());
  if (!results.ok()) return out_of_memory(&claims);
  const int code =
      next_functions().MPI_Request_get_status_all(count, requests, flag, results.get());
  const bool done = code == MPI_SUCCESS && *flag != 0;
  const Failure failure = settle(claims, results, count, [&](const PendingRequest& entry) {
    return Outcome{done, results.at(entry.index), true};
  });
  return taken(code_after(failure, code, MPI_ERR_IN_STATUS));
}

Answer take_request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                                   MPI_Status* status) {
  finish_freed_requests();
  if (index == nullptr || flag == nullptr) return kDeclined;
  Claims claims(count, requests);
  if (claims.empty()) return kDeclined;
  const Statuses result(1, status, claims.any_receive());
  if (PendingRequest* early = claims.keep_early()) {
    *flag = 1;
    return end_early(early, observe_pending, index, status);
  }
  const int code =
      next_functions().MPI_Request_get_status_any(count, requests, index, flag, result.get());
  const int done = code == MPI_SUCCESS && *flag != 0 ? *index : MPI_UNDEFINED;
  const Failure failure = settle(claims, result, 1, [&](const PendingRequest& entry) {
    return Outcome{entry.index == done, result.at(0), true};
  });
  return taken(code_after(failure, code, failure.error_class));
}

Answer take_request_get_status_some(int incount, const MPI_Request* requests, int* outcount,
                                    int* indices, MPI_Status* statuses) {
  finish_freed_requests();
  if (outcount == nullptr || indices == nullptr) return kDeclined;
  Claims claims(incount, requests);
  if (claims.empty()) return kDeclined;
  const Statuses results(incount, statuses, claims.any_receive());
  if (!results.ok()) return out_of_memory(&claims);
  if (PendingRequest* early = claims.keep_early())
    return end_early_of_some(early, observe_pending, outcount, indices, statuses);
  const int code = next_functions().MPI_Request_get_status_some(incount, requests, outcount,
                                                                indices, results.get());
  IndexSearch search(code == MPI_SUCCESS ? *outcount : 0, indices);
  const int listed = code == MPI_SUCCESS && *outcount != MPI_UNDEFINED ? *outcount : 0;
  const Failure failure = settle(claims, results, listed, [&](const PendingRequest& entry) {
    const int at = search.find(entry.index);
    return at < 0 ? Outcome{} : Outcome{true, results.at(at), true};
  });
  return taken(code_after(failure, code, MPI_ERR_IN_STATUS));
}

}  // namespace lacuna
