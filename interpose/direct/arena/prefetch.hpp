// SPDX-License-Identifier: BSD-3-Clause
//
// Software prefetch of what a peer has packed, before it is unpacked.
#ifndef LACUNA_INTERPOSE_DIRECT_ARENA_PREFETCH_HPP_
#define LACUNA_INTERPOSE_DIRECT_ARENA_PREFETCH_HPP_

#include <cstddef>
#include <cstdint>

#include "interpose/direct/arena/distance.hpp"
#include "interpose/direct/arena/region.hpp"
#include "plan/plan.hpp"

namespace lacuna::direct {

// Whether to prefetch before unpacking, when the peer's core is far. For short runs, the hardware
// prefetcher does not see that kernels read consecutive lines, so each load waits. Not between
// close cores. Numbers: docs/experiments/2026-11-27-direct-message-pieces.md.
inline bool should_prefetch(const Plan& plan, int64_t bytes) noexcept {
  constexpr int64_t kMostPrefetched = 256 << 10;
  constexpr int64_t kFewPrefetched = 96 << 10;
  constexpr double kLongRun = 1024;
  return (bytes <= kFewPrefetched ||
          (bytes < kMostPrefetched && plan.mean_run_bytes() < kLongRun)) &&
         depends_on_distance(plan);
}

inline void prefetch_lines(const std::byte* begin, int64_t bytes) noexcept {
  for (int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(begin + at);
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ARENA_PREFETCH_HPP_
