// SPDX-License-Identifier: BSD-3-Clause
//
// What a peer has packed, asked for before it is unpacked.
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_PREFETCH_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_PREFETCH_HPP_

#include <cstddef>
#include <cstdint>

#include "interpose/direct/node/distance.hpp"
#include "interpose/direct/node/region.hpp"
#include "plan/plan.hpp"

namespace lacuna::direct {

// Whether lines that come from afar are asked for before they are unpacked: kernels wait for each
// where the hardware does not see that they read one after the other, as they do of short runs.
// Microseconds of a message without / with it, from afar: 26 KiB in runs of 12 bytes 5.2 / 4.8, 62
// KiB 11.6 / 9.3, 104 KiB 16.2 / 13.4, 174 KiB 28.2 / 25.5; 64 KiB in runs of 1 KiB 6.9 / 6.4. From
// close by 2.10 / 2.24, 5.6 / 5.3, 7.3 / 8.0, 19.2 / 20.0 and 2.70 / 2.70. Copying them to the side
// and unpacking from there gained nothing on either.
inline bool asks_ahead(const Plan& plan, int64_t bytes) noexcept {
  constexpr int64_t kMostAsked = 256 << 10;
  constexpr int64_t kFewAsked = 96 << 10;
  constexpr double kLongRun = 1024;
  return (bytes <= kFewAsked || (bytes < kMostAsked && plan.mean_run_bytes() < kLongRun)) &&
         minds_distance(plan);
}

inline void ask_for(const std::byte* begin, int64_t bytes) noexcept {
  for (int64_t at = 0; at < bytes; at += kLine) __builtin_prefetch(begin + at);
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_PREFETCH_HPP_
