// SPDX-License-Identifier: BSD-3-Clause
//
// Known types, and random ones compared byte by byte.
#include "layout/disjoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "type/random/random.hpp"
#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace lacuna {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

int64_t most(const char* text) {
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  return most_disjoint(lower(*type.value()));
}

TEST(Disjoint, AnyCountOfWhatMayBeReceived) {
  for (const char* text :
       {"double", "double_int", "contiguous(0, int)", "vector(10, 2, 7, int)",
        "vector(10, 2, -7, int)", "resized(0, -64, vector(2, 2, 4, double))",
        "subarray([8, 8, 8], [8, 2, 1], [0, 1, 3], c, double)",
        "indexed([1, 2, 1], [9, 3, 0], double)", "indexed_block(1, [7, 1, 4, 2], double)",
        "struct([3, 1, 2, 1], [0, 24, 28, 32], [double, int, char, long])",
        // Two columns of one matrix, one after the other in the stream.
        "resized(0, 8000, struct([1, 1], [0, 8], [vector(10, 1, 100, double), "
        "vector(10, 1, 100, double)]))"}) {
    EXPECT_EQ(most(text), kAny) << text;
  }
}

// Elements that interleave.
TEST(Disjoint, AsManyAsThereIsRoomFor) {
  EXPECT_EQ(most("resized(0, 8, vector(10, 1, 100, double))"), 100);
  EXPECT_EQ(most("resized(0, -8, vector(10, 1, 100, double))"), 100);
  EXPECT_EQ(most("resized(0, 16, vector(10, 1, 100, double))"), 50);
  EXPECT_EQ(most("resized(0, 8, indexed_block(1, [0, 30, 10, 21], double))"), 9);
  EXPECT_EQ(most("resized(0, 4, double)"), 1);
  EXPECT_EQ(most("resized(0, 0, double)"), 1);
  EXPECT_EQ(most("resized(0, 16, struct([1, 1], [0, 8], [vector(4, 1, 20, double), "
                 "vector(4, 1, 20, double)]))"),
            10);
}

TEST(Disjoint, NoneOfWhatHasAByteTwice) {
  for (const char* text :
       {"vector(2, 1, 0, double)", "hvector(2, 1, 4, double)", "indexed_block(1, [0, 1, 0], int)",
        "indexed([2, 2], [0, 1], int)", "contiguous(2, resized(0, 4, double))",
        "struct([1, 1], [0, 4], [double, double])",
        "hvector(10, 1, 8, vector(10, 1, 5, double))"}) {
    EXPECT_EQ(most(text), 0) << text;
  }
}

// Too many runs to compare one by one.
TEST(Disjoint, LargeOnes) {
  EXPECT_EQ(most("resized(0, 8, vector(1000000, 1, 1000000, double))"), 1000000);
  EXPECT_EQ(most("resized(0, 16, struct([1, 1], [0, 8], [vector(1000000, 1, 1000, double), "
                 "vector(1000000, 1, 1000, double)]))"),
            500);
  EXPECT_EQ(most("hvector(1000000, 1, 8, vector(1000000, 1, 999999, double))"), 0);
}

// More pieces and more runs than are compared one by one: 200 columns of 30 runs and more, the last
// at `last`.
std::string many_pieces(int64_t last) {
  std::string ones;
  std::string places;
  std::string columns;
  for (int64_t i = 0; i < 200; ++i) {
    const char* const comma = i > 0 ? ", " : "";
    ones += std::string(comma) + "1";
    places += comma + std::to_string(i == 199 ? last : 2048 * i);
    columns += comma + ("vector(" + std::to_string(30 + i * i % 7)) + ", 1, " +
               std::to_string(3 + i % 4) + (i % 3 == 0 ? ", int)" : ", double)");
  }
  return "struct([" + ones + "], [" + places + "], [" + columns + "])";
}

TEST(Disjoint, ManyPieces) {
  const std::string type = many_pieces(500'000);
  EXPECT_EQ(most(type.c_str()), kAny);
  EXPECT_EQ(most(("contiguous(3, " + type + ")").c_str()), kAny);
  EXPECT_EQ(most(("hvector(3, 1, -5_000_000, " + type + ")").c_str()), kAny);
  EXPECT_EQ(most(("hindexed_block(1, [9_000_000, 0], " + type + ")").c_str()), kAny);
  EXPECT_EQ(most(many_pieces(0).c_str()), 0);
  EXPECT_EQ(most(("hvector(3, 1, 720, " + type + ")").c_str()), 0);
}

TEST(Disjoint, FarApart) {
  EXPECT_EQ(most("hvector(2, 1, 9_223_372_036_854_775_000, double)"), kAny);
  EXPECT_EQ(most("hindexed([1, 1], [-4_611_686_018_427_387_904, 4_611_686_018_427_387_000], "
                 "double)"),
            kAny);
  EXPECT_EQ(most("resized(0, -1_000_000_000_000_000_000, vector(3, 1, 100, double))"), kAny);
  EXPECT_EQ(most("hvector(4_000_000_000_000_000_000, 1, 0, char)"), 0);
}

TEST(Disjoint, IsFoundOutOfNearlyAllRandomTypes) {
  int unfound = 0;
  int received = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    RandomOptions options;
    options.overlap = seed % 3 == 0;
    options.max_entries = 300;
    const TypePtr type = random_type(seed, options);
    const int64_t count = 1 + static_cast<int64_t>(seed % 4);
    const int64_t found = most_disjoint(lower(*type));
    const bool is_disjoint = !has_overlap(*type, count);
    if (found >= count) {
      EXPECT_TRUE(is_disjoint) << count << " of " << print_type(*type);
    }
    received += is_disjoint ? 1 : 0;
    unfound += is_disjoint && found < count ? 1 : 0;
  }
  EXPECT_GT(received, 1000);
  EXPECT_LT(unfound, received / 200);
}

// Structs of so many parts that each is looked at alone: apart, close to each other, or
// overlapping.
TEST(Disjoint, RandomOnesOfManyParts) {
  RandomOptions options;
  options.max_depth = 2;
  options.max_entries = 60;
  int apart = 0;
  int found_apart = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    std::vector<int64_t> ones;
    std::vector<int64_t> places;
    std::vector<TypePtr> parts;
    int64_t at = 0;
    const int64_t number = random.between(65, 90);
    for (int64_t i = 0; i < number; ++i) {
      const TypePtr part = random_type(1000 * seed + static_cast<uint64_t>(i % 5), options);
      const int64_t span = part->true_ub - part->true_lb;
      if (span > 100'000) continue;
      ones.push_back(1);
      parts.push_back(part);
      places.push_back(at - part->true_lb);
      // Now and then a byte less than there is room for.
      at += span + (random.chance(2) ? random.between(-1, 0) : random.between(0, 40));
    }
    const auto made = make_struct(ones, places, parts);
    if (!made.ok() || made.value()->size_bytes == 0) continue;
    const Type& type = *made.value();
    const int64_t found = most_disjoint(lower(type));
    const bool is_disjoint = !has_overlap(type, 1);
    if (found >= 1) {
      EXPECT_TRUE(is_disjoint) << print_type(type);
    }
    apart += is_disjoint ? 1 : 0;
    found_apart += is_disjoint && found >= 1 ? 1 : 0;
  }
  EXPECT_GT(apart, 50);
  EXPECT_GT(found_apart, apart * 9 / 10);
}

}  // namespace
}  // namespace lacuna
