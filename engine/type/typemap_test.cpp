// SPDX-License-Identifier: BSD-3-Clause
//
// What types mean: the bytes of basics; typemaps compared with lists written by hand, and with the
// sizes and bounds that the constructors derive; and the shares of a distributed array.
#include "type/typemap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "type/random/random.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

using Entries = std::vector<TypemapEntry>;

TypePtr parsed(std::string_view text) {
  const Result<TypePtr> type = parse_type(text);
  if (type) return *type;
  ADD_FAILURE() << type.error().message;
  return make_named(*find_basic("byte"));
}

Entries entries(std::string_view text, int64_t count = 1) {
  const Result<Entries> listed = typemap(*parsed(text), count);
  if (listed) return *listed;
  ADD_FAILURE() << listed.error().message;
  return {};
}

// Entries of one size.
Entries at(const std::vector<int64_t>& offsets, int64_t size_bytes) {
  Entries result;
  for (const int64_t offset : offsets) result.push_back({offset, size_bytes});
  return result;
}

// ---- basics ----

TEST(Basics, AreConsistent) {
  for (const Basic& basic : all_basics()) {
    SCOPED_TRACE(basic.name);
    int64_t size = 0;
    int64_t end = 0;
    for (int i = 0; i < basic.part_count; ++i) {
      EXPECT_GE(basic.parts[i].offset_bytes, end) << "parts overlap";
      end = basic.parts[i].offset_bytes + basic.parts[i].size_bytes;
      size += basic.parts[i].size_bytes;
    }
    EXPECT_EQ(size, basic.size_bytes);
    EXPECT_LE(end, basic.extent_bytes);
    EXPECT_EQ(basic.extent_bytes % basic.alignment_bytes, 0);
  }
}

// The table compared with this compiler's types.
template <typename T>
void expect_like(const char* name) {
  const Basic* basic = find_basic(name);
  ASSERT_NE(basic, nullptr) << name;
  EXPECT_EQ(basic->size_bytes, static_cast<int64_t>(sizeof(T))) << name;
  EXPECT_EQ(basic->extent_bytes, static_cast<int64_t>(sizeof(T))) << name;
  EXPECT_EQ(basic->alignment_bytes, static_cast<int64_t>(alignof(T))) << name;
}

template <typename Value, typename Index>
void expect_pair(const char* name) {
  struct Pair {
    Value value;
    Index index;
  };
  const Basic* basic = find_basic(name);
  ASSERT_NE(basic, nullptr) << name;
  ASSERT_EQ(basic->part_count, 2) << name;
  EXPECT_EQ(basic->extent_bytes, static_cast<int64_t>(sizeof(Pair))) << name;
  EXPECT_EQ(basic->alignment_bytes, static_cast<int64_t>(alignof(Pair))) << name;
  EXPECT_EQ(basic->parts[0].offset_bytes, 0) << name;
  EXPECT_EQ(basic->parts[0].size_bytes, static_cast<int64_t>(sizeof(Value))) << name;
  EXPECT_EQ(basic->parts[1].offset_bytes, static_cast<int64_t>(offsetof(Pair, index))) << name;
  EXPECT_EQ(basic->parts[1].size_bytes, static_cast<int64_t>(sizeof(Index))) << name;
}

TEST(Basics, AgreeWithTheCompiler) {
  expect_like<char>("char");
  expect_like<wchar_t>("wchar");
  expect_like<short>("short");
  expect_like<int>("int");
  expect_like<unsigned>("unsigned");
  expect_like<long>("long");
  expect_like<unsigned long long>("unsigned_long_long");
  expect_like<float>("float");
  expect_like<double>("double");
  expect_like<long double>("long_double");
  expect_like<int16_t>("int16_t");
  expect_like<uint64_t>("uint64_t");
  expect_like<ptrdiff_t>("aint");
  expect_like<bool>("c_bool");
  expect_like<bool>("cxx_bool");
  expect_like<std::complex<float>>("c_complex");
  expect_like<std::complex<double>>("c_double_complex");
  expect_like<std::complex<long double>>("cxx_long_double_complex");
  expect_like<std::complex<float>>("complex");
  expect_like<std::complex<double>>("complex16");
  expect_pair<float, int>("float_int");
  expect_pair<double, int>("double_int");
  expect_pair<long, int>("long_int");
  expect_pair<short, int>("short_int");
  expect_pair<int, int>("2int");
  expect_pair<long double, int>("long_double_int");
  expect_pair<std::complex<float>, std::complex<float>>("2complex");
  expect_pair<std::complex<double>, std::complex<double>>("2double_complex");
}

