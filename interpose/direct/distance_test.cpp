// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/distance.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace lacuna::direct {
namespace {

// f: a look that took long; c: one that did not.
Distance after(std::string_view looks) {
  Looks all;
  for (const char look : looks) all = Looks(all.after(look == 'f').bits());
  return all.distance();
}

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

TEST(Distance, IsSaidWithTheMark) {
  for (const Distance distance : {Distance::kUnknown, Distance::kClose, Distance::kFar}) {
    EXPECT_NE(done_from(distance), 0U);
    EXPECT_EQ(said_by(done_from(distance)), distance);
  }
  EXPECT_EQ(said_by(kDone), Distance::kUnknown);
}

}  // namespace
}  // namespace lacuna::direct
