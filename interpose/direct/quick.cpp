// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/quick.hpp"

#include "interpose/runtime.hpp"
#include "interpose/transfer.hpp"

namespace lacuna {
namespace direct {
namespace {

int error_class_of(const Watch& watch, MPI_Status* status) noexcept {
  Incoming incoming;
  return watch_plain(watch, &incoming) ? deliver(incoming, status) : MPI_SUCCESS;
}

}  // namespace

int redeem(const Watch& watch, MPI_Status* status) noexcept {
  const MPI_Comm comm = watch.comm;
  const int error_class = error_class_of(watch, status);
  return error_class == MPI_SUCCESS ? MPI_SUCCESS : raise_error(comm, error_class);
}

int redeem_watched(const Watch& watch, MPI_Status* status) noexcept {
  return called_by_mpi(watch.caller) ? MPI_SUCCESS : redeem(watch, status);
}

}  // namespace direct

// Only watched receives, and requests that are none of lacuna's; a few.
bool complete_all(const Next& next, const void* caller, int count, MPI_Request* requests,
                  MPI_Status* statuses, int* code) noexcept {
  constexpr int kMost = 64;
  const auto is_left = [caller] {
    if (is_watched(kCosted)) called_from(caller);  // the look that follows is called from here
    return false;
  };
  if (count < 0 || count > kMost || requests == nullptr || takes_long_way()) return is_left();
  direct::Watch* watches[kMost];
  bool any = false;
  for (int i = 0; i < count; ++i) {
    watches[i] = detail::find_watch(requests[i]);
    any = any || watches[i] != nullptr;
    // Libraries may have one handle for several requests that were complete at once.
    if (detail::has_entries(requests[i])) return is_left();
  }
  MPI_Status own[kMost];
  MPI_Status* told = any && statuses == MPI_STATUSES_IGNORE ? own : statuses;
  *code = next.MPI_Waitall(count, requests, told);
  if (!any) return true;
  const bool all_well = *code == MPI_SUCCESS;
  int failed = -1;
  for (int i = 0; i < count; ++i) {
    direct::Watch* watch = watches[i];
    if (watch == nullptr || requests[i] != no_request() || detail::is_empty(*watch)) continue;
    detail::end_watch(watch);
    if (!direct::may_be_token(all_well ? MPI_SUCCESS : told[i].MPI_ERROR, told[i])) continue;
    if (called_by_mpi(watch->caller)) continue;
    const int error_class = direct::error_class_of(*watch, &told[i]);
    if (error_class == MPI_SUCCESS) continue;
    if (all_well && failed < 0) {
      for (int j = 0; j < count; ++j) told[j].MPI_ERROR = MPI_SUCCESS;
    }
    told[i].MPI_ERROR = error_class;
    failed = i;
  }
  if (failed >= 0) *code = raise_error(watches[failed]->comm, MPI_ERR_IN_STATUS);
  return true;
}

}  // namespace lacuna
