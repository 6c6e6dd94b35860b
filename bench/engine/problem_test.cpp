// SPDX-License-Identifier: BSD-3-Clause
//
// The problem of a row of the corpus: its lists, its memory, and the loops an application would
// have.
#include "bench/engine/problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "bench/engine/lists.hpp"
#include "bench/engine/rival.hpp"
#include "bench/engine/rivals/by_hand_shape.hpp"
#include "type/text/text.hpp"

namespace lacuna::bench {
namespace {

std::vector<int64_t> displacements(const std::string& list) {
  const auto text = expand_lists("indexed_block(1, " + list + ", double)");
  EXPECT_TRUE(text.ok()) << list;
  const auto type = parse_type(*text);
  EXPECT_TRUE(type.ok()) << list;
  return (*type)->displacements;
}

TEST(Lists, SortedIsAscendingAndInRange) {
  const auto list = displacements("sorted(100, 300, 7)");
  EXPECT_EQ(list.size(), 100u);
  EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
  EXPECT_EQ(std::set<int64_t>(list.begin(), list.end()).size(), 100u);
  EXPECT_GE(list.front(), 0);
  EXPECT_LT(list.back(), 300);
}

TEST(Lists, RandomIsTheSameNumbersInAnotherOrder) {
  auto list = displacements("random(100, 300, 7)");
  EXPECT_FALSE(std::is_sorted(list.begin(), list.end()));
  std::sort(list.begin(), list.end());
  EXPECT_EQ(list, displacements("sorted(100, 300, 7)"));
}

TEST(Lists, ScaleMultipliesAndSeedsDiffer) {
  auto list = displacements("random(100, 300, 7)");
  for (int64_t& value : list) value *= 3;
  EXPECT_EQ(displacements("random(100, 300, 7, 3)"), list);
  EXPECT_NE(displacements("random(100, 300, 8, 3)"), list);
}

TEST(Lists, ClustersAreRunsAtMultiples) {
  const auto list = displacements("clustered(60, 400, 7, 16)");
  ASSERT_EQ(list.size(), 60u);
  for (size_t i = 0; i < list.size(); ++i) {
    if (i % 16 == 0) {
      EXPECT_EQ(list[i] % 16, 0);
    } else {
      EXPECT_EQ(list[i], list[i - 1] + 1);
    }
  }
}

TEST(Lists, BlocksOfTheSameSeedDoNotMeet) {
  const auto text = expand_lists("indexed(lengths(50, 1, 8, 3), starts(50, 1, 8, 4, 3), double)");
  ASSERT_TRUE(text.ok());
  const auto type = parse_type(*text);
  ASSERT_TRUE(type.ok());
  for (size_t i = 1; i < 50; ++i) {
    const int64_t gap =
        (*type)->displacements[i] - (*type)->displacements[i - 1] - (*type)->blocklengths[i - 1];
    EXPECT_GE(gap, 1);
    EXPECT_LE(gap, 4);
  }
}

TEST(Lists, OtherTextStaysAsItIs) {
  const std::string text = "resized(0, 8, vector(4, 1, 4, c_double_complex))";
  EXPECT_EQ(*expand_lists(text), text);
}

TEST(Lists, WrongListsAreNamed) {
  for (const char* list : {"sorted(10, 5, 1)", "random(10, 20)", "lengths(3, 8, 1, 1)",
                           "sorted(10, 20, x)", "clustered(10, 20, 1, 0)", "sorted(-1, 2, 3)"}) {
    const auto text = expand_lists("indexed_block(1, " + std::string(list) + ", double)");
    ASSERT_FALSE(text.ok()) << list;
    EXPECT_EQ(text.error().status, LACUNA_PARSE_ERROR);
    EXPECT_EQ(text.error().message.rfind("wrong list: " + std::string(list), 0), 0u)
        << text.error().message;
  }
}

Row row(const std::string& text, int64_t count) {
  Row made;
  made.id = "test";
  made.count = count;
  made.text = text;
  return made;
}

TEST(Problem, CountsTheLinesThatHoldData) {
  // 8 bytes in every second line, and 128 bytes without gaps.
  const auto far = Problem::make(row("vector(10, 1, 16, double)", 1));
  ASSERT_TRUE(far.ok());
  EXPECT_EQ((*far)->mem_lines(), 10);
  EXPECT_EQ((*far)->packed_lines(), 2);
  EXPECT_EQ((*far)->mem_pages(), 1);
  EXPECT_EQ((*far)->runs(), 10);
  const auto dense = Problem::make(row("double", 16));
  ASSERT_TRUE(dense.ok());
  EXPECT_EQ((*dense)->mem_lines(), 2);
  EXPECT_EQ((*dense)->runs(), 1);
  // Two elements share a line: it counts once.
  const auto close = Problem::make(row("vector(16, 1, 2, double)", 1));
  ASSERT_TRUE(close.ok());
  EXPECT_EQ((*close)->mem_lines(), 4);
}

TEST(Problem, SeesAWrongByteAndAWrittenGap) {
  const auto made = Problem::make(row("vector(10, 1, 16, double)", 1));
  ASSERT_TRUE(made.ok());
  const Problem& problem = **made;
  problem.fill_memory(1);
  for (int i = 0; i < 10; ++i) {
    std::copy_n(problem.buffer() + 128 * i, 8, problem.packed() + 8 * i);
  }
  EXPECT_EQ(problem.check_packed(1), "");
  problem.packed()[79] ^= std::byte{1};
  EXPECT_NE(problem.check_packed(1), "");

  problem.fill_packed(2);
  for (int i = 0; i < 10; ++i) {
    std::copy_n(problem.packed() + 8 * i, 8, problem.buffer() + 128 * i);
  }
  EXPECT_EQ(problem.check_memory(2, 1), "");
  problem.buffer()[8] ^= std::byte{1};
  EXPECT_NE(problem.check_memory(2, 1), "");
}

// The rival that only touches cache lines: a byte of data in each line of the memory, and no gap
// byte; all of the packed side.
TEST(Lines, TouchesEachLineOnce) {
  // Constant strides, runs of several lines, lines with several runs, and a random list.
  for (const char* text :
       {"vector(1000, 1, 16, double)", "vector(20, 100, 133, int)", "vector(999, 1, 3, double)",
        "indexed_block(1, [900, 3, 500, 4, 77, 1203, 11, 640, 2, 300], double)"}) {
    Row far = row(text, 1);
    const auto rival = lines_rival();
    const auto near = Problem::make(far);
    ASSERT_TRUE(near.ok());
    EXPECT_FALSE(rival->prepare(**near)) << "only out of the caches";
    far.is_far = true;
    const auto made = Problem::make(far);
    ASSERT_TRUE(made.ok());
    const Problem& problem = **made;
    ASSERT_TRUE(rival->prepare(problem));
    std::byte* const mem = problem.buffer();
    std::fill_n(mem, problem.span_bytes(), std::byte{1});
    std::fill_n(problem.packed(), problem.packed_bytes(), std::byte{1});
    rival->pack(mem, problem.packed(), 1);
    EXPECT_EQ(std::count(problem.packed(), problem.packed() + problem.packed_bytes(), std::byte{0}),
              problem.packed_bytes())
        << text;
    EXPECT_EQ(std::count(mem, mem + problem.span_bytes(), std::byte{0}), 0) << text;
    rival->unpack(problem.packed(), mem, 1);
    std::set<int64_t> data;
    for (const auto& run : problem.in_order())
      for (int64_t at = run.offset; at < run.offset + run.bytes; ++at) data.insert(at);
    std::set<int64_t> lines;
    for (int64_t at = 0; at < problem.span_bytes(); ++at) {
      if (mem[at] != std::byte{0}) continue;
      EXPECT_TRUE(data.contains(at)) << text << " wrote a gap at " << at;
      lines.insert(at / 64);
    }
    EXPECT_EQ(static_cast<int64_t>(lines.size()), problem.mem_lines()) << text;
    rival->release();
  }
}

TEST(HandShape, LoopsThatContinueEachOtherAreOne) {
  const auto shape = hand_shape(**parse_type("vector(10, 1, 16, contiguous(3, double))"), 1);
  ASSERT_TRUE(shape.has_value());
  ASSERT_EQ(shape->nests.size(), 1u);
  EXPECT_EQ(shape->nests[0].bytes, 24);
  ASSERT_EQ(shape->nests[0].loops.size(), 1u);
  EXPECT_EQ(shape->nests[0].loops[0].stride, 384);
}

TEST(HandShape, AListOfStructsIsOneLoopOverIt) {
  const auto type = parse_type(
      "indexed_block(1, [7, 0, 3], resized(0, 16, struct([1, 1], [0, 8], [double, int])))");
  const auto shape = hand_shape(**type, 1);
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->structs, 3);
  EXPECT_EQ(shape->nests.size(), 2u);
  EXPECT_EQ(shape->at, (std::vector<int64_t>{112, 0, 48}));
}

TEST(HandShape, StructsAreOneLoopOverTheirFields) {
  const auto type = parse_type("resized(0, 40, struct([1, 3], [0, 8], [int, double]))");
  const auto shape = hand_shape(**type, 100);
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->structs, 100);
  EXPECT_EQ(shape->extent, 40);
  ASSERT_EQ(shape->nests.size(), 2u);
  EXPECT_EQ(shape->nests[1].offset, 8);
  EXPECT_EQ(shape->nests[1].bytes, 24);
}

}  // namespace
}  // namespace lacuna::bench
