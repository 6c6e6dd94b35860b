// SPDX-License-Identifier: BSD-3-Clause
//
// Records of random words against their definition: every combination of widths, extents of either
// sign, buffers that end or begin at a guard page, gaps compared afterwards. And which records are
// served.
#include "kernels/record/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/record/record.hpp"
#include "property/guarded.hpp"

namespace lacuna {
namespace {

using testing::Guarded;

struct Case {
  std::vector<RecordRun> runs;
  int64_t extent = 0;
  int64_t count = 0;
  int64_t ahead = 0;
};

void check(const Case& c, const RecordWords& words, bool at_upper) {
  int64_t span = 0;
  int64_t size = 0;
  for (const RecordRun& run : c.runs) {
    span = std::max(span, run.mem_offset + run.bytes);
    size += run.bytes;
  }
  const int64_t reach = (c.count - 1) * std::abs(c.extent);
  const int64_t first = c.extent < 0 ? reach : 0;
  const Guarded mem(static_cast<size_t>(reach + span), at_upper);
  const Guarded packed(static_cast<size_t>(c.count * size), at_upper);
  for (const bool pack : {true, false}) {
    for (size_t i = 0; i < mem.size(); ++i) mem.data()[i] = static_cast<std::byte>(i * 7 + 1);
    for (size_t i = 0; i < packed.size(); ++i) packed.data()[i] = static_cast<std::byte>(i * 5 + 2);
    const Guarded& out = pack ? packed : mem;
    std::vector<std::byte> want(out.data(), out.data() + out.size());
    int64_t at = 0;
    for (int64_t e = 0; e < c.count; ++e) {
      for (const RecordRun& run : c.runs) {
        const int64_t place = first + e * c.extent + run.mem_offset;
        std::memcpy(want.data() + (pack ? at : place),
                    pack ? mem.data() + place : packed.data() + at, static_cast<size_t>(run.bytes));
        at += run.bytes;
      }
    }
    words.move(pack ? words.pack : words.unpack, pack ? mem.data() + first : packed.data(),
               pack ? packed.data() : mem.data() + first, c.count, pack ? 0 : c.ahead);
    ASSERT_EQ(std::memcmp(want.data(), out.data(), want.size()), 0)
        << (pack ? "pack" : "unpack") << " " << c.runs.size() << " runs, extent " << c.extent
        << " x " << c.count;
  }
}

TEST(Words, MoveTheBytesOfRandomElements) {
  std::mt19937 random(1);
  constexpr int64_t kLengths[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48};
  int served = 0;
  for (int i = 0; i < 20000; ++i) {
    Case c;
    int64_t at = 0;
    for (int64_t left = 2 + static_cast<int64_t>(random() % 5); left > 0; --left) {
      c.runs.push_back({at, kLengths[random() % std::size(kLengths)]});
      at += c.runs.back().bytes + 1 + static_cast<int64_t>(random() % 20);
    }
    std::shuffle(c.runs.begin(), c.runs.end(), random);
    c.extent = at + static_cast<int64_t>(random() % 70);
    if (i % 5 == 0) c.extent = -c.extent;
    c.count = 1 + static_cast<int64_t>(random() % 9);
    c.ahead = i % 3 == 0 ? 32 * c.extent : 0;
    const RecordWordsPtr words = make_words(c.runs, c.extent);
    if (words == nullptr) continue;
    ++served;
    check(c, *words, i % 2 == 0);
  }
  EXPECT_GT(served, 1000);
}

TEST(Words, OnlyFewOfThem) {
  const auto served = [](std::vector<RecordRun> runs) { return make_words(runs, 400) != nullptr; };
  EXPECT_TRUE(served({{0, 4}, {8, 24}, {32, 4}}));
  EXPECT_TRUE(served({{64, 4}, {0, 24}}));
  EXPECT_TRUE(served({{0, 1}, {4, 4}}));
  EXPECT_TRUE(served({{0, 48}, {64, 48}}));
  EXPECT_FALSE(served({{0, 48}, {64, 64}}));
  EXPECT_FALSE(served({{0, 7}, {8, 8}}));  // 4 + 2 + 1, and 8
  EXPECT_FALSE(served({{0, 8}, {4, 8}}));  // of bytes at one place the last packed one stays
  EXPECT_TRUE(served({{0, 8}, {252, 4}}));
  EXPECT_FALSE(served({{0, 8}, {253, 4}}));
  EXPECT_FALSE(served({{0, 16}}));
  EXPECT_FALSE(served({}));
}

}  // namespace
}  // namespace lacuna
