// SPDX-License-Identifier: BSD-3-Clause
//
// What a rank gives and gets in each pattern, and starting nonblocking collectives. The request
// that the program gets is the library's own.
#include "interpose/carry.hpp"

#include <memory>
#include <new>

#include "interpose/next.hpp"
#include "interpose/runtime.hpp"

namespace lacuna {

// Where completions may escape our eyes, nothing may be started that waits for them.
bool may_begin(const Start& start) noexcept {
  finish_freed_requests();
  return start.blocking() || (start.request() != nullptr && runtime().nonblocking);
}

namespace {

bool ask(MPI_Comm comm, const Start& start, Group* group, Answer* answer) noexcept {
  if (!may_begin(start)) return false;
  int code = 0;
  if (ask_group(comm, group, &code)) return true;
  *answer = taken(code);
  return false;
}

}  // namespace

bool share_gather(const void* in_place, int root, MPI_Comm comm, const Start& start, Share* gives,
                  Share* gets, Answer* answer) noexcept {
  Group group;
  if (!ask(comm, start, &group, answer)) return false;
  const Role role = group.role(root);
  if (role == Role::kNone) return false;
  const bool is_root = role == Role::kRoot;
  const bool stays = is_root && !group.inter && in_place == MPI_IN_PLACE;
  if (is_root) *gets = {group.pairs, {Flow::kIn, stays ? group.rank : -1}};
  if (!stays && !(is_root && group.inter)) *gives = {1, {Flow::kOut}};
  return true;
}

bool share_scatter(const void* in_place, int root, MPI_Comm comm, const Start& start, Share* gives,
                   Share* gets, Answer* answer) noexcept {
  Group group;
  if (!ask(comm, start, &group, answer)) return false;
  const Role role = group.role(root);
  if (role == Role::kNone) return false;
  const bool is_root = role == Role::kRoot;
  const bool stays = is_root && !group.inter && in_place == MPI_IN_PLACE;
  if (is_root) *gives = {group.pairs, {Flow::kOut, stays ? group.rank : -1}};
  if (!stays && !(is_root && group.inter)) *gets = {1, {Flow::kIn}};
  return true;
}

// In place, what this rank gives lies where it would get it.
bool share_allgather(const void* in_place, MPI_Comm comm, const Start& start, Share* gives,
                     Share* gets, Answer* answer) noexcept {
  Group group;
  if (!ask(comm, start, &group, answer)) return false;
  const bool stays = in_place == MPI_IN_PLACE;
  if (stays && group.inter) return false;
  *gets = {group.pairs, {Flow::kIn, stays ? group.rank : -1, Flow::kOut}};
  if (!stays) *gives = {1, {Flow::kOut}};
  return true;
}

// In place, all data are exchanged for others.
bool share_alltoall(const void* in_place, MPI_Comm comm, const Start& start, Share* gives,
                    Share* gets, Answer* answer) noexcept {
  Group group;
  if (!ask(comm, start, &group, answer)) return false;
  const bool stays = in_place == MPI_IN_PLACE;
  if (stays && group.inter) return false;
  *gets = {group.pairs, {stays ? Flow::kBoth : Flow::kIn}};
  if (!stays) *gives = {group.pairs, {Flow::kOut}};
  return true;
}

PendingRequest* new_pending_exchange(Exchange* exchange) noexcept {
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return nullptr;
  entry->exchange.reset(new (std::nothrow) Exchange(std::move(*exchange)));
  if (entry->exchange != nullptr) return entry;
  drop_pending(entry);
  return nullptr;
}

int settle_started(PendingRequest* entry, MPI_Request started, MPI_Request* request,
                   int code) noexcept {
  if (started == runtime().request_null) {
    drop_pending(entry);
    return code;
  }
  *request = started;
  Side& in = entry->exchange->in;
  entry->receive = in.comes_in();
  // What is complete when it returns needs no entry, and must not have one: libraries give such
  // calls one shared request handle.
  int done = 0;
  if (next_functions().MPI_Request_get_status(started, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
      done != 0) {
    if (entry->receive) in.unpack_all();
    drop_pending(entry);
    return code;
  }
  add_pending(entry, started);
  return code;
}

}  // namespace lacuna
