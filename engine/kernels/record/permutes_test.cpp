// SPDX-License-Identifier: BSD-3-Clause
//
// Elements of random bytes in one or two windows against their definition: every vector width on
// either side, extents of either sign, buffers that end or begin at a guard page, gaps compared
// afterwards. And for which elements there are such moves.
#include "kernels/record/permutes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/record/record.hpp"
#include "property/guarded.hpp"

namespace lacuna {
namespace {

using testing::Guarded;

// Runs of up to `most` bytes in all within `span`, in random order; the first and the last byte of
// the span are data.
std::vector<RecordRun> random_runs(std::mt19937& random, int64_t span, int64_t most) {
  std::vector<bool> is_data(static_cast<size_t>(span));
  is_data.front() = is_data.back() = true;
  for (int64_t i = 2; i < most; ++i) is_data[random() % is_data.size()] = true;
  std::vector<RecordRun> runs;
  for (int64_t i = 0; i < span; ++i) {
    if (!is_data[static_cast<size_t>(i)]) continue;
    if (!runs.empty() && runs.back().mem_offset + runs.back().bytes == i) {
      ++runs.back().bytes;
    } else {
      runs.push_back({i, 1});
    }
  }
  std::shuffle(runs.begin(), runs.end(), random);
  return runs;
}

// Elements at a stride, or in the order of `order`.
void check(const std::vector<RecordRun>& runs, int64_t span, int64_t extent, int64_t count,
           bool at_upper, const std::vector<int64_t>& order) {
  const Permutes moves = make_permutes(runs, extent);
  ASSERT_NE(moves.pack, nullptr);
  const int64_t reach = (count - 1) * std::abs(extent);
  const int64_t first = extent < 0 ? reach : 0;
  const Guarded mem(static_cast<size_t>(reach + span), at_upper);
  const Guarded packed(static_cast<size_t>(count * moves.element->size), at_upper);
  std::vector<int64_t> offsets;
  for (int64_t e = 0; e < count; ++e)
    offsets.push_back((order.empty() ? e : order[static_cast<size_t>(e)]) * extent);
  for (const bool pack : {true, false}) {
    for (size_t i = 0; i < mem.size(); ++i) mem.data()[i] = static_cast<std::byte>(i * 7 + 1);
    for (size_t i = 0; i < packed.size(); ++i) packed.data()[i] = static_cast<std::byte>(i * 5 + 2);
    const Guarded& out = pack ? packed : mem;
    std::vector<std::byte> want(out.data(), out.data() + out.size());
    int64_t at = 0;
    for (int64_t e = 0; e < count; ++e) {
      for (const RecordRun& run : runs) {
        const int64_t place = first + offsets[static_cast<size_t>(e)] + run.mem_offset;
        std::memcpy(want.data() + (pack ? at : place),
                    pack ? mem.data() + place : packed.data() + at, static_cast<size_t>(run.bytes));
        at += run.bytes;
      }
    }
    if (order.empty()) {
      (pack ? moves.pack : moves.unpack)(*moves.element, mem.data() + first, count, packed.data());
    } else {
      (pack ? moves.pack_listed : moves.unpack_listed)(*moves.element, mem.data() + first,
                                                       offsets.data(), count, packed.data());
    }
    ASSERT_EQ(std::memcmp(want.data(), out.data(), want.size()), 0)
        << (pack ? "pack" : "unpack") << " span " << span << " extent " << extent << " x " << count;
  }
}

TEST(Element, MovesTheBytesOfRandomOnes) {
  if (!has_permutes()) GTEST_SKIP() << "this CPU has no permutes of bytes";
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) {
    const int64_t span = 2 + static_cast<int64_t>(random() % 127);
    const int64_t most = 2 + static_cast<int64_t>(random() % 63);
    const std::vector<RecordRun> runs = random_runs(random, span, most);
    const int64_t extent = span + static_cast<int64_t>(random() % 70);
    const int64_t count = 1 + static_cast<int64_t>(random() % (i % 8 == 0 ? 40 : 9));
    std::vector<int64_t> order(i % 3 == 0 ? static_cast<size_t>(count) : 0);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    check(runs, span, i % 5 == 0 ? -extent : extent, count, i % 2 == 0, order);
  }
}

// More than kFarElements: the longer prefetch distance.
TEST(Element, MovesManyListedOnes) {
  if (!has_permutes()) GTEST_SKIP() << "this CPU has no permutes of bytes";
  std::vector<int64_t> order((1 << 17) + 100);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(2));
  check({{0, 3}, {5, 2}}, 7, 8, static_cast<int64_t>(order.size()), true, order);
}

TEST(Element, OnlyWhatTwoWindowsHold) {
  const bool can = has_permutes();
  const auto windows = [](std::vector<RecordRun> runs) { return make_permutes(runs, 400).windows; };
  EXPECT_EQ(windows({{0, 4}, {8, 24}, {32, 4}}), can ? 1 : 0);
  EXPECT_EQ(windows({{0, 24}, {64, 4}}), can ? 2 : 0);
  EXPECT_EQ(windows({{64, 4}, {0, 24}}), can ? 2 : 0);
  EXPECT_EQ(windows({{0, 1}, {100, 1}, {200, 1}}), 0);
  EXPECT_EQ(windows({{0, 40}, {48, 24}}), can ? 2 : 0);
  EXPECT_EQ(windows({{0, 40}, {48, 25}}), 0);
  EXPECT_EQ(windows({}), 0);
}

}  // namespace
}  // namespace lacuna
