// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/room.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "interpose/direct/node/arena.hpp"
#include "interpose/direct/node/distance.hpp"
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

// By their numbers.
constinit std::atomic<uint32_t> g_used{0};
constexpr uint32_t kAllUsed = ~uint32_t{0};

constinit std::atomic<uint32_t> g_votes{0};

// With this one. What a seat says was just written elsewhere, and the load that finds it takes what
// a line takes from there, however long it was waited for.
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

void learn(Room* room, const Call& call, bool taken, bool refused) noexcept {
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

// The last turn there was in any room of this process, as all are said on some seat. A new room
// begins behind that of all members, so that what is left on a seat is never taken for new.
uint64_t last_turn_said() noexcept {
  uint64_t last = 0;
  for (int number = 0; number < kRooms; ++number) {
    for (const Seat& said : row(own_index(), number).seats)
      last = std::max(last, turn_of(said.word.load(std::memory_order_relaxed)));
  }
  return last;
}

// Whether it was free in this process.
bool claim(int number) noexcept {
  const uint32_t bit = uint32_t{1} << number;
  return (g_used.fetch_or(bit, std::memory_order_acq_rel) & bit) == 0;
}

void give_up(int number) noexcept {
  g_used.fetch_and(~(uint32_t{1} << number), std::memory_order_release);
}

// Set in a rank that votes no in all communicators from now on. Its own flag is kept here, too:
// each collective call reads it, and peers write to the cache line of the one in the arena.
constinit std::atomic<bool> g_left{false};
bool has_left(uint32_t member) noexcept {
  return token_page(arena_of(member)).left_rooms.load(std::memory_order_acquire) != 0;
}
void leave_rooms() noexcept {
  g_left.store(true, std::memory_order_relaxed);
  token_page(own_arena()).left_rooms.store(1, std::memory_order_release);
}

// Tells all members, and learns what they tell. Where that fails here, it may have succeeded
// elsewhere: the others then have a room, in which they would wait for this rank.
bool tell(MPI_Comm comm, Offer* of_all, const Offer& own) noexcept {
  const bool ok = next_functions().MPI_Allgather(&own, sizeof(own), MPI_BYTE, of_all, sizeof(own),
                                                 MPI_BYTE, comm) == MPI_SUCCESS;
  if (!ok) leave_rooms();
  return ok;
}

constexpr uint64_t kNotNow = 0;
constexpr uint64_t kMine = 1;
constexpr uint64_t kNever = kAllUsed;

uint64_t last_turn_of(const std::vector<Offer>& offers) noexcept {
  uint64_t last = 0;
  for (const Offer& offer : offers) last = std::max(last, offer.last_turn);
  return last;
}

// The first number that is free in all arenas; kRooms: none is.
int free_number(const std::vector<Offer>& offers) noexcept {
  uint64_t used = 0;
  for (const Offer& offer : offers) used |= offer.used;
  return std::countr_one(used);
}

// One that is free in all arenas. Where some peer has threads, another thread may have taken it
// meanwhile, for another room: so they tell each other whether they have got it, and if not all
// have, it is tried again at the next call. Whatever happens, all tell as often.
void agree_on_number(MPI_Comm comm, Room* room) noexcept {
  const int tries = room->number;
  room->number = Room::kRefused;
  const bool left = g_left.load(std::memory_order_relaxed);
  const uint32_t used = left ? kAllUsed : g_used.load(std::memory_order_acquire);
  std::vector<Offer>& offers = room->offers;
  const bool told = tell(comm, offers.data(), {used, last_turn_said()});
  const int number = told ? free_number(offers) : kRooms;
  const bool is_mine = number < kRooms && claim(number);
  if (told) room->turn = last_turn_of(offers);
  if (peers_have_threads()) {
    const uint64_t got = is_mine ? kMine : number < kRooms ? kNotNow : kNever;
    // The last turns once more: what is on the seats now is from before.
    const bool told_again = tell(comm, offers.data(), {got, last_turn_said()});
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

// Who has said something in a later turn has read what was said in this one.
bool has_passed(const Room& room, const Member& member, uint64_t turn) noexcept {
  return turn_of(seat(member.peer, room, turn + 1).word.load(std::memory_order_acquire)) > turn;
}

// A seat on which something was said that was taken is used again when everybody has read it.
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

// Two ranks, runs of 8 bytes to 32 KiB with gaps as long (`lacuna-bench-collectives`). With 4 KiB
// MPICH takes 1.95 to 25 times as long, Open MPI 1.5 to 3, and Intel MPI, whose MPI_Bcast and
// MPI_Gather of 4 KiB are faster by up to 1.9 times, 1 to 4.7; Intel MPI's copies of long runs go
// once between the caches, so that its exchanges among neighbours are as fast from 512 bytes on,
// and the others from 4 KiB. (On Zen 5 Intel MPI's MPI_Gather and MPI_Allgather of 512-byte runs
// are faster by 1.3 to 2.3 times from 4 KiB on, which is why they are left from there.) Open MPI's
// MPI_Alltoallw of 64, 256 and 1024 bytes takes 0.6, 0.8 and 1.2 us, MPICH's 1.5, 2.3 and 3 us,
// Intel MPI's 0.9, 1.2 and 1.6 us, these 1.1 us. (On Zen 5 Open MPI's of 1 KiB takes 1.35 us in
// runs of 8 bytes and 0.45 in runs of 512, these 0.5 to 0.6.)
//
// Where peers do not read each other's memory, long runs are two copies: then, on Zen 5, Open MPI's
// exchanges of 4 KiB runs were faster by 1.2 to 1.8 times (those of 512 bytes slower by 1.2 to 2),
// Intel MPI's of 512 bytes and 4 KiB by 1.3 to 1.8, while MPICH's take 1.2 to 4 times as long.
// Since windows go round as far as the second level does not reach (arena.cpp), on Zen 4, Open
// MPI's take 1.2 to 3.1 times as long in runs of 4 KiB, 16 and 64 KiB of them.
//
// But for Intel MPI's where windows go far round.
Gain of_any(Kind kind, Flavour flavour, bool goes_far_round) noexcept {
  const double most_run = peers_read()                                      ? kAnyRun
                          : flavour == Flavour::kOpenMpi && !goes_far_round ? 2048
                          : flavour == Flavour::kIntelMpi                   ? 256
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

// Intel MPI's, where they do, since pieces are large (exchange.cpp). How many times as
// long it takes alone, Zen 4, two ranks, peers' memory not read, runs of 8 / 512 / 4096 bytes, from
// close by: MPI_Alltoallw 256 bytes 2.1, 1 KiB 3.9 / 1.6, 4 KiB 5.2 / 1.6, 64 KiB 16 / 1.8 / 1.5;
// MPI_Allgather 1 KiB 1.5 / 1.1, 4 KiB 2.3 / 1.1, 64 KiB 3.7 / 1.5 / 1.4; MPI_Neighbor_alltoall 1
// KiB 2.2 / 1.4, 64 KiB 11 / 1.5 / 1.3; MPI_Gather 1 KiB 4.4 / 2.3, 64 KiB 14 / 2.2 / 2.8;
// MPI_Bcast 1 KiB 1.1 / 0.9, 4 KiB 1.4 / 0.9, 16 KiB 2.8 / 1.8 / 1.6; MPI_Scatter 1 KiB 1.8 / 1.1,
// 4 KiB 2.5 / 1.2, 16 KiB 7.5 / 1.5 / 1.4. From afar: MPI_Alltoallw 256 bytes 1.06, 1 KiB 1.5 /
// 0.9, 4 KiB 2.9 / 1.1, 64 KiB 9 / 1.1 / 1.03; MPI_Allgather 1 KiB 0.7 / 0.6, 4 KiB 1.3 / 0.8, 64
// KiB 2.2 / 0.9 / 0.93; MPI_Neighbor_alltoall 1 KiB 1.0 / 0.65, 4 KiB 1.7 / 0.9, 64 KiB 6 / 0.9 /
// 0.8; MPI_Gather 1 KiB 1.6 / 0.9, 4 KiB 3.8 / 1.25, 64 KiB 9 / 4.4 / 4.4; MPI_Bcast 1 KiB 0.6, 4
// KiB 1.5 / 1.3, 64 KiB 3.3 / 2.9 / 2.8; MPI_Scatter 1 KiB 0.95 / 0.65, 4 KiB 1.9 / 1.25, 16 KiB 4
// / 2 / 2.
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

constinit LastRoom g_last_rooms[1U << kLastRoomBits] = {};

Gain gain_of(const Room& room, Kind kind) noexcept {
  const Flavour flavour = runtime().flavour;
  const bool goes_far_round = minds_distance(machine());
  if (flavour != Flavour::kIntelMpi || !goes_far_round)
    return of_any(kind, flavour, goes_far_round);
  const bool is_far =
      std::any_of(room.members.begin(), room.members.end(), [&](const Member& member) {
        return distance_from(member.peer, room.turn) == Distance::kFar;
      });
  return of_intel(kind, is_far);
}

Door enter_room(MPI_Comm comm, Room* room, const Call& call, int64_t bytes) noexcept {
  const bool is_due = bytes >= (runtime().always ? 0 : gain_of(*room, call.kind).least_bytes);
  // Whatever the bytes: a rank may not know its type just now, where threads learn types.
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
  // Of other calls the gate knows the types.
  const bool has_types = call.kind == Kind::kAlltoallw || call.kind == Kind::kNeighborAlltoallw;
  return has_types && is_open_now && habit.is_small ? Door::kPassed : Door::kClosed;
}

void refuse_room(MPI_Comm comm, Offer* of_all) noexcept {
  const int times = peers_have_threads() ? 2 : 1;
  for (int i = 0; i < times; ++i) tell(comm, of_all, {kNever, last_turn_said()});
}

void remember_passed(const Call& call, Room* room, Mark out, Mark in) noexcept {
  if (room->shut_until == 0) return;
  // Who wants to see calls is told of each.
  if (is_watched(kAnyWatched)) return;
  room->passed[static_cast<size_t>(call.kind)] = {room->shut_until, recycled_records(), out, in,
                                                  call.root};
}

void close_room(Room* room) noexcept {
  for (LastRoom& last : g_last_rooms) {
    if (last.room == room) last.room = nullptr;
  }
  // As in the next turn: this member has read.
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
  bool is_in_vain = false;
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
      // Who is ahead has said no, or has been told it by another one.
      if ((word | kGaps | kEnough) != word_of(room->turn, call, kYes | kGaps | kEnough)) {
        refused = true;
        break;
      }
      member.heard = true;
      member.offset = theirs.offset.load(std::memory_order_relaxed);
      all |= word;
      --left;
    }
    if (left != before) {
      is_in_vain = false;
    } else if (!refused) {
      refused = is_in_vain;  // what it said before it left has been looked for once more
      *alive = waiter.wait(late);
      if (!*alive) return false;
      is_in_vain = waiter.is_long() && has_left(room->members[late()].peer);
    }
  }
  const bool taken = !refused && (all & kGaps) != 0 && (all & kEnough) != 0;
  if (taken) room->taken = room->turn;
  learn(room, call, taken, refused);
  return taken;
}

}  // namespace lacuna::direct
