// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/exchange.hpp"

#include <algorithm>
#include <new>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/arena/distance.hpp"
#include "interpose/direct/arena/region.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/waiter.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/memory/staging.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna::direct {
namespace {

// At the beginning of a region's payload; the lanes of all members follow.
struct CallHeader {
  // Members that still use the region: the receivers, and the owner, which polls their lanes. The
  // last one frees it; another thread may then reserve it at once.
  alignas(kLine) std::atomic<uint32_t> users;
};

Lane* lanes_of(Region* region) noexcept {
  return reinterpret_cast<Lane*>(payload(region) + sizeof(CallHeader));
}

Region* region_of(const Member& member) noexcept {
  return reinterpret_cast<Region*>(peer_at(member.peer)->arena.begin + member.offset);
}

int64_t up_to_line(int64_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

// Size of a piece. In an exchange each rank packs its own data before it looks at the others', so
// small pieces only cost transfers of lines (docs/experiments/2026-11-27-room-thresholds.md). All
// windows together should take at most a quarter of the arena.
int64_t piece_in_turn(const Room& room, const Call& call, int64_t bytes) noexcept {
  constexpr int64_t kMost = 128 << 10;
  constexpr int64_t kPart = 4;
  const int64_t eighths = piece_of(bytes);
  if (!is_exchange(call.kind)) return eighths;
  const int64_t window = arena_bytes() / kPart / static_cast<int64_t>(room.members.size());
  return std::clamp<int64_t>(bytes, eighths,
                             std::max(eighths, std::min(kMost, window / kPiecesInWindow)));
}

// Whether this rank sends to member `i`, another rank.
bool has_window(const Room& room, size_t i) noexcept {
  return i != room.rank && room.members[i].goes;
}

Distance distance_of(const Room& room, const Member& member) noexcept {
  return distance_from(member.peer, room.turn);
}

// The distance of all receivers, if they have the same.
Distance distance_of_all(const Room& room) noexcept {
  bool is_first = true;
  Distance all = Distance::kUnknown;
  for (size_t i = 0; i < room.members.size(); ++i) {
    if (!has_window(room, i)) continue;
    const Distance one = distance_of(room, room.members[i]);
    if (!is_first && one != all) return Distance::kUnknown;
    is_first = false;
    all = one;
  }
  return all;
}

// Reserves a region with windows for all that this rank sends. False: no free space. `region` stays
// null if it sends nothing.
bool prepare(Room* room, const Call& call, Region** region) noexcept {
  const size_t n = room->members.size();
  const auto front = static_cast<int64_t>(sizeof(CallHeader) + n * sizeof(Lane));
  const bool one = gives_one(call.kind);
  uint32_t readers = 0;
  int64_t bytes = front;
  for (size_t i = 0; i < n; ++i) {
    if (!has_window(*room, i)) continue;
    ++readers;
    if (one) continue;
    Member& member = room->members[i];
    member.outflow.plan_for(member.out, piece_in_turn(*room, call, member.out.bytes),
                            distance_of(*room, member));
    bytes += up_to_line(member.outflow.window_bytes());
  }
  if (readers == 0) return true;
  if (one) {
    room->outflow_to_all.plan_for(room->to_all, piece_in_turn(*room, call, room->to_all.bytes),
                                  distance_of_all(*room));
    bytes += room->outflow_to_all.window_bytes();
  }
  *region = reserve(bytes);
  if (*region == nullptr) return false;
  std::byte* const start = payload(*region);
  new (start) CallHeader{readers + 1};
  const std::span<Lane> lanes(lanes_of(*region), n);
  int64_t offset = front;
  for (size_t i = 0; i < n; ++i) {
    Lane* lane = new (&lanes[i]) Lane;
    if (!has_window(*room, i)) continue;
    if (one) {
      room->outflow_to_all.allow(lane, offset);
      continue;
    }
    Outflow& outflow = room->members[i].outflow;
    outflow.allow(lane, offset);
    outflow.open(lane, lanes.subspan(i, 1), start + offset);
    offset += up_to_line(outflow.window_bytes());
  }
  if (one) room->outflow_to_all.open(&lanes[room->rank], lanes, start + offset);
  return true;
}

// Opens the windows of the others that send to this rank. Returns an error class. MPI_ERR_OTHER:
// the system refuses access to a region, so this rank cannot even leave it.
int open_inflows(Room* room, const Call& call) noexcept {
  int error_class = MPI_SUCCESS;
  bool is_refused = false;
  for (size_t i = 0; i < room->members.size(); ++i) {
    Member& member = room->members[i];
    if (i == room->rank) continue;
    // In an invalid graph, a source may send nothing to anybody, and have no region.
    member.comes = member.comes && member.offset != 0;
    if (!member.comes) continue;
    const OpenArena& arena = peer_at(member.peer)->arena;
    Region* region = enter_region(arena, member.offset, 0);
    if (region != nullptr) region = enter_region(arena, member.offset, region->bytes);
    if (region == nullptr) {
      member.comes = false;
      is_refused = true;
      continue;
    }
    Lane* lanes = lanes_of(region);
    Lane* own = &lanes[room->rank];
    member.inflow.open(member.in, gives_one(call.kind) ? &lanes[i] : own, own, payload(region),
                       distance_of(*room, member));
    if (member.inflow.is_truncated()) error_class = MPI_ERR_TRUNCATE;
  }
  return is_refused ? MPI_ERR_OTHER : error_class;
}

void leave(Region* region) noexcept {
  auto* header = reinterpret_cast<CallHeader*>(payload(region));
  if (header->users.fetch_sub(1, std::memory_order_acq_rel) == 1) release(region);
}

// Leaves all regions. `own`: this rank's, or null.
void leave_all(const Room& room, Region* own) noexcept {
  for (size_t i = 0; i < room.members.size(); ++i) {
    const Member& member = room.members[i];
    if (i != room.rank && member.comes && member.inflow.is_expected()) leave(region_of(member));
  }
  if (own != nullptr) leave(own);
}

// Buffer for flows that use non-temporal stores. If there is none, they go straight.
Staging side_of(const Room& room, bool to_all, bool one) noexcept {
  int64_t bytes = to_all ? room.outflow_to_all.side_bytes() : 0;
  for (size_t i = 0; !one && i < room.members.size(); ++i) {
    if (has_window(room, i)) bytes = std::max(bytes, room.members[i].outflow.side_bytes());
  }
  return bytes > 0 ? borrow_staging(bytes, true) : Staging();
}

// A member whose data have not come, or which has not consumed enough.
size_t first_late(const Room& room, bool one) noexcept {
  for (size_t i = 0; i < room.members.size(); ++i) {
    const Member& member = room.members[i];
    if (i == room.rank) continue;
    if (member.comes && !member.inflow.over()) return i;
    if (member.goes && (one ? !room.outflow_to_all.over() : !member.outflow.over())) return i;
  }
  return room.rank;
}

// Whether data were read from the memory of a member that has given up, and may have left the call
// before.
bool has_read_in_vain(const Room& room) noexcept {
  for (size_t i = 0; i < room.members.size(); ++i) {
    const Member& member = room.members[i];
    const bool is_read = i != room.rank && member.comes && member.inflow.is_read();
    if (is_read && has_given_up(room, member)) return true;
  }
  return false;
}

// Moves all data. False: a member that is waited for has died, or some member has given up.
bool move_all(Room* room, const Call& call) noexcept {
  const size_t n = room->members.size();
  const size_t own = room->rank;
  const bool one = gives_one(call.kind);
  bool to_all = false;
  for (size_t i = 0; one && i < n; ++i) to_all = to_all || has_window(*room, i);
  const Staging aside = side_of(*room, to_all, one);
  std::byte* const side = aside ? aside.data() : nullptr;
  Waiter waiter(Wait::kData, *room, call.kind);
  const auto late = [&] { return first_late(*room, one); };
  bool copied = false;
  for (bool over = false; !over;) {
    over = true;
    bool moved = false;
    const auto send = [&](Outflow* flow) {
      if (!flow->over()) moved = flow->step(side) || moved;
      over = over && flow->over();
    };
    const auto receive = [&](Inflow* flow) {
      if (!flow->over()) moved = flow->step() || moved;
      over = over && flow->over();
    };
    if (to_all) send(&room->outflow_to_all);
    // Sends to the next rank first and receives from the one before first, so that no two ranks
    // begin with the same peer.
    for (size_t k = 1; k < n; ++k) {
      Member& next = room->members[(own + k) % n];
      Member& before = room->members[(own + n - k) % n];
      if (next.goes && !one) send(&next.outflow);
      if (before.comes) receive(&before.inflow);
    }
    const Member& self = room->members[own];
    if (!copied && self.goes)
      copy_lot(self.out, self.in);  // after the first pieces for other ranks
    copied = true;
    if (moved) {
      waiter.reset();
    } else if (!over && (!waiter.wait(late) || (waiter.is_long() && any_has_given_up(*room)))) {
      return false;
    }
  }
  return !has_read_in_vain(*room);
}

// Does the call that all have voted for. `region`: this rank's, or null. Returns an error class. If
// it fails, regions that a dead member, or one without access, has not released stay reserved:
// which ones these are is not known.
int run(Room* room, const Call& call, Region* region) noexcept {
  int error_class = open_inflows(room, call);
  if (error_class == MPI_ERR_OTHER)
    leave_rooms();  // else each call might leave a region reserved
  else if (!move_all(room, call))
    error_class = MPI_ERR_OTHER;
  if (error_class == MPI_ERR_OTHER) give_up_call(*room);
  leave_all(*room, region);
  return error_class;
}

// Calls `look` for all lots that this rank sends and receives.
template <typename Look>
void for_each_lot(const Room& room, const Call& call, const Look& look) noexcept {
  bool goes = false;
  for (const Member& member : room.members) {
    goes = goes || member.goes;
    if (member.goes && !gives_one(call.kind)) look(member.out);
    if (member.comes) look(member.in);
  }
  if (goes && gives_one(call.kind)) look(room.to_all);
}

// Only the root has the counts of all.
bool has_counts_of_root(Kind kind) noexcept {
  return kind == Kind::kGatherv || kind == Kind::kScatterv;
}

bool is_root(const Room& room, const Call& call) noexcept {
  return static_cast<size_t>(call.root) == room.rank;
}

}  // namespace

bool take_turn(Room* room, const Call& call, bool willing, int* error_class) noexcept {
  const Member& self = room->members[room->rank];
  const Gain gain = gain_of(*room, call.kind);
  Ballot own;
  own.enough = runtime().always;
  if (willing) {
    for_each_lot(*room, call, [&](const Lot& lot) {
      own.gaps = own.gaps || gain.is_of_gaps(lot) || (lot.with_gaps != nullptr && runtime().always);
      own.enough = own.enough || gain.is_enough(lot);
    });
  }
  // The root knows all counts, and votes no if they are few.
  const bool is_little = has_counts_of_root(call.kind) && is_root(*room, call) && !own.enough;
  Region* region = nullptr;
  willing = willing && !is_little && (!self.goes || self.out.bytes == self.in.bytes) &&
            (room->is_broken || prepare(room, call, &region));
  if (region != nullptr) own.offset = offset_of(region);
  bool alive = true;
  const bool all_agree = vote(room, call, willing ? &own : nullptr, &alive);
  if (room->is_broken && all_agree) alive = false;  // this rank has no region
  if (all_agree && alive) {
    for_each_lot(*room, call, [](const Lot& lot) {
      if (lot.with_gaps != nullptr) log_type(*lot.with_gaps, Note::kDirect, lot.bytes);
    });
    *error_class = run(room, call, region);
    return true;
  }
  *error_class = MPI_ERR_OTHER;
  if (alive) {
    if (region != nullptr) release(region);
    return false;
  }
  // Members that see the rest of the votes may still use the region.
  give_up_call(*room);
  if (region != nullptr) leave(region);
  return true;
}

}  // namespace lacuna::direct