// ---- typemaps by hand ----

// The standard's type {(double, 0), (char, 8)} of extent 16, and its examples with it.
TEST(Typemap, ExamplesOfTheStandard) {
  const std::string t = "struct([1, 1], [0, 8], [double, char])";
  EXPECT_EQ(entries("contiguous(3, " + t + ")"),
            (Entries{{0, 8}, {8, 1}, {16, 8}, {24, 1}, {32, 8}, {40, 1}}));
  EXPECT_EQ(entries("vector(2, 3, 4, " + t + ")"), (Entries{{0, 8},
                                                            {8, 1},
                                                            {16, 8},
                                                            {24, 1},
                                                            {32, 8},
                                                            {40, 1},
                                                            {64, 8},
                                                            {72, 1},
                                                            {80, 8},
                                                            {88, 1},
                                                            {96, 8},
                                                            {104, 1}}));
  EXPECT_EQ(entries("vector(3, 1, -2, " + t + ")"),
            (Entries{{0, 8}, {8, 1}, {-32, 8}, {-24, 1}, {-64, 8}, {-56, 1}}));
  EXPECT_EQ(entries("indexed([3, 1], [4, 0], " + t + ")"),
            (Entries{{64, 8}, {72, 1}, {80, 8}, {88, 1}, {96, 8}, {104, 1}, {0, 8}, {8, 1}}));
  EXPECT_EQ(entries("struct([2, 1, 3], [0, 16, 26], [float, " + t + ", char])"),
            (Entries{{0, 4}, {4, 4}, {16, 8}, {24, 1}, {26, 1}, {27, 1}, {28, 1}}));
  EXPECT_EQ(entries("contiguous(2, resized(-3, 9, int))"), (Entries{{0, 4}, {9, 4}}));
}

TEST(Typemap, EachConstructor) {
  EXPECT_EQ(entries("int"), at({0}, 4));
  EXPECT_EQ(entries("double_int"), (Entries{{0, 8}, {8, 4}}));
  EXPECT_EQ(entries("short_int"), (Entries{{0, 2}, {4, 4}}));
  EXPECT_EQ(entries("value_index(char, double)"), (Entries{{0, 1}, {8, 8}}));
  EXPECT_EQ(entries("f90_real(3, undefined, real2)"), at({0}, 2));
  EXPECT_EQ(entries("f90_complex(15, 300)"), at({0}, 16));
  EXPECT_EQ(entries("f90_integer(18)"), at({0}, 8));
  EXPECT_EQ(entries("dup(resized(4, 1, short))"), at({0}, 2));
  EXPECT_EQ(entries("hvector(3, 2, -10, int)"), at({0, 4, -10, -6, -20, -16}, 4));
  EXPECT_EQ(entries("vector(2, 2, 0, short)"), at({0, 2, 0, 2}, 2));
  EXPECT_EQ(entries("hindexed([2, 0, 1], [5, 99, -7], short)"), at({5, 7, -7}, 2));
  EXPECT_EQ(entries("indexed_block(2, [3, 3, 0], short)"), at({6, 8, 6, 8, 0, 2}, 2));
  EXPECT_EQ(entries("hindexed_block(2, [3, 0], short)"), at({3, 5, 0, 2}, 2));
  EXPECT_EQ(entries("contiguous(3, resized(0, -4, int))"), at({0, -4, -8}, 4));
  EXPECT_EQ(entries("subarray([4, 6], [2, 3], [1, 2], c, byte)"), at({8, 9, 10, 14, 15, 16}, 1));
  EXPECT_EQ(entries("subarray([4, 6], [2, 3], [1, 2], fortran, byte)"),
            at({9, 10, 13, 14, 17, 18}, 1));
  EXPECT_EQ(entries("subarray([2, 2, 3], [2, 1, 2], [0, 1, 1], c, short)"), at({8, 10, 20, 22}, 2));
  // A 2 x 3 matrix by columns: its transpose.
  EXPECT_EQ(entries("contiguous(3, resized(0, 4, vector(2, 1, 3, int)))"),
            at({0, 12, 4, 16, 8, 20}, 4));
}

