// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/room.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/arena/distance.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/repeat_decline.hpp"
#include "interpose/direct/rooms/vote_slot.hpp"
#include "interpose/direct/rooms/waiter.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/types/record.hpp"
#include "machine/machine.hpp"

namespace lacuna::direct {
namespace {

constexpr int kRooms = kVotePageBytes / sizeof(VoteSlots);
static_assert(kRooms == 32);

// A bit for each set of slots that this process uses.
constinit std::atomic<uint32_t> g_used{0};
constexpr uint32_t kAllUsed = ~uint32_t{0};

constinit std::atomic<uint32_t> g_votes{0};

// Counts this vote; returns the votes so far, by which is_sample_due() decides. The load that finds
// a peer's vote fetches the line from the peer's core, however long this rank has waited: its time
// tells how far away that core is.
uint32_t count_votes() noexcept {
  const uint32_t votes = g_votes.load(std::memory_order_relaxed) + 1;
  g_votes.store(votes, std::memory_order_relaxed);
  return votes;
}

std::byte* arena_of(uint32_t member) noexcept {
  return member == own_index() ? own_arena() : peer_at(member)->arena.begin;
}

VoteSlots& slots_of(uint32_t member, int number) noexcept {
  return reinterpret_cast<VoteSlots*>(arena_of(member))[number];
}

VoteSlot& slot(uint32_t member, const Room& room, uint64_t call_number) noexcept {
  return slots_of(member, room.number).slots[call_number % kVoteSlots];
}

uint64_t call_number_of(uint64_t word) noexcept { return word >> kNumberShift; }

constexpr uint64_t kEver = std::numeric_limits<uint64_t>::max();
constexpr int kMostInVain = 4;
constexpr uint64_t kMostInterval = 1024;

BackOff& back_off_of(Room* room, const Call& call) noexcept {
  return room->back_offs[call.is_plain ? 1 : 0][static_cast<size_t>(call.kind)];
}

void record_vote(Room* room, const Call& call, bool accepted, bool refused) noexcept {
  BackOff& back_off = back_off_of(room, call);
  back_off.is_small = !refused;
  if (accepted) {
    back_off.votes_in_vain = 0;
    back_off.next_interval = BackOff::kFirstInterval;
  } else if (++back_off.votes_in_vain >= kMostInVain) {
    back_off.no_vote_until =
        (room->call_number / back_off.next_interval + 1) * back_off.next_interval;
    back_off.next_interval = std::min(2 * back_off.next_interval, kMostInterval);
  }
}

// The last call of any room of this process: the number of each call is written to some slot. A new
// room begins after the last call of all members, so that an old vote is never taken for a new one.
uint64_t last_call_voted() noexcept {
  uint64_t last = 0;
  for (int number = 0; number < kRooms; ++number) {
    for (const VoteSlot& used : slots_of(own_index(), number).slots)
      last = std::max(last, call_number_of(used.word.load(std::memory_order_relaxed)));
  }
  return last;
}

// Marks a set of slots as used. False: it was in use.
bool claim(int number) noexcept {
  const uint32_t bit = uint32_t{1} << number;
  return (g_used.fetch_or(bit, std::memory_order_acq_rel) & bit) == 0;
}

void give_up(int number) noexcept {
  g_used.fetch_and(~(uint32_t{1} << number), std::memory_order_release);
}

// Set in a rank that votes no in all communicators from now on. A copy of the flag in the arena:
// each collective call reads it, and peers write to the line of the arena's flag.
constinit std::atomic<bool> g_left{false};
bool has_left(uint32_t member) noexcept {
  return token_page(arena_of(member)).left_rooms.load(std::memory_order_acquire) != 0;
}

// Exchanges offers. A failure here may be a success elsewhere: the others then have a room, and
// would wait for this rank's votes. So it leaves all rooms.
bool exchange_slot_uses(MPI_Comm comm, SlotUse* of_all, const SlotUse& own) noexcept {
  const bool ok = next_functions().MPI_Allgather(&own, sizeof(own), MPI_BYTE, of_all, sizeof(own),
                                                 MPI_BYTE, comm) == MPI_SUCCESS;
  if (!ok) leave_rooms();
  return ok;
}

constexpr uint64_t kLostRace = 0;
constexpr uint64_t kMine = 1;
constexpr uint64_t kNever = kAllUsed;

uint64_t last_call_of(const std::vector<SlotUse>& slot_uses) noexcept {
  uint64_t last = 0;
  for (const SlotUse& slot_use : slot_uses) last = std::max(last, slot_use.last_call);
  return last;
}

// The first set of slots that is free in all arenas; kRooms: none.
int free_number(const std::vector<SlotUse>& slot_uses) noexcept {
  uint64_t used = 0;
  for (const SlotUse& slot_use : slot_uses) used |= slot_use.used;
  return std::countr_one(used);
}

// Finds a set of slots that is free in all arenas. If some peer has threads, another thread may
// take the set for another room in the meantime. So all tell whether they got it; if not all did,
// the next call tries again. Whatever happens, all ranks make the same number of collective calls.
void agree_on_number(MPI_Comm comm, Room* room) noexcept {
  const int tries = room->number;
  room->number = Room::kRefused;
  const bool left = g_left.load(std::memory_order_relaxed);
  const uint32_t used = left ? kAllUsed : g_used.load(std::memory_order_acquire);
  std::vector<SlotUse>& slot_uses = room->slot_uses;
  const bool has_all = exchange_slot_uses(comm, slot_uses.data(), {used, last_call_voted()});
  const int number = has_all ? free_number(slot_uses) : kRooms;
  const bool is_mine = number < kRooms && claim(number);
  if (has_all) room->call_number = last_call_of(slot_uses);
  if (peers_have_threads()) {
    const uint64_t got = is_mine ? kMine : number < kRooms ? kLostRace : kNever;
    // The last calls again, as other threads may have begun calls since the first exchange.
    const bool has_all_again = exchange_slot_uses(comm, slot_uses.data(), {got, last_call_voted()});
    const auto is = [](uint64_t word) {
      return [word](const SlotUse& slot_use) { return slot_use.used == word; };
    };
    if (!has_all_again || !std::all_of(slot_uses.begin(), slot_uses.end(), is(kMine))) {
      if (is_mine) give_up(number);
      const bool again = has_all_again && tries > Room::kLastTry &&
                         std::none_of(slot_uses.begin(), slot_uses.end(), is(kNever));
      if (again) room->number = tries - 1;
      return;
    }
    room->call_number = std::max(room->call_number, last_call_of(slot_uses));
  }
  if (!is_mine) return;
  room->number = number;
  room->own = &slots_of(own_index(), number);
}

// A member that has voted in a later call has read the votes of this one.
bool has_begun_next(const Room& room, const Member& member, uint64_t call_number) noexcept {
  const VoteSlot& next = slot(member.peer, room, call_number + 1);
  return call_number_of(next.word.load(std::memory_order_acquire)) > call_number;
}

// Waits before slots are reused that hold the votes of a call that was done in the room: all
// members must have read them.
void wait_for_readers(Room* room, const Call& call) noexcept {
  Waiter waiter(Wait::kReaders, *room, call.kind);
  for (const Member& member : room->members) {
    const auto late = [&] { return static_cast<size_t>(&member - room->members.data()); };
    while (!has_begun_next(*room, member, room->last_done)) {
      if (!waiter.wait(late)) return;
    }
  }
}

constexpr double kAnyRun = std::numeric_limits<double>::infinity();

// Thresholds, all but Intel MPI's where windows are in a long round of the arena. Measured with two
// ranks: docs/experiments/2026-11-27-room-thresholds.md. Where peers do not read each other's
// memory, long runs are two copies, and Open MPI and Intel MPI may be faster.
SizeLimits of_any(Kind kind, Flavour flavour, bool has_long_rounds) noexcept {
  const double most_run = peers_read()                                       ? kAnyRun
                          : flavour == Flavour::kOpenMpi && !has_long_rounds ? 2048
                          : flavour == Flavour::kIntelMpi                    ? 256
                                                                             : kAnyRun;
  if (kind == Kind::kAlltoallw && flavour == Flavour::kOpenMpi) return {1024, most_run, 4 << 10};
  if (kind == Kind::kAlltoallw) return {128, most_run};
  if (flavour != Flavour::kIntelMpi) return {4 << 10, most_run};
  switch (kind) {
    case Kind::kBcast:
      return {16 << 10, kAnyRun};
    case Kind::kGather:
      return {16 << 10, 256};
    case Kind::kAllgather:
    case Kind::kAllgatherv:
    case Kind::kAlltoall:
      return {4 << 10, 256};
    case Kind::kNeighborAllgather:
    case Kind::kNeighborAllgatherv:
    case Kind::kNeighborAlltoall:
    case Kind::kNeighborAlltoallv:
    case Kind::kNeighborAlltoallw:
      return {4 << 10, 64};
    case Kind::kScatter:
      return {4 << 10, kAnyRun, 32 << 10};
    case Kind::kScatterv:
      return {4 << 10, kAnyRun};
    default:
      return {4 << 10, most_run};
  }
}

// Thresholds for Intel MPI where distances matter; numbers in the same place.
SizeLimits of_intel(Kind kind, bool is_far) noexcept {
  switch (kind) {
    case Kind::kBcast:
      return {4 << 10, kAnyRun, 16 << 10};
    case Kind::kGather:
    case Kind::kGatherv:
      return is_far ? SizeLimits{1 << 10, kAnyRun, 4 << 10} : SizeLimits{256, kAnyRun};
    case Kind::kScatter:
    case Kind::kScatterv:
      return {is_far ? 4 << 10 : 1 << 10, kAnyRun, 4 << 10};
    case Kind::kAllgather:
    case Kind::kAllgatherv:
      return is_far ? SizeLimits{4 << 10, SizeLimits::kLongRun}
                    : SizeLimits{1 << 10, kAnyRun, 16 << 10};
    case Kind::kAlltoall:
    case Kind::kAlltoallv:
    case Kind::kAlltoallw:
      return is_far ? SizeLimits{1 << 10, kAnyRun, 4 << 10} : SizeLimits{256, kAnyRun};
    default:
      return is_far ? SizeLimits{4 << 10, SizeLimits::kLongRun} : SizeLimits{1 << 10, kAnyRun};
  }
}

}  // namespace

void leave_rooms() noexcept {
  g_left.store(true, std::memory_order_relaxed);
  token_page(own_arena()).left_rooms.store(1, std::memory_order_release);
}

constinit LastRoom g_last_rooms[1U << kLastRoomBits] = {};

SizeLimits size_limits_of(const Room& room, Kind kind) noexcept {
  const Flavour flavour = runtime().flavour;
  const bool has_long_rounds = depends_on_distance(machine());
  if (flavour != Flavour::kIntelMpi || !has_long_rounds)
    return of_any(kind, flavour, has_long_rounds);
  const bool is_far =
      std::any_of(room.members.begin(), room.members.end(), [&](const Member& member) {
        return distance_from(member.peer, room.call_number) == Distance::kFar;
      });
  return of_intel(kind, is_far);
}

Entry enter_room(MPI_Comm comm, Room* room, const Call& call, int64_t bytes) noexcept {
  const bool is_due =
      bytes >= (runtime().always ? 0 : size_limits_of(*room, call.kind).least_bytes);
  // Even if the bytes are few: a rank may not know its type's size yet, if another thread is just
  // decoding it.
  if (room->number <= Room::kUnknown) agree_on_number(comm, room);
  if (room->number < 0) return Entry::kVotedNo;
  ++room->call_number;
  if (room->last_done != 0 && room->call_number >= room->last_done + kVoteSlots) {
    wait_for_readers(room, call);
    room->last_done = 0;
  }
  const BackOff& back_off = back_off_of(room, call);
  const bool is_on = is_open(kCollectiveSwitch) && !g_left.load(std::memory_order_relaxed);
  const bool is_open_now = is_due && is_on;
  room->none_needed_until = 0;
  if (is_open_now && room->call_number >= back_off.no_vote_until) return Entry::kMustVote;
  if (is_on && bytes >= 0) room->none_needed_until = is_due ? back_off.no_vote_until : kEver;
  cast_vote(*room, call, 0, 0);
  // For other calls the gate has checked the types already.
  const bool has_types = call.kind == Kind::kAlltoallw || call.kind == Kind::kNeighborAlltoallw;
  return has_types && is_open_now && back_off.is_small ? Entry::kBackedOff : Entry::kVotedNo;
}

void refuse_room(MPI_Comm comm, SlotUse* of_all) noexcept {
  const int times = peers_have_threads() ? 2 : 1;
  for (int i = 0; i < times; ++i) exchange_slot_uses(comm, of_all, {kNever, last_call_voted()});
}

void remember_decline(const Call& call, Room* room, Mark out, Mark in) noexcept {
  if (room->none_needed_until == 0) return;
  // With log, report or verification each call is reported, so none is declined early.
  if (is_watched(kAnyWatched)) return;
  room->last_declines[static_cast<size_t>(call.kind)] = {room->none_needed_until,
                                                         recycled_records(), out, in, call.root};
}

void close_room(Room* room) noexcept {
  for (LastRoom& last : g_last_rooms) {
    if (last.room == room) last.room = nullptr;
  }
  // A vote in a next call shows the others that this member has read.
  if (room->number >= 0 && room->last_done != 0 && room->last_done == room->call_number)
    vote_no(room, Call{Kind::kBcast}, room->call_number + 1);
}

bool give_up_if_left(Room* room) noexcept {
  if (room->number < 0) return true;
  const bool is_left =
      room->last_done == 0 ||
      std::all_of(room->members.begin(), room->members.end(), [&](const Member& member) {
        return has_begun_next(*room, member, room->last_done);
      });
  if (!is_left) return false;
  give_up(room->number);
  room->number = Room::kRefused;
  return true;
}

bool vote(Room* room, const Call& call, const OwnVote* own, bool* alive) noexcept {
  *alive = true;
  const uint64_t flags =
      own == nullptr ? 0 : kYes | (own->gaps ? kGaps : 0) | (own->enough ? kEnough : 0);
  cast_vote(*room, call, flags, own == nullptr ? 0 : own->offset);
  bool refused = own == nullptr;
  uint64_t all = 0;
  for (Member& member : room->members) member.has_voted = false;
  const uint32_t votes = count_votes();
  Waiter waiter(Wait::kVotes, *room, call.kind);
  const auto late = [&] {
    size_t i = 0;
    while (room->members[i].has_voted) ++i;
    return i;
  };
  // What the last wait has found. The votes are looked at once more, as what it found may have
  // come after them.
  bool member_left = false;
  bool has_died = false;
  for (size_t left = room->members.size(); left > 0 && !refused;) {
    const size_t before = left;
    for (Member& member : room->members) {
      if (member.has_voted) continue;
      const VoteSlot& theirs = slot(member.peer, *room, room->call_number);
      const bool takes_sample = member.peer != own_index() && is_sample_due(member.peer, votes);
      const auto begin = takes_sample ? DistanceClock::now() : DistanceClock::time_point();
      const uint64_t word = theirs.word.load(std::memory_order_acquire);
      if (call_number_of(word) < room->call_number) continue;
      if (takes_sample) record_sample(member.peer, DistanceClock::now() - begin);
      // A member that is in a later call has voted no in this one, or has read another's no.
      // One that has given up since has voted as it did.
      constexpr uint64_t kAny = kGaps | kEnough | kGaveUp;
      if ((word | kAny) != vote_word(room->call_number, call, kYes | kAny)) {
        refused = true;
        break;
      }
      member.has_voted = true;
      member.offset = theirs.offset.load(std::memory_order_relaxed);
      all |= word;
      --left;
    }
    if (left != before) {
      member_left = has_died = false;
    } else if (!refused) {
      if (has_died) {
        room->is_broken = true;
        *alive = false;
        return false;
      }
      refused = member_left;
      has_died = !waiter.wait(late);
      member_left = waiter.is_long() && has_left(room->members[late()].peer);
    }
  }
  const bool accepted = !refused && (all & kGaps) != 0 && (all & kEnough) != 0;
  if (accepted) room->last_done = room->call_number;
  record_vote(room, call, accepted, refused);
  return accepted;
}

void give_up_call(const Room& room) noexcept {
  room.own->slots[room.call_number % kVoteSlots].word.fetch_or(kGaveUp, std::memory_order_acq_rel);
}

// A slot is used again only when all have read it, or when some member has died
// (wait_for_readers()).
bool has_given_up(const Room& room, const Member& member) noexcept {
  const uint64_t word =
      slot(member.peer, room, room.call_number).word.load(std::memory_order_acquire);
  return call_number_of(word) != room.call_number || (word & kGaveUp) != 0;
}

bool any_has_given_up(const Room& room) noexcept {
  return std::any_of(room.members.begin(), room.members.end(),
                     [&](const Member& member) { return has_given_up(room, member); });
}

}  // namespace lacuna::direct
