// SPDX-License-Identifier: BSD-3-Clause
//
// The orders in which the probe touches memory, and how long its samples are. Nothing here is
// timed.
#include "machine/probe/loops/chase.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "machine/probe/loops/memory.hpp"
#include "machine/probe/loops/moves.hpp"
#include "machine/probe/loops/timing.hpp"

namespace lacuna::probe {
namespace {

// With a simulated clock. Each measurement in turn is interrupted.
TEST(Timing, AnInterruptionMakesNoSampleShorter) {
  for (int interrupted = 0; interrupted < 12; ++interrupted) {
    int time = 0;
    const int64_t units = units_of_sample(1024, [&](int64_t some) {
      return 0.27 * static_cast<double>(some) + (time++ == interrupted ? 1e6 : 0);
    });
    EXPECT_GE(0.27 * static_cast<double>(units), kSampleNs / 2) << interrupted;
    EXPECT_LE(0.27 * static_cast<double>(units), 10 * kSampleNs) << interrupted;
  }
}

TEST(Permutation, HoldsEachNumberOnce) {
  for (const uint64_t n : {1u, 2u, 3u, 5u, 64u, 96u, 1000u, 4097u}) {
    for (const uint64_t seed : {0u, 1u, 2u}) {
      const Permutation order(n, seed);
      std::set<uint64_t> seen;
      for (uint64_t i = 0; i < n; ++i) seen.insert(order(i));
      EXPECT_EQ(seen.size(), n) << n;
      EXPECT_EQ(*seen.rbegin(), n - 1) << n;
    }
  }
}

TEST(Permutation, IsNotInOrder) {
  const Permutation order(4096, 1);
  int near = 0;
  for (uint64_t i = 1; i < 4096; ++i) {
    const int64_t step = static_cast<int64_t>(order(i)) - static_cast<int64_t>(order(i - 1));
    if (step >= -4 && step <= 4) ++near;
  }
  EXPECT_LT(near, 40);
}

TEST(Chase, IsOneCycleThroughAllPlaces) {
  Region region(1 << 20, Pages::kSmall);
  ASSERT_NE(region.data(), nullptr);
  for (const uint64_t n : {1u, 2u, 7u, 64u, 250u}) {
    void** const first = link_cycle(region.data(), n, 4160, 3);
    std::set<void**> seen;
    for (void** at = first; seen.insert(at).second;) at = follow(at, 1);
    EXPECT_EQ(seen.size(), n);
    EXPECT_EQ(follow(first, static_cast<int64_t>(n)), first);
    for (void** const at : seen) {
      const int64_t offset = reinterpret_cast<char*>(at) - region.data();
      EXPECT_EQ(offset % 4160, 0);
      EXPECT_LT(offset, static_cast<int64_t>(n * 4160));
    }
  }
}

TEST(Touch, EveryLineOnceInEachOrder) {
  for (const Order order : {Order::kSkip, Order::kPage, Order::kSame, Order::kRandom}) {
    for (const uint64_t bytes : {64u, 4096u, 65536u}) {
      const uint64_t lines = bytes / 64;
      const auto offsets = touch_offsets(order, bytes, 64, 4096, 0, lines);
      std::set<uint32_t> seen(offsets.begin(), offsets.end());
      EXPECT_EQ(seen.size(), lines) << static_cast<int>(order) << " " << bytes;
      EXPECT_EQ(*seen.rbegin(), bytes - 64);
      const auto later = touch_offsets(order, bytes, 64, 4096, 5, lines);
      EXPECT_EQ(later[0], offsets[5 % lines]);
    }
  }
}

TEST(Touch, OrdersAreWhatTheirNamesSay) {
  const auto skip = touch_offsets(Order::kSkip, 65536, 64, 4096, 0, 256);
  for (size_t i = 1; i < skip.size(); ++i) EXPECT_EQ(skip[i] - skip[i - 1], 256u);
  const auto page = touch_offsets(Order::kPage, 65536, 64, 4096, 0, 16);
  for (size_t i = 1; i < page.size(); ++i) EXPECT_EQ(page[i] / 4096, page[i - 1] / 4096 + 1);
  std::set<uint32_t> places;
  for (const uint32_t offset : page) places.insert(offset % 4096);
  EXPECT_EQ(places.size(), 16u);  // each at another offset of its page
  const auto same = touch_offsets(Order::kSame, 65536, 64, 4096, 16, 16);
  for (size_t i = 0; i < same.size(); ++i) EXPECT_EQ(same[i], 4096 * i + 7 * 64);
}

TEST(Touch, LoadsAndStoresAreMade) {
  std::vector<uint64_t> words(1024, 1);
  const auto offsets = touch_offsets(Order::kRandom, 8192, 64, 4096, 0, 128);
  char* const base = reinterpret_cast<char*>(words.data());
  EXPECT_EQ(load_each(base, offsets), 128u);
  EXPECT_EQ(load_each<true>(base, offsets), 128u);
  for (const bool asks : {false, true}) {
    std::fill(words.begin(), words.end(), 1);
    asks ? store_each<true>(base, offsets) : store_each(base, offsets);
    for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(words[i], i % 8 == 0 ? i * 8 : 1) << i;
  }
}

TEST(Moves, MoveWhatTheySay) {
  constexpr size_t kBytes = 64 * 1024;
  Region region(2 * kBytes, Pages::kDefault);
  ASSERT_NE(region.data(), nullptr);
  char* const from = region.data();
  char* const to = from + kBytes;
  for (size_t i = 0; i < kBytes; ++i) from[i] = static_cast<char>(i * 7 + i / 256);
  const Moves& moves = best_moves();
  for (const auto copy : {moves.copy, moves.stream_copy}) {
    std::fill(to, to + kBytes, 0);
    copy(from, to, kBytes);
    EXPECT_TRUE(std::equal(from, from + kBytes, to)) << moves.isa;
  }
  const uint64_t before = moves.read(from, kBytes);
  EXPECT_EQ(moves.read(to, kBytes), before);
  to[kBytes - 1] = static_cast<char>(to[kBytes - 1] ^ 1);
  EXPECT_NE(moves.read(to, kBytes), before);
  for (const auto write : {moves.write, moves.stream_write}) {
    std::fill(to, to + kBytes, 1);
    write(to, kBytes);
    std::set<uint64_t> words;
    for (size_t i = 0; i < kBytes; i += 8) {
      uint64_t word;
      std::memcpy(&word, to + i, 8);
      words.insert(word);
    }
    EXPECT_EQ(words.size(), kBytes / 8);
    EXPECT_FALSE(words.contains(0x0101010101010101u));
  }
}

}  // namespace
}  // namespace lacuna::probe
