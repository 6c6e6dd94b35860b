// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/exchange.hpp"

#include <algorithm>
#include <new>
#include <optional>

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

// At the beginning of a region's payload; the channels of all members follow.
struct CallHeader {
  // Members that still use the region: the receivers, and the owner, which polls their channels.
  // The last one frees it; another thread may then reserve it at once.
  alignas(kLine) std::atomic<uint32_t> users;
};

Channel* channels_of(Region* region) noexcept {
  return reinterpret_cast<Channel*>(payload(region) + sizeof(CallHeader));
}

Region* region_of(const Member& member) noexcept {
  return reinterpret_cast<Region*>(peer_at(member.peer)->arena.begin + member.offset);
}

int64_t up_to_line(int64_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

// Size of a piece. In an exchange each rank packs its own data before it looks at the others', so
// small pieces only cost transfers of lines (docs/experiments/2026-11-27-room-thresholds.md). All
// windows together should take at most a quarter of the arena. A device moves all at once if it
// fits, and all windows lie in the part of an arena that may be pinned (device/arenas.hpp).
int64_t piece_in_call(const Room& room, const Call& call, const PairData& pair_data) noexcept {
  constexpr int64_t kMost = 128 << 10;
  constexpr int64_t kPart = 4;
  constexpr int64_t kMostOfDevice = kKeptPagesBytes / 2;
  const int64_t bytes = pair_data.bytes;
  const int64_t eighths = piece_of(bytes);
  const int64_t part = arena_bytes() / kPart;
  const auto ranks = static_cast<int64_t>(room.members.size());
  if (pair_data.is_on_device()) {
    const int64_t window = std::min(part, kMostOfDevice) / ranks;
    return bytes <= window ? bytes : window / kPiecesInWindow;
  }
  if (!is_exchange(call.kind)) return eighths;
  return std::clamp<int64_t>(bytes, eighths,
                             std::max(eighths, std::min(kMost, part / ranks / kPiecesInWindow)));
}

// Whether this rank sends to member `i`, another rank.
bool has_window(const Room& room, size_t i) noexcept {
  return i != room.rank && room.members[i].sends_to;
}

Distance distance_of(const Room& room, const Member& member) noexcept {
  return distance_from(member.peer, room.call_number);
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

// Where the device that has these data packs them, in place of a window in the arena: none unless
// all receivers among the `count` members from `first` on can find them there.
device::WindowPlace place_on_device(const Room& room, const PairData& pair_data, size_t first,
                                    size_t count, const std::byte* window,
                                    int64_t window_bytes) noexcept {
  device::WindowPlace place;
  if (!pair_data.is_on_device()) return place;
  for (size_t i = first; i < first + count; ++i) {
    if (!has_window(room, i)) continue;
    place = device::window_for(pair_data.on_device(), window, window_bytes,
                               *peer_at(room.members[i].peer));
    if (place.begin == nullptr) return place;
  }
  return place;
}

// Reserves a region with windows for all that this rank sends. False: no free space. `region` stays
// null if it sends nothing.
bool prepare(Room* room, const Call& call, Region** region) noexcept {
  const size_t n = room->members.size();
  const auto front = static_cast<int64_t>(sizeof(CallHeader) + n * sizeof(Channel));
  const bool one = sends_one(call.kind);
  uint32_t readers = 0;
  int64_t bytes = front;
  for (size_t i = 0; i < n; ++i) {
    if (!has_window(*room, i)) continue;
    ++readers;
    if (one) continue;
    Member& member = room->members[i];
    member.writer.plan_for(member.out, piece_in_call(*room, call, member.out),
                           distance_of(*room, member));
    bytes += up_to_line(member.writer.window_bytes());
  }
  if (readers == 0) return true;
  if (one) {
    room->writer_to_all.plan_for(room->to_all, piece_in_call(*room, call, room->to_all),
                                 distance_of_all(*room));
    bytes += room->writer_to_all.window_bytes();
  }
  *region = reserve(bytes);
  if (*region == nullptr) return false;
  std::byte* const start = payload(*region);
  new (start) CallHeader{readers + 1};
  const std::span<Channel> channels(channels_of(*region), n);
  int64_t offset = front;
  for (size_t i = 0; i < n; ++i) {
    Channel* channel = new (&channels[i]) Channel;
    if (!has_window(*room, i)) continue;
    if (one) {
      room->writer_to_all.allow(channel, offset);
      continue;
    }
    WindowWriter& writer = room->members[i].writer;
    std::byte* const window = start + offset;
    writer.allow(channel, offset);
    writer.open(channel, channels.subspan(i, 1), window,
                place_on_device(*room, room->members[i].out, i, 1, window, writer.window_bytes()));
    offset += up_to_line(writer.window_bytes());
  }
  if (!one) return true;
  WindowWriter& writer = room->writer_to_all;
  writer.open(&channels[room->rank], channels, start + offset,
              place_on_device(*room, room->to_all, 0, n, start + offset, writer.window_bytes()));
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
    member.receives_from = member.receives_from && member.offset != 0;
    if (!member.receives_from) continue;
    const OpenArena& arena = peer_at(member.peer)->arena;
    Region* region = enter_region(arena, member.offset, 0);
    if (region != nullptr) region = enter_region(arena, member.offset, region->bytes);
    if (region == nullptr) {
      member.receives_from = false;
      is_refused = true;
      continue;
    }
    Channel* channels = channels_of(region);
    Channel* own = &channels[room->rank];
    member.reader.open(member.in, member.peer, sends_one(call.kind) ? &channels[i] : own, own,
                       payload(region), distance_of(*room, member));
    if (member.reader.is_truncated()) error_class = MPI_ERR_TRUNCATE;
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
    if (i != room.rank && member.receives_from && member.reader.is_expected())
      leave(region_of(member));
  }
  if (own != nullptr) leave(own);
}

// Buffer for flows that use non-temporal stores. If there is none, they go straight.
Staging side_of(const Room& room, bool to_all, bool one) noexcept {
  int64_t bytes = to_all ? room.writer_to_all.pack_buffer_bytes() : 0;
  for (size_t i = 0; !one && i < room.members.size(); ++i) {
    if (has_window(room, i)) bytes = std::max(bytes, room.members[i].writer.pack_buffer_bytes());
  }
  return bytes > 0 ? borrow_staging(bytes, true) : Staging();
}

// A member whose data have not come, or which has not consumed enough.
size_t first_late(const Room& room, bool one) noexcept {
  for (size_t i = 0; i < room.members.size(); ++i) {
    const Member& member = room.members[i];
    if (i == room.rank) continue;
    if (member.receives_from && !member.reader.is_done()) return i;
    if (member.sends_to && (one ? !room.writer_to_all.is_done() : !member.writer.is_done()))
      return i;
  }
  return room.rank;
}

// Whether data were read from the memory of a member that has given up, and may have left the call
// before.
bool has_read_in_vain(const Room& room) noexcept {
  for (size_t i = 0; i < room.members.size(); ++i) {
    const Member& member = room.members[i];
    const bool is_read = i != room.rank && member.receives_from && member.reader.is_read();
    if (is_read && has_given_up(room, member)) return true;
  }
  return false;
}

// Memory for the packed form of what this rank sends to itself, if a device has some of it. False:
// it is needed, and was refused.
bool borrow_for_own(const Room& room, Staging* packed) noexcept {
  const Member& self = room.members[room.rank];
  const bool is_needed =
      self.sends_to && self.out.bytes > 0 && (self.out.is_on_device() || self.in.is_on_device());
  if (!is_needed) return true;
  *packed =
      device::borrow_between(self.out.device_address(), self.in.device_address(), self.out.bytes);
  return static_cast<bool>(*packed);
}

bool copy_own_data(const Member& self, const Staging& own_packed) noexcept {
  if (own_packed) return copy_by_device(self.out, self.in, own_packed.data());
  copy_pair_data(self.out, self.in);
  return true;
}

// Moves all data. `own_packed`: of borrow_for_own(). False: a member that is waited for has died,
// some member has given up, or a device has failed.
bool move_all(Room* room, const Call& call, const Staging& own_packed,
              DeviceBatches* batches) noexcept {
  const size_t n = room->members.size();
  const size_t own = room->rank;
  const bool one = sends_one(call.kind);
  bool to_all = false;
  for (size_t i = 0; one && i < n; ++i) to_all = to_all || has_window(*room, i);
  const Staging aside = side_of(*room, to_all, one);
  std::byte* const side = aside ? aside.data() : nullptr;
  Waiter waiter(Wait::kData, *room, call.kind);
  const auto late = [&] { return first_late(*room, one); };
  DeviceBatch* const packs = batches != nullptr ? &batches->packs : nullptr;
  DeviceBatch* const unpacks = batches != nullptr ? &batches->unpacks : nullptr;
  bool copied = false;
  for (bool is_done = false; !is_done;) {
    is_done = true;
    bool moved = false;
    const auto send = [&](WindowWriter* flow) {
      if (!flow->is_done()) moved = flow->step(side, packs) || moved;
      is_done = is_done && flow->is_done();
    };
    const auto receive = [&](WindowReader* flow) {
      if (!flow->is_done()) moved = flow->step(unpacks) || moved;
      is_done = is_done && flow->is_done();
    };
    if (to_all) send(&room->writer_to_all);
    // Sends to the next rank first and receives from the one before first, so that no two ranks
    // begin with the same peer.
    for (size_t k = 1; k < n; ++k) {
      Member& next = room->members[(own + k) % n];
      Member& before = room->members[(own + n - k) % n];
      if (next.sends_to && !one) send(&next.writer);
      if (before.receives_from) receive(&before.reader);
    }
    if (batches != nullptr && !batches->run()) return false;
    const Member& self = room->members[own];
    // After the first pieces for other ranks.
    if (!copied && self.sends_to && !copy_own_data(self, own_packed)) return false;
    copied = true;
    if (moved) {
      waiter.reset();
    } else if (!is_done && (!waiter.wait(late) || (waiter.is_long() && any_has_given_up(*room)))) {
      return false;
    }
  }
  return !has_read_in_vain(*room);
}

[[gnu::noinline]] bool move_all_with_devices(Room* room, const Call& call,
                                             const Staging& own_packed) noexcept {
  DeviceBatches batches;
  return move_all(room, call, own_packed, &batches);
}

// Does the call that all have voted for. `region`: this rank's, or null. Returns an error class. If
// it fails, regions that a dead member, or one without access, has not released stay reserved:
// which ones these are is not known.
int run(Room* room, const Call& call, const Staging& own_packed, Region* region) noexcept {
  int error_class = open_inflows(room, call);
  if (error_class == MPI_ERR_OTHER)
    leave_rooms();  // else each call might leave a region reserved
  else if (is_watched(kDevices) ? !move_all_with_devices(room, call, own_packed)
                                : !move_all(room, call, own_packed, nullptr))
    error_class = MPI_ERR_OTHER;
  if (error_class == MPI_ERR_OTHER) give_up_call(*room);
  leave_all(*room, region);
  return error_class;
}

// Calls `function` for all data that this rank sends and receives.
template <typename Function>
void for_each_pair_data(const Room& room, const Call& call, const Function& function) noexcept {
  bool sends_to = false;
  for (const Member& member : room.members) {
    sends_to = sends_to || member.sends_to;
    if (member.sends_to && !sends_one(call.kind)) function(member.out);
    if (member.receives_from) function(member.in);
  }
  if (sends_to && sends_one(call.kind)) function(room.to_all);
}

// Only the root has the counts of all.
bool has_counts_of_root(Kind kind) noexcept {
  return kind == Kind::kGatherv || kind == Kind::kScatterv;
}

bool is_root(const Room& room, const Call& call) noexcept {
  return static_cast<size_t>(call.root) == room.rank;
}

}  // namespace

