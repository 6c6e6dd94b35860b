// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/arena/distance.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace lacuna::direct {
namespace {

// f: a far measurement; c: a close one.
DistanceSamples distance_samples(std::string_view text) {
  DistanceSamples all;
  for (const char look : text) all = DistanceSamples(all.after(look == 'f').bits());
  return all;
}
Distance after(std::string_view text) { return distance_samples(text).distance(); }

TEST(Distance, IsUnknownBeforeEightLooks) {
  EXPECT_EQ(after(""), Distance::kUnknown);
  EXPECT_EQ(after("fffffff"), Distance::kUnknown);
  EXPECT_EQ(after("ccccccc"), Distance::kUnknown);
  EXPECT_EQ(after("ffffffff"), Distance::kFar);
  EXPECT_EQ(after("cccccccc"), Distance::kClose);
}

TEST(Distance, IsWhatSixOfTheLastEightLooksSay) {
  EXPECT_EQ(after("fcffffcf"), Distance::kFar);
  EXPECT_EQ(after("cfccccfc"), Distance::kClose);
  EXPECT_EQ(after("fcfffccf"), Distance::kUnknown);
  EXPECT_EQ(after("cfcffccf"), Distance::kUnknown);
}

TEST(Distance, ForgetsOlderLooks) {
  EXPECT_EQ(after("ffffffffffffffffcccccccc"), Distance::kClose);
  EXPECT_EQ(after("ffffffffffffffffcccccc"), Distance::kClose);
  EXPECT_EQ(after("ffffffffffffffffccccc"), Distance::kUnknown);
  EXPECT_EQ(after("ccccccccccccccccffffff"), Distance::kFar);
}

TEST(Distance, IsSettledWhereEightLooksAreAlike) {
  EXPECT_FALSE(distance_samples("").are_settled());
  EXPECT_FALSE(distance_samples("ccccccc").are_settled());
  EXPECT_TRUE(distance_samples("cccccccc").are_settled());
  EXPECT_TRUE(distance_samples("ffffffff").are_settled());
  EXPECT_FALSE(distance_samples("cccccccccccf").are_settled());
  EXPECT_FALSE(distance_samples("ffffffffcffff").are_settled());
  EXPECT_TRUE(distance_samples("fcffffffff").are_settled());
}

TEST(Distance, LooksMoreOftenUntilItIsSettled) {
  constexpr uint32_t kPeer = 7;
  constexpr DistanceClock::duration kShort{0};
  constexpr std::chrono::milliseconds kLong{1};
  const auto due = [](uint32_t times) {
    int count = 0;
    for (uint32_t i = 1; i <= times; ++i) count += is_sample_due(kPeer, i) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(due(64), 16);
  for (int i = 0; i < 8; ++i) record_sample(kPeer, kShort);
  EXPECT_EQ(due(64), 4);
  record_sample(kPeer, kLong);
  EXPECT_EQ(due(64), 16);
  for (int i = 0; i < 8; ++i) record_sample(kPeer, kLong);
  EXPECT_EQ(due(64), 4);
  EXPECT_EQ(distance_from(kPeer, 0), Distance::kFar);
}

TEST(Distance, IsSaidWithTheMark) {
  for (const Distance distance : {Distance::kUnknown, Distance::kClose, Distance::kFar}) {
    EXPECT_NE(done_with(distance), 0U);
    EXPECT_EQ(distance_in(done_with(distance)), distance);
  }
  EXPECT_EQ(distance_in(kDone), Distance::kUnknown);
}

}  // namespace
}  // namespace lacuna::direct
