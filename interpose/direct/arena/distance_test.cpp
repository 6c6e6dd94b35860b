// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/arena/distance.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace lacuna::direct {
namespace {

// f: a far measurement; c: a close one.
Looks looks(std::string_view text) {
  Looks all;
  for (const char look : text) all = Looks(all.after(look == 'f').bits());
  return all;
}
Distance after(std::string_view text) { return looks(text).distance(); }

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
  EXPECT_FALSE(looks("").are_settled());
  EXPECT_FALSE(looks("ccccccc").are_settled());
  EXPECT_TRUE(looks("cccccccc").are_settled());
  EXPECT_TRUE(looks("ffffffff").are_settled());
  EXPECT_FALSE(looks("cccccccccccf").are_settled());
  EXPECT_FALSE(looks("ffffffffcffff").are_settled());
  EXPECT_TRUE(looks("fcffffffff").are_settled());
}

TEST(Distance, LooksMoreOftenUntilItIsSettled) {
  constexpr uint32_t kPeer = 7;
  constexpr LookClock::duration kShort{0};
  constexpr std::chrono::milliseconds kLong{1};
  const auto due = [](uint32_t times) {
    int count = 0;
    for (uint32_t i = 1; i <= times; ++i) count += is_look_due(kPeer, i) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(due(64), 16);
  for (int i = 0; i < 8; ++i) see(kPeer, kShort);
  EXPECT_EQ(due(64), 4);
  see(kPeer, kLong);
  EXPECT_EQ(due(64), 16);
  for (int i = 0; i < 8; ++i) see(kPeer, kLong);
  EXPECT_EQ(due(64), 4);
  EXPECT_EQ(distance_from(kPeer, 0), Distance::kFar);
}

TEST(Distance, IsSaidWithTheMark) {
  for (const Distance distance : {Distance::kUnknown, Distance::kClose, Distance::kFar}) {
    EXPECT_NE(done_from(distance), 0U);
    EXPECT_EQ(said_by(done_from(distance)), distance);
  }
  EXPECT_EQ(said_by(kDone), Distance::kUnknown);
}

}  // namespace
}  // namespace lacuna::direct
