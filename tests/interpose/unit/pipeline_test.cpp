// SPDX-License-Identifier: BSD-3-Clause
//
// Which messages of a sender have been received, and how much may be on its way.
#include "interpose/direct/pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "interpose/direct/pipeline/far_rank.hpp"

namespace lacuna::direct {
namespace {

TEST(Pipeline, NumbersInOrder) {
  ReceivedNumbers received;
  EXPECT_FALSE(received.has(1));
  received.add(1);
  received.add(2);
  EXPECT_TRUE(received.has(1) && received.has(2));
  EXPECT_FALSE(received.has(3));
}

TEST(Pipeline, NumbersInAnyOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint64_t> numbers(40);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i + 1;
    std::shuffle(numbers.begin(), numbers.end(), random);
    ReceivedNumbers received;
    std::set<uint64_t> expected;
    for (const uint64_t number : numbers) {
      EXPECT_FALSE(received.has(number));
      received.add(number);
      expected.insert(number);
      for (uint64_t each = 1; each <= 41; ++each)
        EXPECT_EQ(received.has(each), expected.count(each) != 0) << each;
    }
  }
}

// All others together send a rank no more than 256 MiB that it has not received.
TEST(Pipeline, WindowShrinksWithTheJob) {
  EXPECT_EQ(window_of(2), int64_t{32} << 20);
  EXPECT_EQ(window_of(9), int64_t{32} << 20);
  EXPECT_EQ(window_of(17), int64_t{16} << 20);
  for (const int ranks : {2, 3, 100, 4097, 1000000})
    EXPECT_LE(window_of(ranks) * (ranks - 1), int64_t{256} << 20) << ranks;
}

TEST(Pipeline, OffsetsOfTokensAreNoneOfRegions) {
  Token token{};
  EXPECT_FALSE(is_pipelined(token));
  token.offset = offset_for(0);
  EXPECT_TRUE(is_pipelined(token));
  EXPECT_NE(offset_for(0), offset_for(1));
}

}  // namespace
}  // namespace lacuna::direct
