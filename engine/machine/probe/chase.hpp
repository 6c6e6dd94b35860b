// SPDX-License-Identifier: BSD-3-Clause
//
// Chase: loads each of which needs the result of the one before, in an order that no prefetcher
// guesses. And touches: independent accesses, one to a line, in a listed order.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_CHASE_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_CHASE_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lacuna::probe {

// Makes one cycle of n pointers in random order at base, base + stride, ... Returns a place in it.
void** link_cycle(char* base, uint64_t n, size_t stride, uint64_t seed);

// Follows it; the end is returned so that the compiler cannot leave the way out.
void** follow(void** at, int64_t loads);

// Time of one load of the cycle.
double chase_ns(char* base, uint64_t n, size_t stride, int samples, uint64_t seed);

// Time of one of many additions that each need the one before: a cycle, on all processors of today.
double cycle_ns(int samples);

// Which lines are touched one after the other.
enum class Order { kSkip, kPage, kSame, kRandom };

// Offsets of `count` lines inside [0, bytes) in that order, from place `first` of the order on; all
// lines (of kSkip: also those skipped, in later turns) come before one comes again.
std::vector<uint32_t> touch_offsets(Order order, uint64_t bytes, uint64_t line, uint64_t page,
                                    uint64_t first, uint64_t count);

// One access of 8 bytes at base + offset for each. kAsks: whose line is asked for, into the second
// level, so far ahead that none is waited for.
template <bool kAsks = false>
uint64_t load_each(const char* base, const std::vector<uint32_t>& offsets);
template <bool kAsks = false>
void store_each(char* base, const std::vector<uint32_t>& offsets);

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_CHASE_HPP_
