// SPDX-License-Identifier: BSD-3-Clause
//
// Records of random runs against their definition: any lengths and order, extents of either sign,
// buffers that end or begin at a guard page, gaps compared afterwards.
#include "kernels/record/move_list.hpp"

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

TEST(MoveList, MovesTheBytesOfRandomElements) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::vector<RecordRun> runs;
    int64_t span = 0;
    int64_t size = 0;
    for (int64_t left = 1 + static_cast<int64_t>(random() % 20); left > 0; --left) {
      runs.push_back({span, 1 + static_cast<int64_t>(random() % (i % 2 == 0 ? 8 : 70))});
      size += runs.back().bytes;
      span += runs.back().bytes + static_cast<int64_t>(random() % 20);
    }
    std::shuffle(runs.begin(), runs.end(), random);
    const int64_t extent = (span + static_cast<int64_t>(random() % 70)) * (i % 5 == 0 ? -1 : 1);
    const int64_t count = 1 + static_cast<int64_t>(random() % 9);
    const MoveList list(runs, 1000);
    ASSERT_FALSE(list.empty());

    const int64_t reach = (count - 1) * std::abs(extent);
    const int64_t first = extent < 0 ? reach : 0;
    const Guarded mem(static_cast<size_t>(reach + span), i % 3 == 0);
    const Guarded packed(static_cast<size_t>(count * size), i % 3 == 0);
    for (const bool is_pack : {true, false}) {
      for (size_t b = 0; b < mem.size(); ++b) mem.data()[b] = static_cast<std::byte>(b * 7 + 1);
      for (size_t b = 0; b < packed.size(); ++b)
        packed.data()[b] = static_cast<std::byte>(b * 5 + 2);
      const Guarded& out = is_pack ? packed : mem;
      std::vector<std::byte> want(out.data(), out.data() + out.size());
      int64_t at = 0;
      for (int64_t e = 0; e < count; ++e) {
        for (const RecordRun& run : runs) {
          const int64_t place = first + e * extent + run.mem_offset;
          std::memcpy(want.data() + (is_pack ? at : place),
                      is_pack ? mem.data() + place : packed.data() + at,
                      static_cast<size_t>(run.bytes));
          at += run.bytes;
        }
      }
      if (is_pack) {
        list.move_all<true>(mem.data() + first, extent, count, packed.data(), size);
      } else {
        list.move_all<false>(mem.data() + first, extent, count, packed.data(), size);
      }
      ASSERT_EQ(std::memcmp(want.data(), out.data(), want.size()), 0)
          << (is_pack ? "pack " : "unpack ") << runs.size() << " runs, extent " << extent << " x "
          << count;
    }
  }
}

TEST(MoveList, CountsMovesAndDeclinesTooMany) {
  const std::vector<RecordRun> runs = {{0, 16}, {32, 24}, {64, 7}, {80, 1}, {90, 3}};
  // Moves: 16; 16 and 8; 4 and 4 (overlapping); 1; 2 and 2 (overlapping).
  EXPECT_EQ(MoveList(runs, 8).size(), 8);
  EXPECT_TRUE(MoveList(runs, 7).empty());
  EXPECT_TRUE(MoveList({}, 8).empty());
  // Offsets that exceed 32 bits.
  EXPECT_TRUE(MoveList(std::vector<RecordRun>{{int64_t{1} << 31, 8}}, 8).empty());
  EXPECT_TRUE(MoveList(std::vector<RecordRun>{{-(int64_t{1} << 31), 8}}, 8).empty());
  EXPECT_TRUE(MoveList(std::vector<RecordRun>{{0, int64_t{1} << 40}}, 8).empty());
}

}  // namespace
}  // namespace lacuna
