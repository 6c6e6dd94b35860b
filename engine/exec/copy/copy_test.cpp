// SPDX-License-Identifier: BSD-3-Clause
//
// Copies between pairs of layouts for every CopyWay, each checked against the typemaps of both
// sides, between guard pages, with the gaps of the target compared afterwards. Random pairs are in
// tests/property/engine_property.cpp.
#include "exec/copy/copy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "property/case.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

using testing::Case;
using testing::Expected;
using testing::Guarded;

struct Pair {
  CopyWay way;
  const char* source;
  int64_t source_count;
  const char* target;
  int64_t target_count;
};

Case case_of(const std::string& text, int64_t count, uint64_t seed) {
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  Case c;
  c.seed = seed;
  c.type = std::move(type).value();
  c.count = count;
  return c;
}

void check(const Pair& pair, const KernelTable& kernels, const Machine& host) {
  SCOPED_TRACE(std::string(kernels.isa) + ": " + pair.source + " -> " + pair.target);
  const Case a = case_of(pair.source, pair.source_count, 1);
  const Case b = case_of(pair.target, pair.target_count, 2);
  const PlanPtr from = make_plan(a.type, kernels, host);
  const PlanPtr to = make_plan(b.type, kernels, host);
  const Expected source(a);
  const Expected target(b);
  ASSERT_EQ(source.packed_bytes(), target.packed_bytes());
  EXPECT_EQ(copy_way_name(copy_way(*from, a.count, *to, b.count)), copy_way_name(pair.way));
  const std::vector<std::byte> want = target.unpacked(source.packed());
  for (const bool at_upper : {false, true}) {
    const Guarded source_mem(source.span(), at_upper);
    source.fill(source_mem.data(), source_mem.size(), 1);
    const Guarded target_mem(target.span(), at_upper);
    target.fill(target_mem.data(), target_mem.size(), 2);
    copy(*from, source.buffer(source_mem), a.count, *to, target.buffer(target_mem), b.count);
    EXPECT_EQ(testing::differ("copy", target_mem.data(), want.data(), want.size()), "");
  }
}

void check(const Pair& pair) {
  Machine tiny;
  tiny.l1_bytes = 1024;
  tiny.stream_transpose_bytes = 0;
  tiny.stream_run_bytes = 0;
  for (const KernelTable* kernels : kernel_tables()) {
    check(pair, *kernels, machine());
    check(pair, *kernels, tiny);
  }
}

TEST(Copy, NothingToCopy) {
  check({CopyWay::kNothing, "vector(3, 1, 2, int)", 0, "contiguous(0, double)", 7});
}

TEST(Copy, OneSideIsARun) {
  check({CopyWay::kPack, "vector(100, 1, 3, double)", 1, "contiguous(100, double)", 1});
  check({CopyWay::kPack, "vector(10, 1, 3, double)", 10, "double", 100});
  check({CopyWay::kUnpack, "contiguous(100, double)", 1, "vector(100, 1, -3, double)", 1});
  check({CopyWay::kPack, "int", 100, "contiguous(100, int)", 1});
}

TEST(Copy, LoopsOverRuns) {
  const char* column = "vector(120, 1, 5, double)";
  check({CopyWay::kJoint, column, 1, "vector(120, 1, 7, double)", 1});
  check({CopyWay::kJoint, column, 1, "vector(60, 2, 7, double)", 1});
  check({CopyWay::kJoint, column, 1, "resized(0, 8, vector(12, 1, 10, double))", 10});
  check({CopyWay::kJoint, column, 2, "vector(12, 20, 25, double)", 1});
  check({CopyWay::kJoint, "vector(9, 1, 2, byte)", 4, "resized(0, 3, byte)", 36});
  check({CopyWay::kJoint, "vector(8, 240, 300, byte)", 1, "vector(24, 5, -7, short)", 8});
  check({CopyWay::kJoint, "subarray([9, 8, 7], [6, 4, 5], [1, 2, 1], c, int)", 1,
         "subarray([6, 40], [6, 20], [0, 5], c, int)", 1});
  check({CopyWay::kJoint, "resized(0, 24, vector(40, 3, 9, byte))", 3, "vector(120, 3, 17, byte)",
         1});
}

TEST(Copy, TransposesOfEveryWidth) {
  for (const char* basic : {"byte", "short", "int", "double", "double_complex",
                            "contiguous(3, double)", "contiguous(7, byte)"}) {
    for (const char* shape : {"33, 47", "64, 64", "5, 100", "100, 5"}) {
      const std::string s(shape);
      const std::string rows = s.substr(0, s.find(','));
      const std::string cols = s.substr(s.find(',') + 2);
      // Rows of a matrix with a gap at the end of each, and the same by columns.
      const std::string by_rows =
          "hvector(" + rows + ", 1, 8192, contiguous(" + cols + ", " + basic + "))";
      const std::string by_columns = "contiguous(" + rows + ", resized(0, " +
                                     std::to_string(parse_type(basic).value()->extent()) +
                                     ", hvector(" + cols + ", 1, 5600, " + basic + ")))";
      check({CopyWay::kJoint, by_rows.c_str(), 1, by_columns.c_str(), 1});
      check({CopyWay::kJoint, by_columns.c_str(), 1, by_rows.c_str(), 1});
    }
  }
}

