// SPDX-License-Identifier: BSD-3-Clause
//
// Streams of messages that random types seldom are: groups of many columns, several nests in a row,
// pieces across their borders. The random ladder of oracles is tests/property/engine_property.cpp.
#include "exec/stream/stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "exec/exec.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

constexpr int64_t kCap = int64_t{1} << 30;
constexpr int64_t kKeep = int64_t{16} << 20;

PlanPtr planned(const std::string& text) {
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  return make_plan(std::move(type).value());
}

std::vector<std::byte> noise(int64_t bytes, unsigned seed) {
  std::vector<std::byte> values(static_cast<size_t>(bytes));
  for (std::byte& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<std::byte>(seed >> 24);
  }
  return values;
}

// Moves a message in pieces whose lengths cycle through `lengths`.
void expect_same(const std::string& text, int64_t count, const std::vector<int64_t>& lengths,
                 int64_t cap_bytes) {
  const PlanPtr plan = planned("resized(0, 3000000, " + text + ")");  // elements must not overlap
  const int64_t total = count * plan->size();
  const int64_t span = plan->type().true_ub + (count - 1) * plan->extent();
  std::vector<std::byte> mem = noise(span, 1);
  std::vector<std::byte> want(static_cast<size_t>(total));
  pack(*plan, mem.data(), count, want.data());
  std::vector<std::byte> got(want.size());
  Stream<true> packing(plan, mem.data(), count, cap_bytes, kKeep);
  const std::vector<std::byte> packed = noise(total, 2);
  std::vector<std::byte> want_back = mem;
  unpack(*plan, packed.data(), count, want_back.data());
  std::vector<std::byte> back = mem;
  Stream<false> unpacking(plan, back.data(), count, cap_bytes, kKeep);
  size_t piece = 0;
  for (int64_t at = 0; at < total; ++piece) {
    const int64_t bytes = std::min(lengths[piece % lengths.size()], total - at);
    packing.next(got.data() + at, bytes);
    unpacking.next(const_cast<std::byte*>(packed.data()) + at, bytes);
    at += bytes;
    ASSERT_EQ(packing.left(), total - at);
  }
  EXPECT_EQ(got, want) << text;
  EXPECT_EQ(back, want_back) << text;  // after the last byte of a message, all of it is in memory
}

TEST(Stream, IsTheMessage) {
  for (const char* const text :
       {"contiguous(300, resized(0, 8, vector(500, 1, 301, double)))",
        "contiguous(300, resized(0, 3, vector(500, 3, 1000, char)))",
        "contiguous(3, resized(0, 400000, contiguous(40, resized(0, 4, vector(1000, 1, 99, "
        "int)))))",
        "struct([1, 3, 1], [16, 1000000, 2000000], [contiguous(200, resized(0, 8, vector(400, 1, "
        "256, double))), int, contiguous(100, resized(0, 16, vector(300, 2, 210, double)))])",
        // The last part is one group, and what is before it is short.
        "struct([1, 3, 1], [16, 1000000, 2000000], [contiguous(200, resized(0, 8, vector(400, 1, "
        "256, double))), int, contiguous(20, resized(0, 16, vector(300, 2, 210, double)))])",
        "vector(4000, 1, 3, double)", "contiguous(90000, char)"}) {
    for (const int64_t count : {1, 3}) {
      expect_same(text, count, {8192}, kCap);
      expect_same(text, count, {1, 100000, 77, 4096, 300000}, kCap);
      expect_same(text, count, {5000}, 0);
    }
  }
}

// The next group is packed while the pieces of one are copied, if they come into one buffer: here
// from the second piece of 64 KiB on. For a while the pieces go to another address.
void expect_assembled(const std::string& text, const std::vector<int64_t>& lengths) {
  Machine small = planned("int")->machine();
  small.cheap_fences = true;
  small.stream_transpose_bytes = 1 << 16;
  small.l2_bytes = 1 << 18;
  small.l3_bytes = 1 << 22;
  auto type = parse_type(text);
  ASSERT_TRUE(type.ok()) << text;
  const PlanPtr plan = make_plan(std::move(type).value(), default_kernels(), small);
  std::vector<std::byte> mem = noise(plan->type().true_ub, 1);
  std::vector<std::byte> want(static_cast<size_t>(plan->size()));
  pack(*plan, mem.data(), 1, want.data());
  std::vector<std::byte> got(want.size());
  std::vector<std::byte> other(want.size());
  Stream<true> stream(plan, mem.data(), 1, kCap, kKeep);
  int piece = 0;
  for (int64_t at = 0; at < plan->size(); ++piece) {
    const int64_t bytes =
        std::min(lengths[static_cast<size_t>(piece) % lengths.size()], plan->size() - at);
    std::byte* const place = got.data() + at;
    if (piece % 40 == 30) {
      stream.next(other.data() + 1, bytes);
      std::copy_n(other.data() + 1, bytes, place);
    } else if (piece % 40 == 38) {
      std::copy_n(stream.lend(bytes), bytes, place);
    } else {
      stream.next(place, bytes);
    }
    at += bytes;
  }
  EXPECT_EQ(got, want) << text;
}

