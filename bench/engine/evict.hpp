// SPDX-License-Identifier: BSD-3-Clause
//
// Evicts cache lines from every level of cache, so that the next access reads them from DRAM.
#ifndef LACUNA_BENCH_ENGINE_EVICT_HPP_
#define LACUNA_BENCH_ENGINE_EVICT_HPP_

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace lacuna::bench {

#if defined(__x86_64__)
inline constexpr bool kCanEvict = true;
// clflush, which every x86-64 has; clflushopt would only be faster, and is not timed.
inline void evict_lines(const std::byte* data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) _mm_clflush(data + i);
}
inline void evict_done() { _mm_mfence(); }
#elif defined(__aarch64__)
inline constexpr bool kCanEvict = true;
inline void evict_lines(const std::byte* data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) asm volatile("dc civac, %0" : : "r"(data + i) : "memory");
}
inline void evict_done() { asm volatile("dsb sy" : : : "memory"); }
#else
inline constexpr bool kCanEvict = false;
inline void evict_lines(const std::byte*, int64_t) {}
inline void evict_done() {}
#endif

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_EVICT_HPP_
