// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/room.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/arena/distance.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/repeat_decline.hpp"
#include "interpose/direct/rooms/seat.hpp"
#include "interpose/direct/rooms/waiter.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/types/record.hpp"
#include "machine/machine.hpp"

namespace lacuna::direct {
namespace {

constexpr int kRooms = kSeatBytes / sizeof(Row);
static_assert(kRooms == 32);

// A bit for each set of seats that this process uses.
constinit std::atomic<uint32_t> g_used{0};
constexpr uint32_t kAllUsed = ~uint32_t{0};

constinit std::atomic<uint32_t> g_votes{0};

// Votes so far, with this one (for is_look_due()). A vote has just been written by another core, so
// the load that finds it takes as long as a cache line takes from there, however long was waited.
uint32_t count_votes() noexcept {
  const uint32_t votes = g_votes.load(std::memory_order_relaxed) + 1;
  g_votes.store(votes, std::memory_order_relaxed);
  return votes;
}

std::byte* arena_of(uint32_t member) noexcept {
  return member == own_index() ? own_arena() : peer_at(member)->arena.begin;
}

Row& row(uint32_t member, int number) noexcept {
  return reinterpret_cast<Row*>(arena_of(member))[number];
}

Seat& seat(uint32_t member, const Room& room, uint64_t turn) noexcept {
  return row(member, room.number).seats[turn % kSeats];
}

uint64_t turn_of(uint64_t word) noexcept { return word >> kTurnShift; }

constexpr uint64_t kEver = std::numeric_limits<uint64_t>::max();
constexpr int kMostInVain = 4;
constexpr uint64_t kMostPassed = 1024;

Habit& habit_of(Room* room, const Call& call) noexcept {
  return room->habits[call.is_plain ? 1 : 0][static_cast<size_t>(call.kind)];
}

void record_vote(Room* room, const Call& call, bool taken, bool refused) noexcept {
  Habit& habit = habit_of(room, call);
  habit.is_small = !refused;
  if (taken) {
    habit.vain = 0;
    habit.next_pass = Habit::kFirstPass;
  } else if (++habit.vain >= kMostInVain) {
    habit.closed_until = (room->turn / habit.next_pass + 1) * habit.next_pass;
    habit.next_pass = std::min(2 * habit.next_pass, kMostPassed);
  }
}

// The last turn of any room of this process: each turn is written to some seat. A new room begins
// after the last turn of all members, so that an old vote is never taken for a new one.
uint64_t last_turn_said() noexcept {
  uint64_t last = 0;
  for (int number = 0; number < kRooms; ++number) {
    for (const Seat& said : row(own_index(), number).seats)
      last = std::max(last, turn_of(said.word.load(std::memory_order_relaxed)));
  }
  return last;
}

// Marks a set of seats as used. False: it was in use.
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
bool exchange_offers(MPI_Comm comm, Offer* of_all, const Offer& own) noexcept {
  const bool ok = next_functions().MPI_Allgather(&own, sizeof(own), MPI_BYTE, of_all, sizeof(own),
                                                 MPI_BYTE, comm) == MPI_SUCCESS;
  if (!ok) leave_rooms();
  return ok;
}

constexpr uint64_t kLostRace = 0;
constexpr uint64_t kMine = 1;
constexpr uint64_t kNever = kAllUsed;

uint64_t last_turn_of(const std::vector<Offer>& offers) noexcept {
  uint64_t last = 0;
  for (const Offer& offer : offers) last = std::max(last, offer.last_turn);
  return last;
}

// The first set of seats that is free in all arenas; kRooms: none.
int free_number(const std::vector<Offer>& offers) noexcept {
  uint64_t used = 0;
  for (const Offer& offer : offers) used |= offer.used;
  return std::countr_one(used);
}

// Finds a set of seats that is free in all arenas. If some peer has threads, another thread may
// take the set for another room in the meantime. So all tell whether they got it; if not all did,
// the next call tries again. Whatever happens, all ranks make the same number of collective calls.
void agree_on_number(MPI_Comm comm, Room* room) noexcept {
  const int tries = room->number;
  room->number = Room::kRefused;
  const bool left = g_left.load(std::memory_order_relaxed);
  const uint32_t used = left ? kAllUsed : g_used.load(std::memory_order_acquire);
  std::vector<Offer>& offers = room->offers;
  const bool told = exchange_offers(comm, offers.data(), {used, last_turn_said()});
  const int number = told ? free_number(offers) : kRooms;
  const bool is_mine = number < kRooms && claim(number);
  if (told) room->turn = last_turn_of(offers);
  if (peers_have_threads()) {
    const uint64_t got = is_mine ? kMine : number < kRooms ? kLostRace : kNever;
    // The last turns again, as other threads may have begun turns since the first exchange.
    const bool told_again = exchange_offers(comm, offers.data(), {got, last_turn_said()});
    const auto say = [](uint64_t word) {
      return [word](const Offer& offer) { return offer.used == word; };
    };
    if (!told_again || !std::all_of(offers.begin(), offers.end(), say(kMine))) {
      if (is_mine) give_up(number);
      const bool again = told_again && tries > Room::kLastTry &&
                         std::none_of(offers.begin(), offers.end(), say(kNever));
      if (again) room->number = tries - 1;
      return;
    }
    room->turn = std::max(room->turn, last_turn_of(offers));
  }
  if (!is_mine) return;
  room->number = number;
  room->own = &row(own_index(), number);
}

// A member that has voted in a later turn has read the votes of this one.
bool has_passed(const Room& room, const Member& member, uint64_t turn) noexcept {
  return turn_of(seat(member.peer, room, turn + 1).word.load(std::memory_order_acquire)) > turn;
}

// Waits before seats are reused that hold the votes of a turn that was done in the room: all
// members must have read them.
void wait_for_readers(Room* room, const Call& call) noexcept {
  Waiter waiter(Wait::kReaders, *room, call.kind);
  for (const Member& member : room->members) {
    const auto late = [&] { return static_cast<size_t>(&member - room->members.data()); };
    while (!has_passed(*room, member, room->taken)) {
      if (!waiter.wait(late)) return;
    }
  }
}

constexpr double kAnyRun = std::numeric_limits<double>::infinity();

// Thresholds, all but Intel MPI's where windows are in a long round of the arena. Measured with two
// ranks: docs/experiments/2026-11-27-room-thresholds.md. Where peers do not read each other's
// memory, long runs are two copies, and Open MPI and Intel MPI may be faster.
Gain of_any(Kind kind, Flavour flavour, bool has_long_rounds) noexcept {
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
Gain of_intel(Kind kind, bool is_far) noexcept {
  switch (kind) {
    case Kind::kBcast:
      return {4 << 10, kAnyRun, 16 << 10};
    case Kind::kGather:
    case Kind::kGatherv:
      return is_far ? Gain{1 << 10, kAnyRun, 4 << 10} : Gain{256, kAnyRun};
    case Kind::kScatter:
    case Kind::kScatterv:
      return {is_far ? 4 << 10 : 1 << 10, kAnyRun, 4 << 10};
    case Kind::kAllgather:
    case Kind::kAllgatherv:
      return is_far ? Gain{4 << 10, Gain::kLongRun} : Gain{1 << 10, kAnyRun, 16 << 10};
    case Kind::kAlltoall:
    case Kind::kAlltoallv:
    case Kind::kAlltoallw:
      return is_far ? Gain{1 << 10, kAnyRun, 4 << 10} : Gain{256, kAnyRun};
    default:
      return is_far ? Gain{4 << 10, Gain::kLongRun} : Gain{1 << 10, kAnyRun};
  }
}

}  // namespace

void leave_rooms() noexcept {
  g_left.store(true, std::memory_order_relaxed);
  token_page(own_arena()).left_rooms.store(1, std::memory_order_release);
}

constinit LastRoom g_last_rooms[1U << kLastRoomBits] = {};

Gain gain_of(const Room& room, Kind kind) noexcept {
  const Flavour flavour = runtime().flavour;
  const bool has_long_rounds = minds_distance(machine());
  if (flavour != Flavour::kIntelMpi || !has_long_rounds)
    return of_any(kind, flavour, has_long_rounds);
  const bool is_far =
      std::any_of(room.members.begin(), room.members.end(), [&](const Member& member) {
        return distance_from(member.peer, room.turn) == Distance::kFar;
      });
  return of_intel(kind, is_far);
}

Door enter_room(MPI_Comm comm, Room* room, const Call& call, int64_t bytes) noexcept {
  const bool is_due = bytes >= (runtime().always ? 0 : gain_of(*room, call.kind).least_bytes);
  // Even if the bytes are few: a rank may not know its type's size yet, if another thread is just
  // decoding it.
  if (room->number <= Room::kUnasked) agree_on_number(comm, room);
  if (room->number < 0) return Door::kClosed;
  ++room->turn;
  if (room->taken != 0 && room->turn >= room->taken + kSeats) {
    wait_for_readers(room, call);
    room->taken = 0;
  }
  const Habit& habit = habit_of(room, call);
  const bool is_on = is_open(kCollectiveSwitch) && !g_left.load(std::memory_order_relaxed);
  const bool is_open_now = is_due && is_on;
  room->shut_until = 0;
  if (is_open_now && room->turn >= habit.closed_until) return Door::kOpen;
  if (is_on && bytes >= 0) room->shut_until = is_due ? habit.closed_until : kEver;
  say(*room, call, 0, 0);
  // For other calls the gate has checked the types already.
  const bool has_types = call.kind == Kind::kAlltoallw || call.kind == Kind::kNeighborAlltoallw;
  return has_types && is_open_now && habit.is_small ? Door::kPassed : Door::kClosed;
}

void refuse_room(MPI_Comm comm, Offer* of_all) noexcept {
  const int times = peers_have_threads() ? 2 : 1;
  for (int i = 0; i < times; ++i) exchange_offers(comm, of_all, {kNever, last_turn_said()});
}

void remember_passed(const Call& call, Room* room, Mark out, Mark in) noexcept {
  if (room->shut_until == 0) return;
  // With log, report or verification each call is reported, so none is declined early.
  if (is_watched(kAnyWatched)) return;
  room->passed[static_cast<size_t>(call.kind)] = {room->shut_until, recycled_records(), out, in,
                                                  call.root};
}

void close_room(Room* room) noexcept {
  for (LastRoom& last : g_last_rooms) {
    if (last.room == room) last.room = nullptr;
  }
  // A vote in a next turn tells the others that this member has read.
  if (room->number >= 0 && room->taken != 0 && room->taken == room->turn)
    begin_with_no(room, Call{Kind::kBcast}, room->turn + 1);
}

bool give_up_if_left(Room* room) noexcept {
  if (room->number < 0) return true;
  const bool is_left =
      room->taken == 0 ||
      std::all_of(room->members.begin(), room->members.end(),
                  [&](const Member& member) { return has_passed(*room, member, room->taken); });
  if (!is_left) return false;
  give_up(room->number);
  room->number = Room::kRefused;
  return true;
}

bool vote(Room* room, const Call& call, const Ballot* own, bool* alive) noexcept {
  *alive = true;
  const uint64_t said =
      own == nullptr ? 0 : kYes | (own->gaps ? kGaps : 0) | (own->enough ? kEnough : 0);
  say(*room, call, said, own == nullptr ? 0 : own->offset);
  bool refused = own == nullptr;
  uint64_t all = 0;
  for (Member& member : room->members) member.heard = false;
  const uint32_t votes = count_votes();
  Waiter waiter(Wait::kVotes, *room, call.kind);
  const auto late = [&] {
    size_t i = 0;
    while (room->members[i].heard) ++i;
    return i;
  };
  // What the last wait has found. The votes are looked at once more, as what it found may have
  // come after them.
  bool is_in_vain = false;
  bool has_died = false;
  for (size_t left = room->members.size(); left > 0 && !refused;) {
    const size_t before = left;
    for (Member& member : room->members) {
      if (member.heard) continue;
      const Seat& theirs = seat(member.peer, *room, room->turn);
      const bool looks = member.peer != own_index() && is_look_due(member.peer, votes);
      const auto begin = looks ? LookClock::now() : LookClock::time_point();
      const uint64_t word = theirs.word.load(std::memory_order_acquire);
      if (turn_of(word) < room->turn) continue;
      if (looks) see(member.peer, LookClock::now() - begin);
      // A member that is in a later turn has voted no in this one, or has read another's no.
      // One that has given up since has voted as it did.
      constexpr uint64_t kAny = kGaps | kEnough | kGaveUp;
      if ((word | kAny) != word_of(room->turn, call, kYes | kAny)) {
        refused = true;
        break;
      }
      member.heard = true;
      member.offset = theirs.offset.load(std::memory_order_relaxed);
      all |= word;
      --left;
    }
    if (left != before) {
      is_in_vain = has_died = false;
    } else if (!refused) {
      if (has_died) {
        room->is_broken = true;
        *alive = false;
        return false;
      }
      refused = is_in_vain;
      has_died = !waiter.wait(late);
      is_in_vain = waiter.is_long() && has_left(room->members[late()].peer);
    }
  }
  const bool taken = !refused && (all & kGaps) != 0 && (all & kEnough) != 0;
  if (taken) room->taken = room->turn;
  record_vote(room, call, taken, refused);
  return taken;
}

void give_up_call(const Room& room) noexcept {
  room.own->seats[room.turn % kSeats].word.fetch_or(kGaveUp, std::memory_order_acq_rel);
}

// A seat is used again only when all have read it, or when some member has died
// (wait_for_readers()).
bool has_given_up(const Room& room, const Member& member) noexcept {
  const uint64_t word = seat(member.peer, room, room.turn).word.load(std::memory_order_acquire);
  return turn_of(word) != room.turn || (word & kGaveUp) != 0;
}

bool any_has_given_up(const Room& room) noexcept {
  return std::any_of(room.members.begin(), room.members.end(),
                     [&](const Member& member) { return has_given_up(room, member); });
}

}  // namespace lacuna::direct
