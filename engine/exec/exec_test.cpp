// SPDX-License-Identifier: BSD-3-Clause
//
// Known moves, and what random types seldom reach: sizes at which the host's own thresholds switch
// to non-temporal stores and blocking, and concurrent slices. The random ladder of oracles is
// tests/property/engine_property.cpp.
#include "exec/exec.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace lacuna {
namespace {

PlanPtr planned(const std::string& text) {
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  return make_plan(std::move(type).value());
}

std::vector<double> numbers(size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Exec, PacksAColumn) {
  const std::vector<double> matrix = numbers(12);
  std::vector<double> column(3);
  pack(*planned("vector(3, 1, 4, double)"), matrix.data() + 1, 1, column.data());
  EXPECT_EQ(column, (std::vector<double>{2, 6, 10}));
}

TEST(Exec, UnpacksAColumnAndNothingElse) {
  std::vector<double> matrix(12, -1);
  const std::vector<double> column = {2, 6, 10};
  unpack(*planned("vector(3, 1, 4, double)"), column.data(), 1, matrix.data() + 1);
  EXPECT_EQ(matrix, (std::vector<double>{-1, 2, -1, -1, -1, 6, -1, -1, -1, 10, -1, -1}));
}

// On both sides of the lengths at which the C library's memcpy takes over.
TEST(Exec, OneRunOfManyLengths) {
  for (const size_t bytes : {129u, 2047u, 2048u, 4080u, 16384u, 16385u, 50000u}) {
    const PlanPtr plan = planned("contiguous(" + std::to_string(bytes) + ", byte)");
    std::vector<std::byte> from(bytes + 2);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
    for (const bool packs : {true, false}) {
      std::vector<std::byte> to(bytes + 2);
      if (packs) {
        pack(*plan, from.data() + 1, 1, to.data() + 1);
      } else {
        unpack(*plan, from.data() + 1, 1, to.data() + 1);
      }
      EXPECT_EQ(std::memcmp(to.data() + 1, from.data() + 1, bytes), 0) << bytes;
      EXPECT_EQ(to.front(), std::byte{0});
      EXPECT_EQ(to.back(), std::byte{0});
    }
  }
}

// Whole small messages by the few moves against slices, which do not use those.
void expect_few_moves_agree(const std::string& text, std::initializer_list<int64_t> counts,
                            size_t span) {
  const PlanPtr plan = planned(text);
  const size_t size = static_cast<size_t>(plan->size());
  for (const int64_t count : counts) {
    std::vector<std::byte> mem(span);
    for (size_t i = 0; i < mem.size(); ++i) mem[i] = static_cast<std::byte>(i * 7 + i / 256);
    std::vector<std::byte> want(size * static_cast<size_t>(count) + 1, std::byte{9});
    std::vector<std::byte> got = want;
    const int64_t bytes = plan->size() * count;
    pack_slice(*plan, mem.data(), count, 0, bytes, want.data());
    pack(*plan, mem.data(), count, got.data());
    ASSERT_EQ(got, want) << text << " x " << count;
    std::vector<std::byte> want_back(mem.size());
    std::vector<std::byte> back = want_back;
    unpack_slice(*plan, want.data(), count, 0, bytes, want_back.data());
    unpack(*plan, want.data(), count, back.data());
    ASSERT_EQ(back, want_back) << text << " x " << count;
  }
}

// Runs of every length that a few moves make up, on both sides of the counts they are for.
TEST(Exec, SmallMovesOfEveryLength) {
  for (size_t length = 1; length <= 70; ++length) {
    const std::string n = std::to_string(length);
    for (const std::string& text :
         {"hvector(3, " + n + ", 80, byte)", "hvector(14, " + n + ", 73, byte)",
          "hindexed([1], [640], hvector(9, " + n + ", -71, byte))",
          "resized(0, 240, hindexed([" + n + ", 1, 2], [160, 75, 0], byte))",
          "resized(-5, 90, contiguous(" + n + ", byte))"}) {
      expect_few_moves_agree(text, {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33}, 40000);
    }
  }
}

// Moves of 32 bytes, and rows of those and of shorter ones.
TEST(Exec, SmallMovesOfLongRunsAndRows) {
  for (size_t length = 1; length <= 520; length += length < 40 ? 1 : 9) {
    const std::string n = std::to_string(length);
    const std::string step = std::to_string(length + 9);
    const std::string row = std::to_string(5 * (length + 9) + 3);
    for (const std::string& text :
         {"hvector(6, " + n + ", " + step + ", byte)",
          "hvector(3, 1, " + row + ", hvector(4, " + n + ", " + step + ", byte))",
          "hvector(7, 1, " + row + ", hvector(5, " + n + ", " + step + ", byte))",
          "resized(0, " + step + ", contiguous(" + n + ", byte))"}) {
      expect_few_moves_agree(text, {1, 2, 3, 8, 20}, 500000);
    }
  }
}

// Runs of unequal lengths that were cut into units: every slice, with units cut at both ends, of
// one list and of several.
TEST(Exec, SlicesOfUnits) {
  for (const char* text : {"indexed([1, 2, 1, 3, 1], [30, 0, 7, 12, 40], double)",
                           "hindexed([12, 36, 24, 12], [0, 40, 200, 100], byte)",
                           "indexed([2, 1, 1, 2], [9, 0, 4, 20], int)"}) {
    const PlanPtr plan = planned(text);
    ASSERT_NE(plan->root(1).step.places, nullptr) << text;
    for (const int64_t count : {1, 3}) {
      const int64_t bytes = plan->size() * count;
      std::vector<std::byte> mem(2000);
      for (size_t i = 0; i < mem.size(); ++i) mem[i] = static_cast<std::byte>(i * 7 + i / 256);
      std::vector<std::byte> whole(static_cast<size_t>(bytes));
      pack(*plan, mem.data(), count, whole.data());
      for (int64_t begin = 0; begin <= bytes; ++begin) {
        for (int64_t end = begin; end <= bytes; ++end) {
          const auto length = static_cast<size_t>(end - begin);
          std::vector<std::byte> got(length + 1, std::byte{9});
          pack_slice(*plan, mem.data(), count, begin, end, got.data());
          ASSERT_EQ(std::memcmp(got.data(), whole.data() + begin, length), 0)
              << text << " [" << begin << ", " << end << ")";
          ASSERT_EQ(got.back(), std::byte{9});
        }
        // Back in two slices: the same memory as in whole.
        std::vector<std::byte> want(mem.size());
        std::vector<std::byte> back = want;
        unpack(*plan, whole.data(), count, want.data());
        unpack_slice(*plan, whole.data() + begin, count, begin, bytes, back.data());
        unpack_slice(*plan, whole.data(), count, 0, begin, back.data());
        ASSERT_EQ(back, want) << text << " cut at " << begin;
      }
    }
  }
}

// Regular moves of each width, strides of either sign, counts on both sides of the limit; a slice
// moves the same bytes another way.
TEST(Exec, FewRegularMoves) {
  for (const char* width : {"float", "double", "double_complex"}) {
    for (const char* stride : {"24", "-40", "17"}) {
      for (const int64_t moves : {1, 2, 3, 4, 5, 7, 8, 16, 43, 127, 128, 129}) {
        const PlanPtr plan = planned("resized(0, 21, hvector(" + std::to_string(moves) + ", 1, " +
                                     stride + ", " + width + "))");
        for (int64_t count = 1; count * moves <= 140 && count < 20; ++count) {
          const size_t bytes = static_cast<size_t>(plan->size() * count);
          std::vector<std::byte> mem(14000);
          for (size_t i = 0; i < mem.size(); ++i) mem[i] = static_cast<std::byte>(i * 7 + i / 256);
          std::byte* const at = mem.data() + 6000;
          std::vector<std::byte> want(bytes + 1, std::byte{9});
          std::vector<std::byte> got = want;
          pack_slice(*plan, at, count, 0, static_cast<int64_t>(bytes), want.data());
          pack(*plan, at, count, got.data());
          ASSERT_EQ(got, want) << plan->layout().extent << stride << " " << moves << " " << count;
        }
        // Elements that do not overlap, for the way back.
        const PlanPtr apart = planned("resized(0, 6000, hvector(" + std::to_string(moves) +
                                      ", 1, " + stride + ", " + width + "))");
        for (const int64_t count : {1, 2}) {
          const size_t bytes = static_cast<size_t>(apart->size() * count);
          std::vector<std::byte> packed(bytes);
          for (size_t i = 0; i < bytes; ++i) packed[i] = static_cast<std::byte>(i * 11 + 3);
          std::vector<std::byte> want(20000), back = want;
          unpack_slice(*apart, packed.data(), count, 0, static_cast<int64_t>(bytes),
                       want.data() + 6000);
          unpack(*apart, packed.data(), count, back.data() + 6000);
          ASSERT_EQ(back, want) << stride << " " << moves << " " << count;
        }
      }
    }
  }
}

TEST(Exec, CountZeroAndEmptyTypesTouchNothing) {
  const PlanPtr column = planned("vector(3, 1, 4, double)");
  pack(*column, nullptr, 0, nullptr);
  unpack(*column, nullptr, 0, nullptr);
  pack(*planned("contiguous(0, int)"), nullptr, 5, nullptr);
  pack_slice(*column, nullptr, 1, 7, 7, nullptr);
}

// Transposes at sizes on both sides of the threshold for non-temporal stores, by elements and as
// one type, at an odd size too.
TEST(Exec, TransposesOfManySizes) {
  for (const size_t n : {8u, 31u, 64u, 100u, 255u, 300u, 512u, 777u}) {
    const std::vector<double> matrix = numbers(n * n);
    std::vector<double> want(n * n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) want[i * n + j] = matrix[j * n + i];
    }
    const std::string s = std::to_string(n);
    const std::string column = "resized(0, 8, vector(" + s + ", 1, " + s + ", double))";
    const PlanPtr by_columns = planned(column);
    const PlanPtr at_once = planned("contiguous(" + s + ", " + column + ")");
    std::vector<double> got(n * n);
    pack(*by_columns, matrix.data(), static_cast<int64_t>(n), got.data());
    EXPECT_EQ(got, want) << n;
    std::fill(got.begin(), got.end(), 0);
    pack(*at_once, matrix.data(), 1, got.data());
    EXPECT_EQ(got, want) << n;
    std::fill(got.begin(), got.end(), 0);
    unpack(*at_once, want.data(), 1, got.data());
    EXPECT_EQ(got, matrix) << n;
  }
}

