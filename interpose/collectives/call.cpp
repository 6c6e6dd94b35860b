// SPDX-License-Identifier: BSD-3-Clause
//
// What a rank sends and receives in each kind of collective, and the requests of nonblocking and
// persistent collectives. The program gets the library's own request.
#include "interpose/collectives/call.hpp"

#include <memory>
#include <new>

#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/requests/freed.hpp"

namespace lacuna {

// Numbers: docs/experiments/2026-11-27-collectives-packed.md.
int64_t least_bytes_of(direct::Kind kind) {
  const bool is_late = kind == direct::Kind::kScatter || kind == direct::Kind::kScatterv ||
                       kind >= direct::Kind::kNeighborAllgather;
  return runtime().flavour == Flavour::kMpich && is_late ? 128 : 0;
}

bool never_pays(Operation operation, MPI_Count count, MPI_Datatype datatype, int64_t least_bytes) {
  if (is_watched(kAnyWatched | kDevices) || runtime().always) return false;
  const TypeRecord* record = detail::cached_record(datatype);
  int64_t all = 0;
  if (record == nullptr || count <= 0 ||
      __builtin_mul_overflow(int64_t{count}, record->size_bytes, &all)) {
    return false;
  }
  return record->passes || (count == 1 && record->one_passes) || all < least_bytes ||
         !pays_to_pack(operation, *record, count, all);
}

// Not where lacuna would not see all completions.
bool may_begin(const Start& start) {
  finish_freed_requests();
  if (start.blocking()) return true;
  if (start.request() == nullptr || !runtime().nonblocking) return false;
  return !start.persistent() || repeats_collectives(runtime().flavour, runtime().mpich_major);
}

namespace {

bool query(MPI_Comm comm, const Start& start, CommInfo* group, CallPairs* call_pairs) {
  if (!may_begin(start)) return false;
  int code = 0;
  if (direct::comm_info_of(comm, group, &code)) return true;
  call_pairs->answer = handled(code);
  return false;
}

}  // namespace

// A root that is the only rank sends to nobody.
CallPairs pairs_of_bcast(int root, MPI_Comm comm, const Start& start) {
  CallPairs call_pairs;
  CommInfo group;
  if (!query(comm, start, &group, &call_pairs)) return call_pairs;
  const Role role = group.role(root);
  if (role == Role::kNone || (!group.inter && group.pairs == 1)) return call_pairs;
  if (role == Role::kRoot) {
    call_pairs.sends = {1, {Flow::kOut}};
  } else {
    call_pairs.receives = {1, {Flow::kIn}};
  }
  call_pairs.known = true;
  return call_pairs;
}

CallPairs pairs_of_rooted(Flow roots, const void* in_place, int root, MPI_Comm comm,
                          const Start& start) {
  CallPairs call_pairs;
  CommInfo group;
  if (!query(comm, start, &group, &call_pairs)) return call_pairs;
  const Role role = group.role(root);
  if (role == Role::kNone) return call_pairs;
  const bool gathers = roots == Flow::kIn;
  SidePairs& of_all = gathers ? call_pairs.receives : call_pairs.sends;
  SidePairs& of_one = gathers ? call_pairs.sends : call_pairs.receives;
  const bool is_root = role == Role::kRoot;
  const bool stays = is_root && !group.inter && in_place == MPI_IN_PLACE;
  if (is_root) of_all = {group.pairs, {roots, stays ? group.rank : -1}};
  if (!stays && !(is_root && group.inter)) of_one = {1, {gathers ? Flow::kOut : Flow::kIn}};
  call_pairs.known = true;
  return call_pairs;
}

// In place, this rank's data are in its own part of the receive buffer, so that part is packed and
// sent.
CallPairs pairs_of_allgather(const void* in_place, MPI_Comm comm, const Start& start) {
  CallPairs call_pairs;
  CommInfo group;
  if (!query(comm, start, &group, &call_pairs)) return call_pairs;
  const bool stays = in_place == MPI_IN_PLACE;
  if (stays && group.inter) return call_pairs;
  call_pairs.receives = {group.pairs, {Flow::kIn, stays ? group.rank : -1, Flow::kOut}};
  if (!stays) call_pairs.sends = {1, {Flow::kOut}};
  call_pairs.known = true;
  return call_pairs;
}

// In place, the data of the receive buffer are sent and then overwritten.
CallPairs pairs_of_alltoall(const void* in_place, MPI_Comm comm, const Start& start) {
  CallPairs call_pairs;
  CommInfo group;
  if (!query(comm, start, &group, &call_pairs)) return call_pairs;
  const bool stays = in_place == MPI_IN_PLACE;
  if (stays && group.inter) return call_pairs;
  call_pairs.receives = {group.pairs, {stays ? Flow::kBoth : Flow::kIn}};
  if (!stays) call_pairs.sends = {group.pairs, {Flow::kOut}};
  call_pairs.known = true;
  return call_pairs;
}

PendingRequest* new_pending_sides(Sides* sides) {
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return nullptr;
  entry->completion.reset(new (std::nothrow) Sides(std::move(*sides)));
  if (entry->completion != nullptr) {
    entry->receive = sides_of(*entry).in.comes_in();
    return entry;
  }
  drop_pending(entry);
  return nullptr;
}

}  // namespace lacuna
