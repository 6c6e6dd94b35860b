// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/room.hpp"

#include <sched.h>

#include <algorithm>
#include <new>

#include "interpose/direct/arena.hpp"
#include "interpose/direct/peers.hpp"
#include "interpose/gate.hpp"
#include "interpose/next.hpp"
#include "interpose/runtime.hpp"

namespace lacuna::direct {
namespace {

// Two of them for each room: a member can be at most one turn ahead of another, who may still be
// reading what it said in the turn before.
struct Seat {
  alignas(kLine) std::atomic<uint64_t> turn;
  Said said;
};
constexpr int kRooms = kSeatBytes / (2 * sizeof(Seat));
static_assert(kRooms == 32);

// By their numbers; and the last turn there was in any, so that what is left on a seat is never
// taken for new.
constinit uint32_t g_used = 0;
constinit uint64_t g_last_turn = 0;

Seat& seat(std::byte* arena, int number, uint64_t turn) noexcept {
  return reinterpret_cast<Seat*>(arena)[2 * number + static_cast<int>(turn & 1)];
}

std::byte* arena_of(uint32_t member) noexcept {
  return member == own_index() ? own_arena() : peer_at(member)->arena;
}

// What the library is faster with: Open MPI's exchanges of 64, 256 and 1024 bytes take 0.6, 0.8 and
// 1.2 us between two ranks, MPICH's 1.5, 2.3 and 3 us, Intel MPI's 0.9, 1.2 and 1.6 us, these 1.1
// us.
int64_t least_bytes() noexcept { return runtime().flavour == Flavour::kOpenMpi ? 1024 : 128; }

// Votes take time. Where they have been in vain a few times, the members go without for a while,
// which grows.
constexpr int kMostInVain = 4;
constexpr int kMostPassed = 1024;

void learn(Room* room, bool taken) noexcept {
  if (taken) {
    room->vain = 0;
    room->next_pass = Room::kFirstPass;
  } else if (++room->vain >= kMostInVain) {
    room->pass = room->next_pass;
    room->next_pass = std::min(2 * room->next_pass, kMostPassed);
  }
}

// Threads could come to two rooms at once and find the same number.
void agree_on_number(MPI_Comm comm, Room* room) noexcept {
  const Offer own{g_gate.threads ? ~uint64_t{0} : g_used, g_last_turn};
  room->number = Room::kRefused;
  if (next_functions().MPI_Allgather(&own, sizeof(own), MPI_BYTE, room->offers.data(), sizeof(own),
                                     MPI_BYTE, comm) != MPI_SUCCESS) {
    return;
  }
  uint64_t used = 0;
  for (const Offer& offer : room->offers) {
    used |= offer.used;
    room->turn = std::max(room->turn, offer.last_turn);
  }
  for (int number = 0; number < kRooms; ++number) {
    if ((used >> number & 1) != 0) continue;
    room->number = number;
    g_used |= uint32_t{1} << number;
    return;
  }
}

}  // namespace

Room* enter_room(MPI_Comm comm) noexcept {
  Room* room = room_on(comm);
  if (room == nullptr) return nullptr;
  if (room->number == Room::kUnasked) agree_on_number(comm, room);
  if (room->number < 0) return nullptr;
  if (room->pass > 0) {
    --room->pass;
    return nullptr;
  }
  return room;
}

bool is_passed(MPI_Comm comm) noexcept {
  Room* room = known_room(comm);
  if (room == nullptr || room->pass == 0 || !room->is_small) return false;
  --room->pass;
  return true;
}

void close_room(Room* room) noexcept {
  if (room->number >= 0) g_used &= ~(uint32_t{1} << room->number);
  room->number = Room::kRefused;
}

bool Patience::wait() noexcept {
  constexpr int kSpins = 1000;
  constexpr int kAsks = 1 << 14;
  if (++rounds_ % kSpins != 0) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    return true;
  }
  let_library_work();
  sched_yield();
  if (rounds_ / kSpins < kAsks) return true;
  rounds_ = 0;
  return std::none_of(room_.members.begin(), room_.members.end(), [](const Member& member) {
    return member.peer != own_index() && has_ended(peer_at(member.peer)->pid);
  });
}

bool vote(Room* room, const Said& own, bool* alive) noexcept {
  const uint64_t turn = ++room->turn;
  g_last_turn = std::max(g_last_turn, turn);
  Seat& mine = seat(own_arena(), room->number, turn);
  mine.said = own;
  mine.turn.store(turn, std::memory_order_release);
  bool wanted = false;
  bool refused = false;
  int64_t most_bytes = 0;
  Patience patience(*room);
  *alive = true;
  for (Member& member : room->members) {
    const Seat& theirs = seat(arena_of(member.peer), room->number, turn);
    while (theirs.turn.load(std::memory_order_acquire) != turn) {
      *alive = patience.wait();
      if (!*alive) return false;
    }
    member.said = theirs.said;
    wanted = wanted || member.said.vote == Vote::kWants;
    refused = refused || member.said.vote == Vote::kNo;
    most_bytes = std::max(most_bytes, member.said.most_bytes);
  }
  const bool taken = wanted && !refused && most_bytes >= least_bytes();
  room->is_small = !refused;
  learn(room, taken);
  return taken;
}

}  // namespace lacuna::direct
