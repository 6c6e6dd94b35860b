// SPDX-License-Identifier: BSD-3-Clause
//
// Which calls are timed, and that those that are not are counted.
#include "interpose/report/sampling.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "interpose/report/counters.hpp"

namespace lacuna {
namespace {

constexpr MPI_Datatype kType = 0x4c00080b;  // a predefined type of MPICH
constexpr auto kSend = static_cast<FunctionId>(3);

class Sampling : public testing::Test {
 protected:
  void SetUp() override { t_call_groups = groups_.get(); }
  void TearDown() override { t_call_groups = nullptr; }

  const void* site(int number) const { return code_ + 16 * number; }
  CallGroup& group_of(const void* caller, unsigned octave = 4) {
    return groups_->of({.caller = caller, .type = kType, .function = kSend, .octave = octave});
  }
  // A call of `ns` from there; returns how many calls it stands for, 0 if it was not timed.
  int64_t call(const void* caller, int64_t ns, MPI_Count count = 8) {
    if (count_like_last(kSend, caller, kType, count)) return 0;
    const unsigned octave = octave_of_count(count);
    if (count_slowly({.caller = caller, .type = kType, .function = kSend, .octave = octave}, count))
      return 0;
    CallGroup* group = groups_->chosen;
    const int64_t weight = group->weight();
    count_passed(group);
    groups_->draw_gap(group, ns);
    group->count = group->next_count;
    group->cell = &cell_;
    group->element_bytes = 4;
    group->outcome = 0;
    add(&cell_.calls, 1);
    return weight;
  }
  int64_t counted() {
    for (CallGroup& group : groups_->groups) count_passed(&group);
    return cell_.calls.load();
  }

  std::unique_ptr<CallGroups> groups_ = std::make_unique<CallGroups>();
  Cell cell_;
  char code_[4096];
};

TEST_F(Sampling, TheFirstCallsAreAllTimed) {
  for (int i = 0; i < 16; ++i) EXPECT_EQ(call(site(1), 100), 1);
}

TEST_F(Sampling, OfShortCallsFewAreTimedAndAllAreCounted) {
  constexpr int kCalls = 200000;
  int timed = 0;
  for (int i = 0; i < kCalls; ++i) timed += call(site(1), 100) > 0 ? 1 : 0;
  EXPECT_LT(timed, kCalls / 50);
  EXPECT_GT(timed, 100);
  EXPECT_EQ(counted(), kCalls);
}

TEST_F(Sampling, LongCallsAreAllTimed) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(call(site(1), 600'000), 1);
}

// Whether a call is timed depends on the calls before, and not on its own time: so the times that
// timed calls stand for add up to about the time of all.
TEST_F(Sampling, TheSumOfTimesIsNotBiased) {
  std::mt19937 random(5);
  double all = 0;
  double sampled = 0;
  for (int i = 0; i < 400000; ++i) {
    const int64_t ns = random() % 4 == 0 ? 2000 : 200;
    all += static_cast<double>(ns);
    sampled += static_cast<double>(call(site(1), ns) * ns);
  }
  EXPECT_NEAR(sampled / all, 1, 0.1);
}

TEST_F(Sampling, BytesOfCallsThatAreOnlyCountedAreAddedUp) {
  int64_t elements = 0;
  int64_t timed = 0;
  for (int i = 0; i < 50000; ++i) {
    const MPI_Count count = 8 + i % 7;  // of one octave
    const bool is_timed = call(site(1), 100, count) > 0;
    (is_timed ? timed : elements) += count;
  }
  counted();
  EXPECT_EQ(cell_.bytes_declined.load(), 4 * elements);
  EXPECT_GT(elements, timed);
}

TEST_F(Sampling, SitesAndOctavesAreSeparate) {
  for (int i = 0; i < 1000; ++i) {
    call(site(1), 100, 8);
    call(site(1), 100, 1000);
    call(site(9), 100, 8);
  }
  EXPECT_NE(&group_of(site(1), octave_of_count(8)), &group_of(site(1), octave_of_count(1000)));
  EXPECT_NE(&group_of(site(1), octave_of_count(8)), &group_of(site(9), octave_of_count(8)));
  EXPECT_EQ(group_of(site(9), octave_of_count(8)).caller, site(9));
  EXPECT_EQ(counted(), 3000);
}

// There are more call sites than groups: nothing is lost when one replaces another.
TEST_F(Sampling, WhatIsReplacedStaysCounted) {
  constexpr int kSites = 1000;
  constexpr int kCalls = 100;
  const auto* const code = reinterpret_cast<const char*>(this);
  for (int i = 0; i < kSites; ++i)
    for (int k = 0; k < kCalls; ++k) call(code + 16 * i, 100);
  EXPECT_EQ(counted(), kSites * kCalls);
}

// The type was freed, and its handle may be another's: no call passes as like the last one.
TEST_F(Sampling, AfterItsTypeIsFreedNoCallIsLikeTheLast) {
  for (int i = 0; i < 1000; ++i) call(site(1), 100);
  while (call(site(1), 100) > 0) {
  }
  groups_->forget(handle_bits(kType));
  EXPECT_FALSE(count_like_last(kSend, site(1), kType, 8));
}

TEST_F(Sampling, ACallIsTakenBack) {
  for (int i = 0; i < 1000; ++i) call(site(1), 100);
  while (call(site(1), 100) > 0) {
  }
  const int64_t before = counted();
  const int32_t left = group_of(site(1), octave_of_count(8)).left;
  ASSERT_GT(left, 0);
  ASSERT_TRUE(count_like_last(kSend, site(1), kType, 8));
  uncount(kSend, site(1), 8);
  EXPECT_EQ(counted(), before);
  EXPECT_EQ(group_of(site(1), octave_of_count(8)).left, left);
}

}  // namespace
}  // namespace lacuna
