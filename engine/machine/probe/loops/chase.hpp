// SPDX-License-Identifier: BSD-3-Clause
//
// Chase: dependent loads (pointer chasing) in an order that no prefetcher follows. Touches:
// independent accesses, one to a line, in a given order.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_LOOPS_CHASE_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_LOOPS_CHASE_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lacuna::probe {

// Links n pointers at base, base + stride, ... to one cycle in random order. Returns one of them.
void** link_cycle(char* base, uint64_t n, size_t stride, uint64_t seed);

// Follows the cycle. Returns where it ends, so that the compiler cannot drop the loads.
void** follow(void** at, int64_t loads);

// Time of one load of the cycle.
double chase_ns(char* base, uint64_t n, size_t stride, int samples, uint64_t seed);

// Time of one of many dependent additions: a clock cycle, on all CPUs of today.
double cycle_ns(int samples);

// Which line comes next: four lines on; in the next page, at another offset or at the same; any.
enum class Order { kSkip, kPage, kSame, kRandom };

// Offsets of `count` lines inside [0, bytes) in that order, from position `first` of the order on.
// Later passes take the lines that were skipped: no line repeats before all others were touched.
std::vector<uint32_t> touch_offsets(Order order, uint64_t bytes, uint64_t line, uint64_t page,
                                    uint64_t first, uint64_t count);

// One access of 8 bytes at base + offset for each. kAsks: with prefetches into the L2.
template <bool kAsks = false>
uint64_t load_each(const char* base, const std::vector<uint32_t>& offsets);
template <bool kAsks = false>
void store_each(char* base, const std::vector<uint32_t>& offsets);

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_LOOPS_CHASE_HPP_
