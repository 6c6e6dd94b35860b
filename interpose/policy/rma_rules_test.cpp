// SPDX-License-Identifier: BSD-3-Clause
//
// Where packing first pays in one-sided operations.
#include "interpose/policy/rma_rules.hpp"

#include <gtest/gtest.h>

namespace lacuna {
namespace {

constexpr DataShape kVector{int64_t{1} << 20, 8, Pattern::kStrided};

TEST(RmaRules, WindowAndTargetDecide) {
  const auto pays = [](Flavour flavour, WindowMemory window, TargetLayout target) {
    return pays_one_sided(flavour, 5, {kPuts, window, target, kVector});
  };
  EXPECT_TRUE(pays(Flavour::kMpich, kAllocated, kWithGaps));
  EXPECT_FALSE(pays(Flavour::kMpich, kAllocated, kWithoutGaps));
  EXPECT_TRUE(pays(Flavour::kMpich, kCreated, kWithoutGaps));
  EXPECT_FALSE(pays(Flavour::kMpich, kCreated, kWithGaps));
  EXPECT_TRUE(pays(Flavour::kOpenMpi, kCreated, kWithoutGaps));
  EXPECT_FALSE(pays(Flavour::kOpenMpi, kCreated, kWithGaps));
  EXPECT_FALSE(pays(Flavour::kOther, kCreated, kWithoutGaps));
}

TEST(RmaRules, WhatWasNotMeasuredIsTheLibrarys) {
  const auto pays = [](Access access, int major, const DataShape& load) {
    return pays_one_sided(Flavour::kMpich, major, {access, kCreated, kWithoutGaps, load});
  };
  EXPECT_TRUE(pays(kGets, 5, kVector));
  EXPECT_FALSE(pays(kGets, 4, kVector));
  EXPECT_FALSE(pays(kFetches, 5, kVector));
  EXPECT_FALSE(pays(kGets, 5, {kVector.bytes, 8, Pattern::kFields}));
  EXPECT_FALSE(pays(kGets, 5, {kVector.bytes, 512, Pattern::kStrided}));
  EXPECT_FALSE(pays(kGets, 5, {2047, 8, Pattern::kStrided}));
  EXPECT_TRUE(pays_one_sided(Flavour::kMpich, 5, {kGets, kAnyWindow, kAnyTarget, kVector}));
}

}  // namespace
}  // namespace lacuna