TEST(Exec, LongRunsPastTheCaches) {
  const size_t rows = 600;
  const size_t pitch = 8192;
  const std::vector<double> matrix = numbers(rows * pitch);
  const PlanPtr plan = planned("vector(600, 8001, 8192, double)");
  std::vector<double> packed(rows * 8001);
  pack(*plan, matrix.data(), 1, packed.data());
  for (size_t r = 0; r < rows; ++r) {
    ASSERT_EQ(
        std::memcmp(packed.data() + r * 8001, matrix.data() + r * pitch, 8001 * sizeof(double)), 0)
        << r;
  }
}

TEST(Exec, SlicesOfOneStreamFromManyThreads) {
  const size_t n = 600;
  const std::vector<double> matrix = numbers(n * n);
  const PlanPtr plan = planned("resized(0, 8, vector(600, 1, 600, double))");
  const int64_t total = static_cast<int64_t>(n * n * sizeof(double));
  std::vector<std::byte> whole(static_cast<size_t>(total));
  pack(*plan, matrix.data(), static_cast<int64_t>(n), whole.data());
  std::vector<std::byte> pieces(static_cast<size_t>(total));
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const int64_t begin = total * t / 4 + (t > 0 ? 3 : 0);  // not at an element
      const int64_t end = total * (t + 1) / 4 + (t < 3 ? 3 : 0);
      pack_slice(*plan, matrix.data(), static_cast<int64_t>(n), begin, end, pieces.data() + begin);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pieces, whole);
}

TEST(Exec, AStreamOfOneTypeUnpacksIntoAnother) {
  const std::vector<double> matrix = numbers(64 * 64);
  const PlanPtr columns = planned("resized(0, 8, vector(64, 1, 64, double))");
  const PlanPtr halves = planned("indexed([2048, 2048], [0, 3000], double)");
  std::vector<double> stream(64 * 64);
  pack(*columns, matrix.data(), 64, stream.data());
  std::vector<double> apart(6000, -1);
  unpack(*halves, stream.data(), 1, apart.data());
  EXPECT_EQ(apart[1], matrix[64]);
  EXPECT_EQ(apart[2048], -1);
  EXPECT_EQ(apart[3000], stream[2048]);
}

}  // namespace
}  // namespace lacuna
