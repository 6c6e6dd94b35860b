// SPDX-License-Identifier: BSD-3-Clause
//
// What the calls that complete arrays of requests share with those that only report on them.
#ifndef LACUNA_INTERPOSE_REQUESTS_MANY_HPP_
#define LACUNA_INTERPOSE_REQUESTS_MANY_HPP_

#include <cstdlib>

#include "interpose/functions/bodies.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/requests/library_requests.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {

// The caller's statuses; or lacuna's own, if the caller wants none and a receive of lacuna needs
// them.
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
  // Whether requests are incomplete for which the library would have waited, had it been called
  // without statuses.
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

// Puts all entries back, and raises MPI_ERR_NO_MEM. The requests are unchanged.
inline Answer out_of_memory(Claims* claims) {
  claims->put_all_back();
  next_functions().MPI_Comm_call_errhandler(runtime().comm_world, MPI_ERR_NO_MEM);
  return handled(MPI_ERR_NO_MEM);
}

// Puts all entries back: the call reports that not all requests are complete.
inline Answer none_complete(Claims* claims, int* flag) {
  claims->put_all_back();
  *flag = 0;
  return handled(MPI_SUCCESS);
}

// What the call did to an entry: left it incomplete, or completed it; with a status if
// successfully.
struct EntryResult {
  bool completed = false;
  MPI_Status* status = nullptr;
  bool observed = false;  // complete, but still the program's request
};

// The first error in lacuna after success in the library: communicator and error class.
struct Failure {
  MPI_Comm comm;
  int error_class = MPI_SUCCESS;
};

// Finishes, observes or puts back each claimed entry, as `judge` says. `is_well`: the library
// reported success.
template <typename Judge>
Failure settle(const Claims& claims, const Statuses& statuses, int count, bool is_well,
               const Judge& judge) {
  Failure failure;
  for (PendingRequest* entry = claims.first(); entry != nullptr;) {
    PendingRequest* next = entry->next_claimed;
    const EntryResult outcome = judge(*entry);
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
      // After a first error, all statuses must have MPI_ERROR, as after errors of the library.
      if (failure.error_class == MPI_SUCCESS) {
        if (is_well) statuses.all_well(count);
        failure = {comm, error_class};
      }
      outcome.status->MPI_ERROR = error_class;
    }
    entry = next;
  }
  return failure;
}

// The code that the call returns. `reported`: the code if something failed only in lacuna.
inline int code_after(const Failure& failure, int code, int reported) {
  if (failure.error_class == MPI_SUCCESS || code != MPI_SUCCESS) return code;
  return raise_error_of_many(failure.comm, failure.error_class, reported);
}

// Which statuses of a call mean success: all, those whose MPI_ERROR says so, or none.
class Successes {
 public:
  explicit Successes(int code) : all_(code == MPI_SUCCESS) {
    if (all_) return;
    int error_class = code;
    next_functions().MPI_Error_class(code, &error_class);
    some_ = error_class == MPI_ERR_IN_STATUS;
  }
  // Whether the request with this status was successful. Null: no status was asked for.
  bool has(const MPI_Status* status) const {
    return all_ || (some_ && status != nullptr && status->MPI_ERROR == MPI_SUCCESS);
  }
  // The status, if it means success; else null.
  MPI_Status* of(MPI_Status* status) const { return has(status) ? status : nullptr; }
  bool any() const { return all_ || some_; }

 private:
  bool all_;
  bool some_ = false;
};

// Finds claims in a list of indices. Libraries list them in ascending order, as claims are, so each
// search goes on where the last one stopped.
class IndexSearch {
 public:
  IndexSearch(int outcount, const int* indices)
      : count_(outcount == MPI_UNDEFINED ? 0 : outcount), indices_(indices) {}

  // Position of `index` in the list, or -1.
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

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_MANY_HPP_
