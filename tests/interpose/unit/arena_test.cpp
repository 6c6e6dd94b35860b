// SPDX-License-Identifier: BSD-3-Clause
//
// The allocator of the arena: regions that do not overlap, are used again, and return their pages.
#include "interpose/direct/arena/arena.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "interpose/direct/arena/distance.hpp"
#include "tests/interpose/unit/fake_peers.hpp"

namespace lacuna::direct {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int kMostRegions = 256;

class Arena : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(test::have_arena()); }
  // All regions are free again, for the next test.
  void TearDown() override {
    for (Region* region : regions_) release(region);
    Region* last = reserve(1);
    ASSERT_NE(last, nullptr);
    release(last);
  }
  Region* keep(int64_t bytes) {
    Region* region = reserve(bytes);
    if (region != nullptr) regions_.push_back(region);
    return region;
  }
  void free_at(size_t i) {
    release(regions_[i]);
    regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::vector<Region*> regions_;
};

struct Extent {
  int64_t begin;
  int64_t end;
};
Extent extent_of(const Region* region) {
  const int64_t begin = offset_of(region);
  return {begin, begin + static_cast<int64_t>(sizeof(Region)) + region->bytes};
}

TEST_F(Arena, RegionsInUseDoNotOverlap) {
  std::mt19937 random(7);
  for (int step = 0; step < 3000; ++step) {
    if (!regions_.empty() && random() % 5 < 2) {
      free_at(random() % regions_.size());
      continue;
    }
    const int64_t bytes = int64_t{1} << (random() % 21);
    const Region* region = keep(bytes);
    if (region == nullptr) {
      free_at(random() % regions_.size());
      continue;
    }
    ASSERT_GE(region->bytes, bytes);
    const Extent mine = extent_of(region);
    ASSERT_EQ(mine.begin % kLine, 0);
    ASSERT_GE(mine.begin, kFrontBytes);
    ASSERT_LE(mine.end, arena_bytes());
    for (const Region* other : regions_) {
      if (other == region) continue;
      const Extent theirs = extent_of(other);
      ASSERT_TRUE(mine.end <= theirs.begin || theirs.end <= mine.begin);
    }
  }
}

// Several rounds of the arena: memory of earlier regions is used again.
TEST_F(Arena, ANewRegionIsClean) {
  for (int i = 0; i < 20000; ++i) {
    Region* region = reserve(1000);
    ASSERT_NE(region, nullptr);
    ASSERT_EQ(region->published, 0);
    ASSERT_EQ(region->ring_end, 0);
    ASSERT_EQ(region->consumed, 0);
    ASSERT_EQ(region->id, 0U);
    ASSERT_EQ(region->done, 0U);
    region->published = region->ring_end = region->consumed = 9;
    region->id = 9;
    release(region);
  }
}

TEST_F(Arena, WhatDoesNotFitIsRefusedAndNothingIsLost) {
  EXPECT_EQ(reserve(arena_bytes()), nullptr);
  EXPECT_EQ(reserve(INT64_MAX), nullptr);
  const int64_t most = arena_bytes() - kFrontBytes - static_cast<int64_t>(sizeof(Region)) - kLine;
  EXPECT_EQ(reserve(most + 1), nullptr);
  EXPECT_NE(keep(most), nullptr);
  EXPECT_EQ(reserve(1), nullptr);
  free_at(0);
  EXPECT_NE(keep(most), nullptr);
}

TEST_F(Arena, SoManyAtOnceAndNoMore) {
  for (int i = 0; i < kMostRegions; ++i) ASSERT_NE(keep(100), nullptr);
  EXPECT_EQ(reserve(100), nullptr);
  free_at(77);
  EXPECT_NE(keep(100), nullptr);
  EXPECT_EQ(reserve(100), nullptr);
}

// Short messages stay in the first pages, so that these stay in a cache.
TEST_F(Arena, ShortMessagesReuseTheFirstPages) {
  int64_t last = 0;
  for (int i = 0; i < 10000; ++i) {
    Region* region = reserve(4000);
    ASSERT_NE(region, nullptr);
    last = std::max(last, extent_of(region).end);
    release(region);
  }
  EXPECT_LE(last, 5 * kMiB);
}

TEST_F(Arena, TheSenderLearnsTheDistanceFromTheMark) {
  constexpr uint64_t kToken = uint64_t{3} << kReceiverShift | 5;
  for (const Distance distance : {Distance::kFar, Distance::kClose}) {
    Region* region = reserve(100);
    ASSERT_NE(region, nullptr);
    region->token.id = kToken;
    release(region, done_with(distance));
    ASSERT_NE(keep(100), nullptr);
    EXPECT_EQ(distance_to(kToken), distance);
  }
}

TEST_F(Arena, LatePagesReturnToTheSystem) {
  Region* region = keep(70 * kMiB);
  ASSERT_NE(region, nullptr);
  ASSERT_GT(region->idle_bytes, 0);
  std::byte* late = payload(region) + 69 * kMiB;
  std::byte* early = payload(region);
  *late = *early = std::byte{1};
  free_at(0);
  EXPECT_EQ(*early, std::byte{1});
  EXPECT_EQ(*late, std::byte{0});
}

TEST_F(Arena, AnotherProcessFindsTheSameMemory) {
  Region* region = keep(3 * kMiB);
  ASSERT_NE(region, nullptr);
  std::memcpy(payload(region) + 2 * kMiB, "there", 6);
  const Secret owner{{11, 12}};
  const Secret other{{11, 13}};
  token_page(own_arena()).owner = owner;
  const int descriptor = arena_descriptor();
  EXPECT_EQ(open_arena(getpid(), descriptor, arena_bytes(), other), nullptr);
  EXPECT_EQ(open_arena(getpid(), descriptor, arena_bytes() - kMiB, owner), nullptr);
  OpenArena arena;
  arena.bytes = arena_bytes();
  arena.entered = kFrontBytes;
  arena.begin = open_arena(getpid(), descriptor, arena.bytes, owner);
  ASSERT_NE(arena.begin, nullptr);
  EXPECT_NE(arena.begin, own_arena());
  Region* theirs = enter_region(arena, offset_of(region), region->bytes);
  ASSERT_NE(theirs, nullptr);
  EXPECT_STREQ(reinterpret_cast<const char*>(payload(theirs) + 2 * kMiB), "there");
  release(theirs);  // by the receiver
  EXPECT_NE(region->done, 0U);
  regions_.clear();
}

TEST_F(Arena, AnotherFileIsNotOpened) {
  const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(open_arena(getpid(), file, arena_bytes(), token_page(own_arena()).owner), nullptr);
  close(file);
}

}  // namespace
}  // namespace lacuna::direct