bool exchange_data(Room* room, const Call& call, bool willing, int* error_class) noexcept {
  const Member& self = room->members[room->rank];
  const SizeLimits limits = size_limits_of(*room, call.kind);
  OwnVote own;
  own.enough = runtime().always;
  if (willing) {
    for_each_pair_data(*room, call, [&](const PairData& pair_data) {
      own.gaps = own.gaps || limits.is_of_gaps(pair_data) ||
                 (pair_data.with_gaps != nullptr && runtime().always);
      own.enough = own.enough || limits.is_enough(pair_data);
    });
  }
  // The root knows all counts, and votes no if they are few.
  const bool is_little = has_counts_of_root(call.kind) && is_root(*room, call) && !own.enough;
  // Before the vote, as what comes may be in a window from then on.
  std::optional<device::WindowUse> window_use;
  if (is_watched(kDevices) && device::are_windows_on()) window_use.emplace();
  Region* region = nullptr;
  Staging own_packed;
  willing = willing && !is_little && (!self.sends_to || self.out.bytes == self.in.bytes) &&
            borrow_for_own(*room, &own_packed) && (room->is_broken || prepare(room, call, &region));
  if (region != nullptr) own.offset = offset_of(region);
  bool alive = true;
  const bool all_agree = vote(room, call, willing ? &own : nullptr, &alive);
  if (room->is_broken && all_agree) alive = false;  // this rank has no region
  if (all_agree && alive) {
    for_each_pair_data(*room, call, [](const PairData& pair_data) {
      if (pair_data.with_gaps != nullptr)
        log_type(*pair_data.with_gaps, Outcome::kDirect, pair_data.bytes);
    });
    *error_class = run(room, call, own_packed, region);
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
