// SPDX-License-Identifier: BSD-3-Clause
#include "exec/buffers/buffers.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace lacuna {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kCap = 64 * kMiB;

uintptr_t address_of(const Buffer* buffer) { return reinterpret_cast<uintptr_t>(buffer->data); }

TEST(Buffers, HoldWhatWasAskedFor) {
  for (const int64_t bytes :
       {int64_t{1}, int64_t{4096}, int64_t{4097}, int64_t{65536}, 128 * 1024 - kMiB / 1024,
        kMiB - 1, kMiB, 2 * kMiB, 2 * kMiB + 1, 5 * kMiB, 31 * kMiB}) {
    Buffer* buffer = acquire_buffer(bytes, kCap);
    ASSERT_NE(buffer, nullptr) << bytes;
    EXPECT_GE(buffer->capacity, bytes);
    EXPECT_LE(buffer->capacity, std::max<int64_t>(4096, bytes + bytes / 4 + 4096));
    EXPECT_EQ(address_of(buffer) % (bytes >= 2 * kMiB ? 2 * kMiB : 64), 0u);
    std::memset(buffer->data, 0x5A, static_cast<size_t>(bytes));
    release_buffer(buffer);
    trim_buffers();
  }
}

TEST(Buffers, StayWarm) {
  Buffer* first = acquire_buffer(3 * kMiB, kCap);
  ASSERT_NE(first, nullptr);
  first->borrower = &first;
  const uintptr_t at = address_of(first);
  release_buffer(first);
  Buffer* again = acquire_buffer(3 * kMiB - 100, kCap);
  EXPECT_EQ(address_of(again), at);
  EXPECT_EQ(again->borrower, nullptr);
  release_buffer(again);
  trim_buffers();
}

TEST(Buffers, StayBelowTheCap) {
  Buffer* large = acquire_buffer(40 * kMiB, kCap);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(acquire_buffer(40 * kMiB, kCap), nullptr);
  EXPECT_EQ(acquire_buffer(65 * kMiB, kCap), nullptr);
  EXPECT_EQ(acquire_buffer(INT64_MAX, INT64_MAX), nullptr);
  EXPECT_EQ(acquire_buffer(1, 0), nullptr);
  release_buffer(large);
  // Free buffers are returned to the system to stay below the cap.
  Buffer* other = acquire_buffer(60 * kMiB, kCap);
  ASSERT_NE(other, nullptr);
  release_buffer(other);
  trim_buffers();
}

// Free buffers are kept up to a bound: those that were used last, and none that is larger.
TEST(Buffers, ALargeOneDoesNotStay) {
  constexpr int64_t kMuch = 512 * kMiB;
  Buffer* large = acquire_buffer(65 * kMiB, kMuch);
  ASSERT_NE(large, nullptr);
  std::memset(large->data, 1, static_cast<size_t>(65 * kMiB));
  release_buffer(large);
  EXPECT_EQ(idle_buffer_bytes(), 0);
  Buffer* some[4];
  for (Buffer*& buffer : some) buffer = acquire_buffer(20 * kMiB, kMuch);
  for (Buffer* buffer : some) {
    ASSERT_NE(buffer, nullptr);
    release_buffer(buffer);
    EXPECT_LE(idle_buffer_bytes(), 64 * kMiB);
  }
  EXPECT_GE(idle_buffer_bytes(), 20 * kMiB);
  trim_buffers();
  EXPECT_EQ(idle_buffer_bytes(), 0);
}

TEST(Buffers, FromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 300; ++i) {
        const int64_t bytes = 1000 * (1 + (i * 7 + t) % 60);
        Buffer* buffer = acquire_buffer(bytes, kCap);
        ASSERT_NE(buffer, nullptr);
        std::memset(buffer->data, t, static_cast<size_t>(bytes));
        for (int64_t k = 0; k < bytes; k += 997)
          ASSERT_EQ(std::to_integer<int>(buffer->data[k]), t);
        release_buffer(buffer);
        if (i % 100 == t) trim_buffers();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lacuna
