// SPDX-License-Identifier: BSD-3-Clause
//
// VoteSlot: where a member of a room writes its vote for one collective call, for the others to
// read.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_VOTE_SLOT_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_VOTE_SLOT_HPP_

#include <atomic>
#include <cstdint>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/rooms/room.hpp"
#include "interpose/library/gate.hpp"

namespace lacuna::direct {

// A vote is one word: the number of the call, the root, the kind of call, and these flags.
inline constexpr uint64_t kYes = 1;
inline constexpr uint64_t kGaps = 2;
inline constexpr uint64_t kEnough = 4;
inline constexpr uint64_t kGaveUp = 8;  // after the vote (give_up_call())
inline constexpr int kKindShift = 4;
inline constexpr int kRootShift = 8;
inline constexpr int kNumberShift = 24;
static_assert(kKinds <= 1 << (kRootShift - kKindShift));

struct VoteSlot {
  std::atomic<uint64_t> word;
  std::atomic<int64_t> offset;
};
// Slots are reused every eight calls: a member may be some calls ahead of another that is still
// reading its votes.
inline constexpr uint64_t kVoteSlots = 8;
struct VoteSlots {
  alignas(kLine) VoteSlot slots[kVoteSlots];
};

__attribute__((always_inline)) inline uint64_t vote_word(uint64_t call_number, const Call& call,
                                                         uint64_t flags) noexcept {
  const auto kind = static_cast<uint64_t>(call.kind);
  const uint64_t root = static_cast<uint64_t>(call.root) & 0xffff;
  return call_number << kNumberShift | root << kRootShift | kind << kKindShift | flags;
}

inline void cast_vote(const Room& room, const Call& call, uint64_t flags, int64_t offset) noexcept {
  VoteSlot& mine = room.own->slots[room.call_number % kVoteSlots];
  mine.offset.store(offset, std::memory_order_relaxed);
  mine.word.store(vote_word(room.call_number, call, flags), std::memory_order_release);
}

// Begins the next call with a no. `offset` is left as it is: nobody reads it after a no.
__attribute__((always_inline)) inline void vote_no(Room* room, const Call& call,
                                                   uint64_t call_number) noexcept {
  room->call_number = call_number;
  room->own->slots[call_number % kVoteSlots].word.store(vote_word(call_number, call, 0),
                                                        std::memory_order_release);
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_VOTE_SLOT_HPP_
