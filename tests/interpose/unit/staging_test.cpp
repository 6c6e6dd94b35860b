// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for packed data, and the reserves for when an allocation fails.
#include "interpose/memory/staging.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "interpose/memory/reserve.hpp"

namespace lacuna {
namespace {

constexpr int64_t kPool = int64_t{4} << 20;
// Read once, before any test.
[[maybe_unused]] const int g_set = setenv("LACUNA_POOL_MB", "4", 1);

TEST(Staging, BlockingCallsOfAThreadUseOneBuffer) {
  const std::byte* first = nullptr;
  for (int i = 0; i < 3; ++i) {
    const Staging staging = borrow_staging(1000, true);
    ASSERT_TRUE(staging);
    if (i == 0) first = staging.data();
    EXPECT_EQ(staging.data(), first);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(staging.data()) % 64, 0U);
    // A callback of the program's sends within the call.
    const Staging within = borrow_staging(1000, true);
    ASSERT_TRUE(within);
    EXPECT_NE(within.data(), first);
  }
  std::thread([first] {
    const Staging other = borrow_staging(1000, true);
    EXPECT_NE(other.data(), first);
  }).join();
}

TEST(Staging, AThreadThatEndsGivesItsBufferBack) {
  for (int i = 0; i < 1000; ++i) {  // more than the pool could hold
    std::thread([] { EXPECT_TRUE(borrow_staging(int64_t{60} << 10, true)); }).join();
  }
  trim_staging();
}

TEST(Staging, AtMostThePoolIsLentAndMoreToThoseWhoMustHaveIt) {
  std::vector<Staging> lent;
  for (int64_t bytes = 0; bytes <= kPool; bytes += int64_t{1} << 20) {
    Staging staging = borrow_staging(int64_t{1} << 20, false);
    if (!staging) break;
    lent.push_back(std::move(staging));
  }
  EXPECT_LE(lent.size(), 4U);
  EXPECT_GE(lent.size(), 2U);
  EXPECT_FALSE(borrow_staging(kPool, false));
  {
    const Staging needed = need_staging(kPool, false);
    ASSERT_TRUE(needed);
    needed.data()[kPool - 1] = std::byte{1};
  }
  lent.clear();
  EXPECT_TRUE(borrow_staging(int64_t{1} << 20, false));
}

// Runs `body` in a process whose large allocations the system refuses.
template <typename Body>
[[noreturn]] void run_without_memory(const Body& body) {
  trim_staging();
  const rlimit none{0, 0};
  setrlimit(RLIMIT_AS, &none);
  body();
  std::_Exit(0);
}

// Exit codes say which check failed.
TEST(Staging, TheReserveIsLentWhereAllocationsFail) {
  const auto body = [] {
    constexpr int64_t kBytes = int64_t{64} << 10;
    // Stored, or a compiler may leave out the calls.
    void* volatile taken = nullptr;
    do taken = std::malloc(kBytes);
    while (taken != nullptr);
    do taken = std::malloc(1000);
    while (taken != nullptr);
    if (borrow_staging(kBytes, false)) std::_Exit(1);
    static Staging lent[33];
    static const std::byte* places[33];
    int count = 0;
    while (count < 33 && (lent[count] = need_staging(kBytes, false))) {
      places[count] = lent[count].data();
      lent[count].data()[kBytes - 1] = std::byte{1};
      ++count;
    }
    if (count != 32) std::_Exit(2);
    std::sort(places, places + count);
    for (int i = 1; i < count; ++i)
      if (places[i] - places[i - 1] < kBytes) std::_Exit(3);
    if (need_staging(1, false)) std::_Exit(4);
    lent[5].reset();
    if (!(lent[5] = need_staging(1, false))) std::_Exit(5);
    if (need_staging(kBytes + 1, false)) std::_Exit(6);
  };
  EXPECT_EXIT(run_without_memory(body), testing::ExitedWithCode(0), "");
}

TEST(Staging, TheKeptBufferIsLentOnce) {
  Staging kept = borrow_kept();
  ASSERT_TRUE(kept);
  kept.data()[kKeptBytes - 1] = std::byte{1};
  EXPECT_FALSE(borrow_kept());
  Staging moved = std::move(kept);
  EXPECT_FALSE(borrow_kept());
  moved.reset();
  EXPECT_TRUE(borrow_kept());
}

TEST(Staging, AnAbandonedBufferIsNeverLentAgain) {
  Staging staging = borrow_staging(int64_t{128} << 10, false);
  ASSERT_TRUE(staging);
  std::byte* const data = staging.data();
  staging.abandon();
  EXPECT_FALSE(staging);
  for (int i = 0; i < 10; ++i) {
    const Staging other = borrow_staging(int64_t{128} << 10, false);
    ASSERT_TRUE(other);
    EXPECT_NE(other.data(), data);
  }
}

TEST(Staging, WhatMustBeWipedIsWipedBeforeOthersGetTheMemory) {
  for (const bool blocking : {true, false}) {
    Staging first = borrow_staging(100, blocking);
    ASSERT_TRUE(first);
    std::byte* const data = first.data();
    std::fill_n(data, 100, std::byte{7});
    first.wipe_at_end(80);
    Staging moved = std::move(first);
    first = std::move(moved);
    first.reset();
    const Staging second = borrow_staging(100, blocking);
    ASSERT_EQ(second.data(), data);
    EXPECT_EQ(std::count(data, data + 100, std::byte{0}), 80);
    EXPECT_EQ(data[80], std::byte{7});
  }
}

struct Object {
  static inline bool refused = false;
  static inline int alive = 0;
  Object() { ++alive; }
  ~Object() { --alive; }
  static void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    return refused ? nullptr : std::malloc(bytes);
  }
  static void* operator new(size_t, void* place) noexcept { return place; }
  static void operator delete(void* memory) noexcept { std::free(memory); }
  int64_t value[3] = {1, 2, 3};
};

TEST(Reserve, HasSixtyFourObjectsForWhenNewFails) {
  static Reserve<Object> reserve;
  Object* usual = reserve.make();
  ASSERT_NE(usual, nullptr);
  Object::refused = true;
  std::vector<Object*> objects;
  while (Object* object = reserve.make()) {
    EXPECT_EQ(object->value[2], 3);
    object->value[2] = 4;
    objects.push_back(object);
  }
  EXPECT_EQ(objects.size(), 64U);
  EXPECT_EQ(std::set<Object*>(objects.begin(), objects.end()).size(), 64U);
  EXPECT_EQ(Object::alive, 65);
  for (const size_t i : {63U, 0U, 31U}) {
    reserve.drop(objects[i]);
    EXPECT_EQ(objects[i] = reserve.make(), objects[i]);
    EXPECT_EQ(reserve.make(), nullptr);
  }
  Object::refused = false;
  for (Object* object : objects) reserve.drop(object);
  reserve.drop(usual);
  EXPECT_EQ(Object::alive, 0);
}

}  // namespace
}  // namespace lacuna