TEST(Typemap, Darrays) {
  // Ten in blocks of 3 to 2 processes in turn: 0-2 and 6-8 to one, 3-5 and 9 to the other.
  EXPECT_EQ(entries("darray(2, 0, [10], [cyclic], [3], [2], c, byte)"), at({0, 1, 2, 6, 7, 8}, 1));
  EXPECT_EQ(entries("darray(2, 1, [10], [cyclic], [3], [2], c, byte)"), at({3, 4, 5, 9}, 1));
  EXPECT_EQ(entries("darray(3, 2, [10], [block], [default], [3], c, byte)"), at({8, 9}, 1));
  EXPECT_EQ(entries("darray(3, 1, [10], [cyclic], [default], [3], c, short)"), at({2, 8, 14}, 2));
  EXPECT_EQ(entries("darray(1, 0, [3], [none], [default], [1], fortran, byte)"), at({0, 1, 2}, 1));
  // 4 x 3, rows in blocks of 2, columns in turn, on 2 x 2 processes: process (1, 0), columns 0 and
  // 2 of rows 2 and 3.
  const std::string grid = "darray(4, 2, [4, 3], [block, cyclic], [2, 1], [2, 2], ";
  EXPECT_EQ(entries(grid + "c, byte)"), at({6, 8, 9, 11}, 1));
  EXPECT_EQ(entries(grid + "fortran, byte)"), at({2, 3, 10, 11}, 1));
  EXPECT_EQ(entries("darray(4, 3, [5], [block], [2], [4], c, int)"), Entries());
}

TEST(Typemap, ElementsFollowOneExtentApart) {
  EXPECT_EQ(entries("resized(-2, 10, int)", 3), at({0, 10, 20}, 4));
  EXPECT_EQ(entries("resized(0, -4, int)", 3), at({0, -4, -8}, 4));
  EXPECT_EQ(entries("double_int", 2), (Entries{{0, 8}, {8, 4}, {16, 8}, {24, 4}}));
  EXPECT_EQ(entries("int", 0), Entries());
  EXPECT_EQ(entries("contiguous(1099511627776, contiguous(0, int))", 1'000'000), Entries());
  EXPECT_EQ(entries("struct([1099511627776, 1], [0, 4], [contiguous(0, int), byte])"), at({4}, 1));
}

TEST(Typemap, HasALimit) {
  const TypePtr type = parsed("contiguous(1000, double_int)");  // 2000 entries, 1000 basics
  EXPECT_TRUE(typemap(*type, 2, 4000).ok());
  for (const int64_t limit : {int64_t{3999}, int64_t{1999}, int64_t{0}, int64_t{-1}}) {
    const Result<Entries> listed = typemap(*type, 2, limit);
    ASSERT_FALSE(listed.ok()) << limit;
    EXPECT_EQ(listed.error().status, LACUNA_UNSUPPORTED);
  }
  EXPECT_FALSE(typemap(*parsed("contiguous(1099511627776, double)"), 1).ok());
  const Result<Entries> negative = typemap(*type, -1);
  ASSERT_FALSE(negative.ok());
  EXPECT_EQ(negative.error().status, LACUNA_INVALID_ARGUMENT);
  const Result<Entries> far = typemap(*parsed("resized(0, 4611686018427387904, int)"), 3);
  ASSERT_FALSE(far.ok());
  EXPECT_EQ(far.error().status, LACUNA_OVERFLOW);
}