TEST(Copy, ColumnsOfRecordsBothWays) {
  // Neighbours on each side share lines but are not next to each other: tiles.
  check({CopyWay::kJoint, "resized(0, 16, vector(90, 1, 200, double))", 70,
         "hvector(70, 1, 4000, hvector(90, 1, 24, double))", 1});
}

TEST(Copy, OneLayoutTwice) {
  const char* list = "indexed_block(1, [3, 1, 8, 6, 20, 11], double)";
  check({CopyWay::kAlike, list, 1, list, 1});
  check({CopyWay::kAlike, list, 5, list, 5});
  const char* ragged = "indexed([1, 3, 2, 4], [0, 2, 7, 12], int)";
  check({CopyWay::kAlike, ragged, 7, ragged, 7});
  const char* record =
      "resized(0, 6200, struct([1, 1, 2], [0, 400, 6000], [vector(9, 1, 4, int), subarray([9, 9], "
      "[4, 5], [1, 1], c, double), indexed_block(3, [0, 9, 40], short)]))";
  check({CopyWay::kAlike, record, 1, record, 1});
  check({CopyWay::kAlike, record, 3, record, 3});
  for (const char* basic : {"byte", "int", "double", "double_complex", "contiguous(5, short)"}) {
    const std::string text = "indexed_block(1, [3, 1, 8, 6, 20, 11], " + std::string(basic) + ")";
    check({CopyWay::kAlike, text.c_str(), 3, text.c_str(), 3});
  }
}

// The last value stays, so all has to be in order.
TEST(Copy, ToOneThatHasAByteTwice) {
  const char* twice = "indexed_block(1, [3, 1, 8, 3, 1, 11], double)";
  check({CopyWay::kStaged, twice, 1, twice, 1});
  check({CopyWay::kStaged, "vector(300, 2, 3, double)", 1, "hvector(600, 1, 4, double)", 1});
  check({CopyWay::kStaged, "vector(300, 2, 3, double)", 1, "resized(0, 4, double)", 600});
}

TEST(Copy, LongRunsOnBothSides) {
  check({CopyWay::kCursors, "indexed([100, 300, 200, 40], [0, 200, 700, 1200], int)", 3,
         "indexed([240, 240, 160], [800, 400, 0], int)", 3});
  check({CopyWay::kCursors, "vector(6, 500, 600, byte)", 1, "vector(4, 750, 900, byte)", 1});
  check({CopyWay::kCursors,
         "struct([1, 1], [0, 9000], [vector(5, 300, 400, byte), "
         "indexed_block(500, [0, 1500, 800], byte)])",
         2, "struct([1, 1], [4000, 0], [vector(4, 650, 700, byte), contiguous(400, byte)])", 2});
}

TEST(Copy, LongRunsOnOneSide) {
  const char* fine = "indexed([1, 3, 2, 4], [0, 2, 7, 12], int)";  // 40 bytes
  check({CopyWay::kTarget, fine, 300, "hindexed([5000, 7000], [8000, 0], byte)", 1});
  check({CopyWay::kSource, "hindexed([5000, 7000], [8000, 0], byte)", 1, fine, 300});
  check({CopyWay::kTarget, fine, 300, "hindexed([5001, 6999], [8000, 0], byte)", 1});
}

TEST(Copy, NothingInCommon) {
  const char* fine = "indexed([1, 3, 2, 4], [0, 2, 7, 12], int)";
  check({CopyWay::kStaged, fine, 4000, "vector(2000, 5, 9, double)", 2});
  check({CopyWay::kStaged, "vector(5000, 1, 3, double)", 1,
         "indexed([3, 1], [0, 5], contiguous(5, int))", 500});
  check({CopyWay::kStaged, "vector(50, 3, 4, short)", 100, "vector(15, 5, 7, int)", 100});
}

TEST(Copy, RecordsOfRecords) {
  std::string deep = "struct([1, 1], [0, 600], [contiguous(300, byte), contiguous(301, byte)])";
  for (int i = 0; i < 5; ++i) {
    const std::string shift = std::to_string(4000 << (2 * i));
    deep = "struct([1, 1, 1], [0, " + shift + ", " + std::to_string(11000 << (2 * i)) + "], [" +
           deep + ", " + deep + ", contiguous(" + std::to_string(300 + i) + ", byte)])";
  }
  const Case c = case_of(deep, 1, 1);
  const std::string flat =
      "hindexed([1000, " + std::to_string(c.type->size_bytes - 1000) + "], [90000, 0], byte)";
  check({CopyWay::kCursors, deep.c_str(), 1, flat.c_str(), 1});
  check({CopyWay::kCursors, flat.c_str(), 1, deep.c_str(), 1});
}

}  // namespace
}  // namespace lacuna
