// SPDX-License-Identifier: BSD-3-Clause
//
// Distance: how far the core of a peer is from this one, which decides how a payload crosses
// fastest (send.cpp, direct/rooms/window.cpp). No program knows where it runs, and guests are moved
// while they run; so receivers look now and then how long a line takes that the sender has just
// written, and say so when they mark the region done. In rooms each member looks at the others'
// votes.
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_DISTANCE_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_DISTANCE_HPP_

#include <bit>
#include <chrono>
#include <cstdint>

#include "interpose/direct/node/region.hpp"
#include "plan/plan.hpp"

namespace lacuna::direct {

enum class Distance : uint8_t { kUnknown, kClose, kFar };

// What a region's `done` is when the receiver needs it no more, and what it then says of itself.
inline constexpr uint32_t kDone = 1;
constexpr uint32_t done_from(Distance distance) noexcept {
  return kDone + static_cast<uint32_t>(distance);
}
// kUnknown: nothing is said.
constexpr Distance said_by(uint32_t done) noexcept {
  return done == done_from(Distance::kClose) ? Distance::kClose
         : done == done_from(Distance::kFar) ? Distance::kFar
                                             : Distance::kUnknown;
}

// The last eight looks. One alone says little: a core may be taken away in it, and a line may have
// been fetched before.
class Looks {
 public:
  constexpr Looks() noexcept = default;
  constexpr explicit Looks(uint32_t bits) noexcept : bits_(bits) {}
  constexpr uint32_t bits() const noexcept { return bits_; }
  constexpr Looks after(bool is_far) const noexcept {
    const uint32_t longer = bits_ << 1 | (is_far ? 1 : 0);
    return Looks((bits_ & kAll) != 0 ? (longer & (kAll - 1)) | kAll : longer);
  }
  // Whether the next look may wait: all have been alike.
  constexpr bool are_settled() const noexcept {
    return (bits_ & kAll) != 0 && (far() == 0 || far() == 8);
  }
  constexpr Distance distance() const noexcept {
    constexpr int kFew = 2;
    if ((bits_ & kAll) == 0) return Distance::kUnknown;
    return far() <= kFew       ? Distance::kClose
           : far() >= 8 - kFew ? Distance::kFar
                               : Distance::kUnknown;
  }

 private:
  constexpr int far() const noexcept { return std::popcount(bits_ & (kAll - 1)); }

  static constexpr uint32_t kAll = 1U << 8;  // there have been as many
  uint32_t bits_ = 1;                        // behind that, the last one lowest
};

// Where it was measured what distances are worth: on CPUs on which the C library's memcpy writes
// whole lines without reading them first.
inline bool minds_distance(const Machine& machine) noexcept {
  return machine.memcpy_writes_whole_lines;
}
inline bool minds_distance(const Plan& plan) noexcept { return minds_distance(plan.machine()); }

// Of messages of a sender, or of votes: how many there have been says whether to look along.
// Seldom, as the clock takes its time; more often where a peer has just come nearer, or gone away.
bool is_look_due(uint32_t peer, uint32_t times) noexcept;

using LookClock = std::chrono::steady_clock;
// By who has waited for a word that a peer has written: so long the load took that has found it.
void see(uint32_t peer, LookClock::duration took) noexcept;

// By a receiver, before it touches anything else of a region whose token it has: looks now and
// then. What it has to say to the sender; kUnknown: nothing new.
Distance look_along(const Region& region, uint32_t sender) noexcept;
// What this process has seen itself of a peer. `token`: its number (see below), or of a turn.
Distance distance_from(uint32_t peer, uint64_t token) noexcept;

// By a sender: what the receiver of a token has said, and what was said last.
void hear(uint64_t token, Distance distance) noexcept;
Distance distance_to(uint64_t token) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_DISTANCE_HPP_
