// SPDX-License-Identifier: BSD-3-Clause
//
// Streams of messages that random types seldom are: groups of many columns, several nests in a row,
// pieces across their borders. The random ladder of oracles is tests/property/engine_property.cpp.
#include "exec/stream.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "exec/exec.hpp"
#include "type/text.hpp"

namespace lacuna {
namespace {

constexpr int64_t kCap = int64_t{1} << 30;

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

// The lengths of pieces, in turns.
void expect_same(const std::string& text, int64_t count, const std::vector<int64_t>& lengths,
                 int64_t cap_bytes) {
  const PlanPtr plan = planned("resized(0, 3000000, " + text + ")");  // elements must not overlap
  const int64_t total = count * plan->size();
  const int64_t span = plan->type().true_ub + (count - 1) * plan->extent();
  std::vector<std::byte> mem = noise(span, 1);
  std::vector<std::byte> want(static_cast<size_t>(total));
  pack(*plan, mem.data(), count, want.data());
  std::vector<std::byte> got(want.size());
  Stream<true> packing(plan, mem.data(), count, cap_bytes);
  const std::vector<std::byte> packed = noise(total, 2);
  std::vector<std::byte> want_back = mem;
  unpack(*plan, packed.data(), count, want_back.data());
  std::vector<std::byte> back = mem;
  Stream<false> unpacking(plan, back.data(), count, cap_bytes);
  size_t piece = 0;
  for (int64_t at = 0; at < total; ++piece) {
    const int64_t bytes = std::min(lengths[piece % lengths.size()], total - at);
    packing.next(got.data() + at, bytes);
    unpacking.next(const_cast<std::byte*>(packed.data()) + at, bytes);
    at += bytes;
    ASSERT_EQ(packing.left(), total - at);
  }
  EXPECT_EQ(got, want) << text;
  EXPECT_EQ(back, want_back) << text;  // the last byte of a message brings all of it to memory
}

TEST(Stream, IsTheMessage) {
  for (const char* const text :
       {"contiguous(300, resized(0, 8, vector(500, 1, 301, double)))",
        "contiguous(300, resized(0, 3, vector(500, 3, 1000, char)))",
        "contiguous(3, resized(0, 400000, contiguous(40, resized(0, 4, vector(1000, 1, 99, "
        "int)))))",
        "struct([1, 3, 1], [16, 1000000, 2000000], [contiguous(200, resized(0, 8, vector(400, 1, "
        "256, double))), int, contiguous(100, resized(0, 16, vector(300, 2, 210, double)))])",
        "vector(4000, 1, 3, double)", "contiguous(90000, char)"}) {
    for (const int64_t count : {1, 3}) {
      expect_same(text, count, {8192}, kCap);
      expect_same(text, count, {1, 100000, 77, 4096, 300000}, kCap);
      expect_same(text, count, {5000}, 0);
    }
  }
}

TEST(Stream, ColumnsAreAGroup) {
  const PlanPtr plan = planned("contiguous(1024, resized(0, 8, vector(1024, 1, 1024, double)))");
  const StreamPart part = stream_part(*plan, 1, 100000, 200000);
  EXPECT_TRUE(part.is_group);
  EXPECT_EQ(part.begin, 0);  // three times the eight columns of 8 KiB that share lines
  EXPECT_EQ(part.end, 3 * 65536);
  EXPECT_EQ(part.last, 1024 * 8192);
  EXPECT_FALSE(stream_part(*planned("vector(1000, 1, 8, double)"), 1, 10, 200000).is_group);
}

TEST(Stream, FlushBringsWhatCameToMemory) {
  const PlanPtr plan = planned("contiguous(64, resized(0, 8, vector(1000, 1, 64, double)))");
  std::vector<double> matrix(64000, 0);
  std::vector<double> packed(1500, 7);
  Stream<false> stream(plan, reinterpret_cast<std::byte*>(matrix.data()), 1, kCap);
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
                         reinterpret_cast<std::byte*>(matrix.data()), 1, kCap);
    stream.next(reinterpret_cast<std::byte*>(packed.data()), 800);
  }
  EXPECT_EQ(matrix[99 * 64], 7);
  EXPECT_EQ(matrix[100 * 64], 0);
}

}  // namespace
}  // namespace lacuna
