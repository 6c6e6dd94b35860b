// SPDX-License-Identifier: BSD-3-Clause
//
// Distance: how far the core of a peer is from this one, which decides how a payload is copied
// (messages/send.cpp, rooms/window.cpp). The cores are not known in advance, and a virtual machine
// may move while it runs. So receivers now and then time the load of a line that the sender has
// just written, and return the result in the mark that frees the region. In rooms each member times
// the load of the others' votes.
#ifndef LACUNA_INTERPOSE_DIRECT_ARENA_DISTANCE_HPP_
#define LACUNA_INTERPOSE_DIRECT_ARENA_DISTANCE_HPP_

#include <bit>
#include <chrono>
#include <cstdint>

#include "interpose/direct/arena/region.hpp"
#include "plan/plan.hpp"

namespace lacuna::direct {

enum class Distance : uint8_t { kUnknown, kClose, kFar };

// A region's `done`: kDone, plus the distance if the receiver reports one.
inline constexpr uint32_t kDone = 1;
constexpr uint32_t done_with(Distance distance) noexcept {
  return kDone + static_cast<uint32_t>(distance);
}
// kUnknown: the mark carries no distance.
constexpr Distance distance_in(uint32_t done) noexcept {
  return done == done_with(Distance::kClose) ? Distance::kClose
         : done == done_with(Distance::kFar) ? Distance::kFar
                                             : Distance::kUnknown;
}

// The last eight measurements. One alone is not reliable: the core may be preempted
// during it, and the line may be in the cache already.
class DistanceSamples {
 public:
  constexpr DistanceSamples() noexcept = default;
  constexpr explicit DistanceSamples(uint32_t bits) noexcept : bits_(bits) {}
  constexpr uint32_t bits() const noexcept { return bits_; }
  constexpr DistanceSamples after(bool is_far) const noexcept {
    const uint32_t longer = bits_ << 1 | (is_far ? 1 : 0);
    return DistanceSamples((bits_ & kAll) != 0 ? (longer & (kAll - 1)) | kAll : longer);
  }
  // All eight agree, so that measuring less often is enough.
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

  static constexpr uint32_t kAll = 1U << 8;  // set once there are eight
  uint32_t bits_ = 1;  // a marker bit, then 1 for each measurement of a far core, newest lowest
};

// Whether the distance matters: on CPUs whose C library memcpy writes whole lines without reading
// them first (string instructions). Only there was it measured.
inline bool depends_on_distance(const Machine& machine) noexcept {
  return machine.memcpy_writes_whole_lines;
}
inline bool depends_on_distance(const Plan& plan) noexcept {
  return depends_on_distance(plan.machine());
}

// Whether to measure this time. `times`: messages received from any sender, or votes, so far. Every
// 16th; every 4th while the last results differ. Reading the clock takes time.
bool is_sample_due(uint32_t peer, uint32_t times) noexcept;

using DistanceClock = std::chrono::steady_clock;
// Records a measurement: the time of the load that found a word that `peer` had just written.
void record_sample(uint32_t peer, DistanceClock::duration took) noexcept;

// Called by a receiver before it touches anything else of the region of a token: measures now and
// then. Returns the distance to report to the sender; kUnknown: nothing new.
Distance sample_distance(const Region& region, uint32_t sender) noexcept;
// The distance as this process has measured it. `token`: the id of a token, or the number of a
// call; used only if LACUNA_DISTANCE is "alternate".
Distance distance_from(uint32_t peer, uint64_t token) noexcept;

// For a sender: records the distance that the receiver of a token has reported, and returns the
// last one reported.
void record_reported(uint64_t token, Distance distance) noexcept;
Distance distance_to(uint64_t token) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ARENA_DISTANCE_HPP_