// Displacements whose partial sums overflow int64.
TEST(Typemap, ReachesBothEndsOfMemory) {
  EXPECT_EQ(
      entries("hindexed([1], [4611686018427387904], hindexed([1], [4611686018427387904], "
              "resized(-9223372036854775808, 8, hindexed([1], [-9223372036854775808], int))))"),
      at({0}, 4));
}

// ---- typemaps and what the constructors derive ----

TEST(Typemap, AgreesWithSizeAndTrueBoundsOfRandomTypes) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const TypePtr type = random_type(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + print_type(*type));
    for (const int64_t count : {1, 3}) {
      const Result<Entries> listed = typemap(*type, count);
      ASSERT_TRUE(listed.ok());
      int64_t size = 0;
      int64_t low = listed->empty() ? 0 : INT64_MAX;
      int64_t high = listed->empty() ? 0 : INT64_MIN;
      for (const TypemapEntry& entry : *listed) {
        ASSERT_GT(entry.size_bytes, 0);
        size += entry.size_bytes;
        low = std::min(low, entry.offset_bytes);
        high = std::max(high, entry.offset_bytes + entry.size_bytes);
      }
      ASSERT_EQ(size, type->size_bytes * count);
      const int64_t last = type->size_bytes > 0 ? (count - 1) * type->extent() : 0;
      ASSERT_EQ(low, type->true_lb + std::min<int64_t>(last, 0));
      ASSERT_EQ(high, type->true_ub + std::max<int64_t>(last, 0));
    }
  }
}

TEST(Typemap, BoundsOfRandomTypesContainTheirDataUnlessMarked) {
  int unmarked = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const TypePtr type = random_type(seed);
    ASSERT_EQ(type->lb_marker, type->ub_marker);
    if (type->lb_marker || type->size_bytes == 0) continue;
    ++unmarked;
    ASSERT_EQ(type->lb, type->true_lb) << print_type(*type);
    ASSERT_GE(type->ub, type->true_ub) << print_type(*type);
    if (type->combiner == Combiner::kStruct) {
      ASSERT_EQ(type->extent() % type->alignment_bytes, 0) << print_type(*type);
    }
  }
  EXPECT_GT(unmarked, 1000);
}

// Compared with a set of all bytes: slow and simple.
TEST(Typemap, OverlapOfRandomTypes) {
  int overlapping = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomOptions options;
    options.max_entries = 200;
    options.max_true_extent = 4096;
    const TypePtr type = random_type(seed, options);
    for (const int64_t count : {1, 2}) {
      const Result<Entries> listed = typemap(*type, count);
      ASSERT_TRUE(listed.ok());
      std::vector<int64_t> bytes;
      for (const TypemapEntry& entry : *listed) {
        for (int64_t i = 0; i < entry.size_bytes; ++i) bytes.push_back(entry.offset_bytes + i);
      }
      std::sort(bytes.begin(), bytes.end());
      const bool twice = std::adjacent_find(bytes.begin(), bytes.end()) != bytes.end();
      ASSERT_EQ(has_overlap(*type, count), twice) << seed << " " << print_type(*type);
      overlapping += twice;
    }
  }
  EXPECT_GT(overlapping, 100);
  EXPECT_LT(overlapping, 3000);
}

// ---- distributed arrays ----

// MPI 5.0, 5.1.4, with the standard's variables.
OwnedBlocks owned_by_the_standard(int64_t gsize, int64_t darg, int64_t psize, int64_t r) {
  const int64_t nblocks = (gsize + darg - 1) / darg;
  int64_t count = nblocks / psize;
  const int64_t left_over = nblocks - count * psize;
  if (r < left_over) ++count;
  int64_t darg_last = darg;
  const int64_t num_in_last_cyclic = gsize % (psize * darg);
  if (num_in_last_cyclic != 0) {
    darg_last = num_in_last_cyclic - darg * r;
    if (darg_last > darg || darg_last <= 0) darg_last = darg;
  }
  if (count == 0) return {};
  const bool whole = darg_last == darg;
  return {r * darg, darg, count > 1 ? psize * darg : 0, whole ? count : count - 1,
          whole ? 0 : darg_last};
}

