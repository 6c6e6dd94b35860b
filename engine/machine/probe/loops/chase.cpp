// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probe/loops/chase.hpp"

#include <cstring>

#include "machine/probe/loops/memory.hpp"
#include "machine/probe/loops/timing.hpp"

namespace lacuna::probe {
namespace {

// Longer cycles get no warm-up pass: writing their pointers has left the caches as a pass would.
constexpr uint64_t kWarmLoads = 1 << 20;

constexpr uint64_t kSkippedLines = 4;
constexpr uint64_t kPlacesApart = 7;  // odd, so that the passes reach all lines of a page

// The i-th line when every step-th line is taken, then every step-th from the second on, and so on.
uint64_t in_turns(uint64_t i, uint64_t lines, uint64_t step) {
  const uint64_t in_a_turn = lines / step;
  return i % in_a_turn * step + i / in_a_turn % step;
}

// Prefetch distance, for lines in DRAM at one offset of their pages
// (docs/experiments/2026-11-27-plan-thresholds.md, columns at 4096 bytes).
constexpr size_t kAskedAhead = 96;

template <bool kAsks, typename Access>
[[gnu::always_inline]] inline void each(const char* base, const std::vector<uint32_t>& offsets,
                                        Access access) {
  size_t i = 0;
  if constexpr (kAsks) {
    for (; i + kAskedAhead < offsets.size(); ++i) {
      __builtin_prefetch(base + offsets[i + kAskedAhead], 0, 2);
      access(offsets[i]);
    }
  }
  for (; i < offsets.size(); ++i) access(offsets[i]);
}

}  // namespace

void** link_cycle(char* base, uint64_t n, size_t stride, uint64_t seed) {
  const Permutation order(n, seed);
  char* const first = base + order(0) * stride;
  char* at = first;
  for (uint64_t i = 1; i <= n; ++i) {
    char* const next = i < n ? base + order(i) * stride : first;
    std::memcpy(at, &next, sizeof next);
    at = next;
  }
  return reinterpret_cast<void**>(first);
}

[[gnu::noinline]] void** follow(void** at, int64_t loads) {
  for (; loads >= 8; loads -= 8) {
#define LACUNA_STEP at = static_cast<void**>(*at)
    LACUNA_STEP, LACUNA_STEP, LACUNA_STEP, LACUNA_STEP;
    LACUNA_STEP, LACUNA_STEP, LACUNA_STEP, LACUNA_STEP;
#undef LACUNA_STEP
  }
  for (; loads > 0; --loads) at = static_cast<void**>(*at);
  return at;
}

double chase_ns(char* base, uint64_t n, size_t stride, int samples, uint64_t seed) {
  void** at = link_cycle(base, n, stride, seed);
  if (n <= kWarmLoads) at = follow(at, static_cast<int64_t>(n));
  const std::vector<double> times =
      sample_ns(samples, 256, [&](int64_t loads) { at = follow(at, loads); });
  // A use of `at`, so that the compiler cannot drop the loads.
  asm volatile("" : : "r"(at));
  return least(times);
}

double cycle_ns(int samples) {
  uint64_t value = 1;
  const std::vector<double> times = sample_ns(samples, 1024, [&](int64_t additions) {
    for (int64_t i = 0; i < additions; i += 8) {
      // The empty statements keep the compiler from merging the eight additions.
#define LACUNA_STEP                  \
  value += static_cast<uint64_t>(i); \
  asm volatile("" : "+r"(value))
      LACUNA_STEP;
      LACUNA_STEP;
      LACUNA_STEP;
      LACUNA_STEP;
      LACUNA_STEP;
      LACUNA_STEP;
      LACUNA_STEP;
      LACUNA_STEP;
#undef LACUNA_STEP
    }
  });
  return least(times);
}

std::vector<uint32_t> touch_offsets(Order order, uint64_t bytes, uint64_t line, uint64_t page,
                                    uint64_t first, uint64_t count) {
  const uint64_t lines = bytes / line;
  const uint64_t lines_a_page = page / line;
  const Permutation random(lines, 7);
  std::vector<uint32_t> offsets(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t place = (first + i) % lines;
    uint64_t at = place;
    if (order == Order::kRandom) at = random(place);
    if (order == Order::kSkip && lines >= kSkippedLines)
      at = in_turns(place, lines / kSkippedLines * kSkippedLines, kSkippedLines);
    if ((order == Order::kPage || order == Order::kSame) && lines >= lines_a_page) {
      at = in_turns(place, lines / lines_a_page * lines_a_page, lines_a_page);
      const uint64_t page_begin = at / lines_a_page * lines_a_page;
      // kPage: another offset in each page, so that the lines are in different cache sets. kSame:
      // the same offset; the next pass takes a line further away, which no prefetch of adjacent
      // lines has brought.
      at = order == Order::kPage ? at + at / lines_a_page : at * kPlacesApart;
      at = page_begin + at % lines_a_page;
    }
    offsets[i] = static_cast<uint32_t>(at * line);
  }
  return offsets;
}

template <bool kAsks>
[[gnu::noinline]] uint64_t load_each(const char* base, const std::vector<uint32_t>& offsets) {
  uint64_t sum = 0;
  each<kAsks>(base, offsets, [&](uint32_t offset) {
    uint64_t value;
    std::memcpy(&value, base + offset, sizeof value);
    sum += value;
  });
  return sum;
}

template <bool kAsks>
[[gnu::noinline]] void store_each(char* base, const std::vector<uint32_t>& offsets) {
  each<kAsks>(base, offsets, [&](uint32_t offset) {
    const uint64_t value = offset;
    std::memcpy(base + offset, &value, sizeof value);
  });
}

template uint64_t load_each<false>(const char*, const std::vector<uint32_t>&);
template uint64_t load_each<true>(const char*, const std::vector<uint32_t>&);
template void store_each<false>(char*, const std::vector<uint32_t>&);
template void store_each<true>(char*, const std::vector<uint32_t>&);

}  // namespace lacuna::probe