TEST(Stream, APieceOfAnAssembledMessageBringsSomeOfTheNextGroup) {
  for (const char* const text : {"contiguous(300, resized(0, 8, vector(500, 1, 301, double)))",
                                 "contiguous(256, resized(0, 4, vector(1024, 1, 256, float)))",
                                 "contiguous(130, resized(0, 16, vector(520, 2, 260, double)))",
                                 "contiguous(300, resized(0, 3, vector(700, 3, 1000, char)))",
                                 "struct([1, 1], [0, 2000000], [contiguous(200, resized(0, 8, "
                                 "vector(400, 1, 256, double))), "
                                 "contiguous(200, resized(0, 8, vector(400, 1, 256, double)))])"}) {
    expect_assembled(text, {4096});
    expect_assembled(text, {8192, 1000});
    expect_assembled(text, {1, 77777, 77, 4096, 20000});
  }
}

TEST(Stream, ColumnsAreAGroup) {
  const PlanPtr plan = planned("contiguous(1024, resized(0, 8, vector(1024, 1, 1024, double)))");
  const StreamPart part = stream_part(*plan, nullptr, 1, 100000, 200000);
  EXPECT_NE(part.loop, nullptr);
  EXPECT_EQ(part.begin, 0);  // three times the eight columns of 8 KiB that share lines
  EXPECT_EQ(part.end, 3 * 65536);
  EXPECT_EQ(part.last, 1024 * 8192);
  const PlanPtr vector = planned("vector(1000, 1, 8, double)");
  EXPECT_EQ(stream_part(*vector, nullptr, 1, 10, 200000).loop, nullptr);
}

TEST(Stream, GroupsBeginAtLinesOfMemory) {
  const PlanPtr plan = planned("contiguous(1024, resized(0, 8, vector(1024, 1, 1024, double)))");
  const int64_t line = plan->machine().line_bytes;
  const int64_t most = 200000 / 8192 * 8 / line * line / 8;             // columns, of whole lines
  auto* const mem = reinterpret_cast<std::byte*>(0x10000 + line - 16);  // two before the next line
  const StreamPart head = stream_part(*plan, mem, 1, 8192, 200000);
  EXPECT_EQ(head.begin, 0);
  EXPECT_EQ(head.end, 2 * 8192);
  const StreamPart next = stream_part(*plan, mem, 1, 2 * 8192, 200000);
  EXPECT_EQ(next.begin, 2 * 8192);
  EXPECT_EQ(next.end, (2 + most) * 8192);
  EXPECT_EQ(next.first, 2);
}