TEST(Darray, OwnedBlocksAreThoseOfTheStandardAndOfEveryIndexAlone) {
  for (int64_t gsize = 1; gsize <= 24; ++gsize) {
    for (int64_t psize = 1; psize <= 7; ++psize) {
      for (int64_t darg = 1; darg <= gsize + 2; ++darg) {
        for (int64_t coord = 0; coord < psize; ++coord) {
          const OwnedBlocks o = darray_owned(gsize, Distribution::kCyclic, darg, psize, coord);
          const OwnedBlocks s = owned_by_the_standard(gsize, darg, psize, coord);
          ASSERT_EQ(std::tie(o.first, o.block, o.period, o.full, o.tail),
                    std::tie(s.first, s.block, s.period, s.full, s.tail))
              << gsize << " " << psize << " " << darg << " " << coord;
          std::vector<int64_t> mine;
          for (int64_t b = 0; b < o.full + (o.tail > 0); ++b) {
            for (int64_t i = 0; i < (b < o.full ? o.block : o.tail); ++i) {
              mine.push_back(o.first + b * o.period + i);
            }
          }
          std::vector<int64_t> expected;
          for (int64_t i = 0; i < gsize; ++i) {
            if (i / darg % psize == coord) expected.push_back(i);
          }
          ASSERT_EQ(mine, expected) << gsize << " " << psize << " " << darg << " " << coord;
        }
      }
    }
  }
}

TEST(Darray, OwnedBlocksOfHugeDimensions) {
  const int64_t most = INT64_MAX;
  const OwnedBlocks all = darray_owned(most, Distribution::kBlock, most, 8, 0);
  EXPECT_EQ(all.full, 1);
  EXPECT_EQ(all.block, most);
  EXPECT_EQ(darray_owned(most, Distribution::kBlock, most, 8, 7).block, 0);
  const OwnedBlocks last = darray_owned(most, Distribution::kBlock, kDefaultDarg, 2, 1);
  EXPECT_EQ(last.first, most / 2 + 1);
  EXPECT_EQ(last.full, 0);
  EXPECT_EQ(last.tail, most / 2);
  const OwnedBlocks cyclic = darray_owned(most, Distribution::kCyclic, 1, 2, 1);
  EXPECT_EQ(cyclic.full, most / 2);
  EXPECT_EQ(cyclic.period, 2);
}

// The processes together have every element once, each in the storage order of the whole array.
TEST(Darray, SharesArePartsOfTheWhole) {
  int seen = 0;
  for (uint64_t seed = 0; seen < 300; ++seed) {
    RandomOptions options;
    options.max_depth = 1;
    options.max_true_extent = 1 << 14;
    const TypePtr type = random_type(seed, options);
    if (type->combiner != Combiner::kDarray || type->children[0]->basic->part_count != 1) continue;
    ++seen;
    Entries together;
    for (int64_t rank = 0; rank < type->darray_size; ++rank) {
      Type fields = *type;
      fields.darray_rank = rank;
      const Result<TypePtr> other = make_from_fields(fields);
      ASSERT_TRUE(other.ok());
      const Result<Entries> share = typemap(**other, 1);
      ASSERT_TRUE(share.ok());
      const auto by_offset = [](const TypemapEntry& a, const TypemapEntry& b) {
        return a.offset_bytes < b.offset_bytes;
      };
      EXPECT_TRUE(std::is_sorted(share->begin(), share->end(), by_offset)) << print_type(**other);
      together.insert(together.end(), share->begin(), share->end());
      std::sort(together.begin(), together.end(), by_offset);
    }
    const int64_t size = type->children[0]->size_bytes;
    Entries whole;
    for (int64_t offset = 0; offset < type->ub; offset += size) whole.push_back({offset, size});
    ASSERT_EQ(together, whole) << print_type(*type);
  }
}

}  // namespace
}  // namespace lacuna
