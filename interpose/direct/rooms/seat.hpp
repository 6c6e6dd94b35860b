// SPDX-License-Identifier: BSD-3-Clause
//
// Seat: where a member of a room writes its vote for one collective call, for the others to read.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_SEAT_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_SEAT_HPP_

#include <atomic>
#include <cstdint>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/rooms/room.hpp"
#include "interpose/library/gate.hpp"

namespace lacuna::direct {

// A vote is one word: the turn, the root, the kind of call, and these flags.
inline constexpr uint64_t kYes = 1;
inline constexpr uint64_t kGaps = 2;
inline constexpr uint64_t kEnough = 4;
inline constexpr uint64_t kGaveUp = 8;  // after the vote (give_up_call())
inline constexpr int kCallShift = 4;
inline constexpr int kRootShift = 8;
inline constexpr int kTurnShift = 24;
static_assert(kKinds <= 1 << (kRootShift - kCallShift));

struct Seat {
  std::atomic<uint64_t> word;
  std::atomic<int64_t> offset;
};
// Seats are reused every eight turns: a member may be some turns ahead of another that is still
// reading its votes.
inline constexpr uint64_t kSeats = 8;
struct Row {
  alignas(kLine) Seat seats[kSeats];
};

__attribute__((always_inline)) inline uint64_t word_of(uint64_t turn, const Call& call,
                                                       uint64_t said) noexcept {
  const auto kind = static_cast<uint64_t>(call.kind);
  const uint64_t root = static_cast<uint64_t>(call.root) & 0xffff;
  return turn << kTurnShift | root << kRootShift | kind << kCallShift | said;
}

inline void say(const Room& room, const Call& call, uint64_t said, int64_t offset) noexcept {
  Seat& mine = room.own->seats[room.turn % kSeats];
  mine.offset.store(offset, std::memory_order_relaxed);
  mine.word.store(word_of(room.turn, call, said), std::memory_order_release);
}

// Begins the next turn with a no. `offset` is left as it is: nobody reads it after a no.
__attribute__((always_inline)) inline void begin_with_no(Room* room, const Call& call,
                                                         uint64_t turn) noexcept {
  room->turn = turn;
  room->own->seats[turn % kSeats].word.store(word_of(turn, call, 0), std::memory_order_release);
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_SEAT_HPP_