// Pieces of `lengths` in random order, some twice: the bytes of the first time are others.
void expect_same_in_any_order(const std::string& text, const std::vector<int64_t>& lengths,
                              int64_t keep_bytes) {
  const PlanPtr plan = planned(text);
  const int64_t total = plan->size();
  std::vector<std::byte> mem = noise(plan->type().true_ub, 1);
  std::vector<std::byte> want(static_cast<size_t>(total));
  pack(*plan, mem.data(), 1, want.data());
  std::vector<std::byte> packed = noise(total, 2);
  std::vector<std::byte> want_back = mem;
  unpack(*plan, packed.data(), 1, want_back.data());
  std::vector<std::byte> got(want.size());
  std::vector<std::byte> back = mem;
  std::vector<int64_t> begins;
  for (int64_t at = 0; at < total; at += lengths[(begins.size() - 1) % lengths.size()])
    begins.push_back(at);
  std::vector<size_t> order;
  for (size_t i = 0; i < begins.size(); ++i) order.push_back(i);
  uint64_t state = 5;
  for (size_t i = order.size(); i > 1; --i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  Stream<true> packing(plan, mem.data(), 1, kCap, keep_bytes);
  Stream<false> unpacking(plan, back.data(), 1, kCap, keep_bytes);
  std::vector<std::byte> other = noise(300000, 3);
  for (const size_t i : order) {
    const int64_t bytes = std::min(lengths[i % lengths.size()], total - begins[i]);
    packing.seek(begins[i]);
    packing.next(got.data() + begins[i], bytes);
    if (i % 5 == 0) {
      unpacking.seek(begins[i]);
      unpacking.next(other.data(), bytes);
    }
    unpacking.seek(begins[i]);
    unpacking.next(packed.data() + begins[i], bytes);
    ASSERT_EQ(unpacking.left(), total - begins[i] - bytes);
  }
  unpacking.flush();
  EXPECT_EQ(got, want) << text;
  EXPECT_EQ(back, want_back) << text;
}

TEST(Stream, IsTheMessageInAnyOrder) {
  for (const char* const text :
       {"contiguous(300, resized(0, 8, vector(500, 1, 301, double)))",
        "contiguous(129, resized(0, 8, vector(1024, 1, 129, double)))",
        "contiguous(301, resized(0, 3, vector(500, 3, 1000, char)))",
        "contiguous(3, resized(0, 400000, contiguous(40, resized(0, 4, vector(1000, 1, 99, "
        "int)))))",
        "vector(4000, 1, 3, double)"}) {
    for (const int64_t keep_bytes : {int64_t{0}, int64_t{1} << 20, kKeep}) {
      expect_same_in_any_order(text, {8192}, keep_bytes);
      expect_same_in_any_order(text, {1, 100000, 77, 4096, 300000}, keep_bytes);
    }
    // More ranges in a group than ReceivedRanges holds.
    expect_same_in_any_order(text, {1999}, kKeep);
  }
}

TEST(Stream, WhatComesAgainReplacesWhatIsHeld) {
  const PlanPtr plan = planned("contiguous(64, resized(0, 8, vector(1000, 1, 64, double)))");
  std::vector<double> matrix(64000, 0);
  std::vector<double> first(64000, 1);
  std::vector<double> second(64000, 2);
  Stream<false> stream(plan, reinterpret_cast<std::byte*>(matrix.data()), 1, kCap, kKeep);
  stream.next(reinterpret_cast<std::byte*>(first.data()), 8000);
  stream.seek(0);
  stream.next(reinterpret_cast<std::byte*>(second.data()), 512000);
  stream.flush();
  EXPECT_EQ(matrix, second);
}

TEST(ReceivedRanges, JoinsWhatMeets) {
  ReceivedRanges ranges;
  EXPECT_TRUE(ranges.add(10, 20));
  EXPECT_TRUE(ranges.add(30, 40));
  EXPECT_FALSE(ranges.cover(10, 40));
  EXPECT_TRUE(ranges.add(20, 30));
  EXPECT_TRUE(ranges.cover(10, 40));
  EXPECT_EQ(ranges.end() - ranges.begin(), 1);
  EXPECT_TRUE(ranges.add(50, 60));
  EXPECT_TRUE(ranges.add(0, 5));
  EXPECT_TRUE(ranges.add(3, 55));
  EXPECT_TRUE(ranges.cover(0, 60));
  EXPECT_EQ(ranges.end() - ranges.begin(), 1);
  EXPECT_FALSE(ranges.cover(0, 61));
}

TEST(ReceivedRanges, RefusesMoreRangesThanItHolds) {
  ReceivedRanges ranges;
  for (int64_t i = 0; i < static_cast<int64_t>(ReceivedRanges::kMost); ++i)
    EXPECT_TRUE(ranges.add(10 * i, 10 * i + 5));
  EXPECT_FALSE(ranges.add(10000, 10001));
  EXPECT_FALSE(ranges.cover(10000, 10001));
  EXPECT_TRUE(ranges.add(5, 10));  // joins two
  EXPECT_TRUE(ranges.add(10000, 10001));
}

TEST(Stream, FlushBringsWhatCameToMemory) {
  const PlanPtr plan = planned("contiguous(64, resized(0, 8, vector(1000, 1, 64, double)))");
  std::vector<double> matrix(64000, 0);
  std::vector<double> packed(1500, 7);
  Stream<false> stream(plan, reinterpret_cast<std::byte*>(matrix.data()), 1, kCap, kKeep);
  stream.next(reinterpret_cast<std::byte*>(packed.data()), 12000);
  stream.flush();
  EXPECT_EQ(matrix[0], 7);
  EXPECT_EQ(matrix[499 * 64 + 1], 7);
  EXPECT_EQ(matrix[500 * 64 + 1], 0);
}

TEST(Stream, EndsInMemoryWhenDestroyed) {
  std::vector<double> matrix(64000, 0);
  std::vector<double> packed(100, 7);
  {
    Stream<false> stream(planned("contiguous(64, resized(0, 8, vector(1000, 1, 64, double)))"),
                         reinterpret_cast<std::byte*>(matrix.data()), 1, kCap, kKeep);
    stream.next(reinterpret_cast<std::byte*>(packed.data()), 800);
  }
  EXPECT_EQ(matrix[99 * 64], 7);
  EXPECT_EQ(matrix[100 * 64], 0);
}

}  // namespace
}  // namespace lacuna
