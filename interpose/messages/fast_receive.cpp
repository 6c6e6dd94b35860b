// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/messages/fast_receive.hpp"

#include <algorithm>

#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/messages/message.hpp"

namespace lacuna {
namespace direct {
namespace {

// So many receives ask for a status until the next check whether they still must. A check that
// finds outstanding tokens has cost a system call (direct/node/readable.hpp) for nothing, so each
// time the interval doubles.
constexpr int kFirstAsks = 32;
constexpr int kMostAsks = 1 << 16;
constinit int g_asks_next = kFirstAsks;

// Checks whether all tokens have arrived when a message of 80 bytes has come, each time half as
// often: a program may send many such messages. (80 bytes in two runs, Open MPI, close cores: 0.22
// us without lacuna, 0.28 with a check each time.)
constinit int g_checks_left = 1;
constinit int g_checks_next = 1;

// Whether all tokens that were sent here have arrived, so that no message is a token.
bool are_all_landed() {
  if (!may_have_tokens()) return true;
  if (--g_checks_left > 0) return false;
  g_checks_next = std::min(2 * g_checks_next, kMostAsks);
  g_checks_left = g_checks_next;
  return settle_tokens();
}

int error_class_of(const Watch& watch, MPI_Status* status) {
  if (are_all_landed()) return MPI_SUCCESS;
  Incoming incoming;
  return watch_plain(watch, &incoming) ? deliver(incoming, status) : MPI_SUCCESS;
}

// Ends a watch and delivers what its receive has brought. Returns the error class, and the
// communicator to raise it on. Receives that the library itself posted bring no tokens.
int end_and_redeem(Watch* watch, MPI_Status* status, bool is_well, MPI_Comm* comm) {
  const Watch old = *watch;
  lacuna::detail::end_watch(watch);
  *comm = old.comm;
  return is_well && !called_by_mpi(old.caller) ? error_class_of(old, status) : MPI_SUCCESS;
}

}  // namespace

int receive_payload(const Watch& watch, MPI_Status* status, int code) {
  if (code != MPI_SUCCESS) return code;
  const MPI_Comm comm = watch.comm;
  const int error_class = error_class_of(watch, status);
  return error_class == MPI_SUCCESS ? MPI_SUCCESS : raise_error(comm, error_class);
}

int receive_watched_payload(Watch* watch, MPI_Status* status, int code) {
  MPI_Comm comm{};
  const int error_class = end_and_redeem(watch, status, code == MPI_SUCCESS, &comm);
  return error_class == MPI_SUCCESS ? code : raise_error(comm, error_class);
}

int receive_only_payload(Watch* watch, MPI_Status* status, int code) {
  MPI_Comm comm{};
  const int error_class = end_and_redeem(watch, status, code == MPI_SUCCESS, &comm);
  if (error_class == MPI_SUCCESS) return code;
  status->MPI_ERROR = error_class;
  return raise_error_of_many(comm, error_class, MPI_ERR_IN_STATUS);
}

MPI_Status assumed_status(const Watch& watch) {
  MPI_Status status{};
  Incoming incoming;
  if (watch_plain(watch, &incoming) && finds_token(incoming)) set_bytes(&status, kTokenBytes);
  return status;
}

constinit bool g_needs_status = false;
constinit int g_calls_until_check = 0;

void need_statuses() {
  if (g_needs_status) return;
  g_needs_status = true;
  g_calls_until_check = g_asks_next;
  g_asks_next = std::min(2 * g_asks_next, kMostAsks);
}

void check_need_of_statuses() {
  g_calls_until_check = g_asks_next;
  g_needs_status = !settle_tokens();
}

int end_after_all(Watch* watch, const MPI_Request* request, int code,
                  int (*receive_payload)(Watch*, MPI_Status*, int)) {
  if (may_have_tokens()) need_statuses();
  if (*request != no_request()) return code;
  MPI_Status assumed = assumed_status(*watch);
  return receive_payload(watch, &assumed, code);
}

}  // namespace direct

// Handles at most kMost requests, of which all are watched or none of lacuna's.
bool complete_all(const Next& next, const void* caller, int count, MPI_Request* requests,
                  MPI_Status* statuses, int* code) {
  constexpr int kMost = 64;
  const auto is_left = [caller] {
    if (is_watched(kCosted)) called_from(caller);  // for the full path that follows
    return false;
  };
  if (count < 0 || count > kMost || requests == nullptr || needs_full_path()) return is_left();
  direct::Watch* watches[kMost];
  bool any = false;
  for (int i = 0; i < count; ++i) {
    watches[i] = detail::find_watch(requests[i]);
    any = any || watches[i] != nullptr;
    // Libraries may use one handle for several requests that were complete at once.
    if (detail::has_entries(requests[i])) return is_left();
  }
  MPI_Status own[kMost];
  MPI_Status* results = statuses;
  const bool is_ignored = any && statuses == MPI_STATUSES_IGNORE;
  const bool is_blind = is_ignored && !direct::g_needs_status;
  if (is_ignored && !is_blind) results = own;
  *code = next.MPI_Waitall(count, requests, results);
  if (!any) return true;
  const bool is_assumed = is_blind && direct::may_have_tokens();
  if (is_blind) results = own;
  if (is_assumed) direct::need_statuses();
  if (is_ignored && !is_blind && !direct::is_status_needed()) direct::check_need_of_statuses();
  const bool all_well = *code == MPI_SUCCESS;
  const bool is_left_pending = is_ignored && !is_blind && leaves_pending(*code, count, own);
  MPI_Comm failed{};
  int failure = MPI_SUCCESS;  // the first
  for (int i = 0; i < count; ++i) {
    direct::Watch* watch = watches[i];
    if (watch == nullptr || requests[i] != no_request() || detail::is_empty(*watch)) continue;
    if (is_assumed) results[i] = direct::assumed_status(*watch);
    if (is_blind != is_assumed || !direct::may_be_token(results[i])) {
      detail::end_watch(watch);
      continue;
    }
    const bool is_well = all_well || results[i].MPI_ERROR == MPI_SUCCESS;
    MPI_Comm comm{};
    const int error_class = direct::end_and_redeem(watch, &results[i], is_well, &comm);
    if (error_class == MPI_SUCCESS) continue;
    if (all_well && failure == MPI_SUCCESS) {
      for (int j = 0; j < count; ++j) results[j].MPI_ERROR = MPI_SUCCESS;
    }
    results[i].MPI_ERROR = error_class;
    if (failure != MPI_SUCCESS) continue;
    failed = comm;
    failure = error_class;
  }
  if (failure != MPI_SUCCESS) *code = raise_error_of_many(failed, failure, MPI_ERR_IN_STATUS);
  // Without statuses the library would have waited for these, too (requests/many.cpp).
  int again = MPI_SUCCESS;
  if (is_left_pending && !complete_all(next, caller, count, requests, statuses, &again))
    next.MPI_Waitall(count, requests, statuses);
  return true;
}

}  // namespace lacuna
