// SPDX-License-Identifier: BSD-3-Clause
//
// For which messages kernels prefetch, and how far ahead.
#include "plan/strategy/prefetch.hpp"

#include <gtest/gtest.h>

#include <string>

#include "plan/plan_check.hpp"

namespace lacuna {
namespace {

using strategy::PrefetchRule;

constexpr int64_t kNone = Regime::kNoEnd;

// The prefetch rule of one element's step.
PrefetchRule prefetch(const char* text, const Machine& host,
                      const KernelTable& kernels = *kernel_tables().front()) {
  const PlanPtr plan = planned(text, host, kernels);
  const Step& step = plan->root(1).step;
  const strategy::Host with{kernels, host};
  if (step.shape == Step::Shape::kList)
    return step.width > 0 ? prefetch_list(step, with) : prefetch_runs(step, with);
  return prefetch_strided(step, step.record != nullptr ? step.record->span : step.width, with);
}

TEST(Prefetches, PrefetchWhereThatPays) {
  const Machine host;
  // Unpacking beyond the L1, packing beyond the L2.
  const PrefetchRule column = prefetch("hvector(100000, 1, 192, double)", host);
  EXPECT_EQ(column.unpack.from, host.l1_bytes / 64 * 8);
  EXPECT_EQ(column.unpack.below, kNone);
  EXPECT_EQ(column.pack.from, host.l2_bytes / 64 * 8);
  EXPECT_EQ(column.bytes, 8);
  // A page for each run: only while the TLB reaches them.
  const PrefetchRule pages = prefetch("hvector(100000, 1, 4112, double)", host);
  EXPECT_EQ(pages.unpack.below, host.tlb2_entries * 8);
  EXPECT_EQ(pages.pack.from, kNone);
  // Whole lines, far apart: beyond the L2.
  EXPECT_EQ(prefetch("hvector(100000, 64, 1024, byte)", host).unpack.from, host.l2_bytes);
  // Short strides: the hardware prefetcher follows.
  EXPECT_EQ(prefetch("hvector(100000, 1, 16, double)", host).unpack.from, kNone);
  // A field at the front of each element, and one a line further.
  EXPECT_EQ(prefetch("hvector(1000, 1, 192, struct([3, 1], [0, 64], [double, int]))", host).bytes,
            68);
  // Lists of runs longer than a double.
  EXPECT_EQ(prefetch("indexed_block(1, [0, 3, 7, 12], double)", host).unpack.from, kNone);
  EXPECT_LT(prefetch("indexed_block(3, [0, 9, 21, 36], double)", host).unpack.from, kNone);
}

TEST(Prefetches, PrefetchRulesBecomeRegimes) {
  const Machine host;
  const PlanPtr plan = planned("hvector(100000, 1, 4112, double)", host);
  const Step& step = plan->root(1).step;
  const int64_t from = host.l1_bytes / 64 * 8;
  const int64_t below = host.tlb2_entries * 8;
  const auto runs = [&](int64_t message, int64_t output) {
    return step.regime(Direction::kUnpack, message, output).hints.prefetch.runs;
  };
  EXPECT_EQ(runs(from - 1, from - 1), 0);
  EXPECT_EQ(runs(from, from), host.miss_runs);
  EXPECT_EQ(runs(below, below - 1), host.miss_runs);  // a slice
  EXPECT_EQ(runs(below, below), 0);
  EXPECT_EQ(runs(int64_t{1} << 40, int64_t{1} << 40), 0);
}

TEST(Prefetches, SomeMachinesPrefetchLater) {
  Machine late;
  late.prefetch_from_bytes = late.l2_bytes;
  late.hides_l2_misses = true;
  const PrefetchRule column = prefetch("hvector(100000, 1, 192, double)", late);
  EXPECT_EQ(column.unpack.from, late.l2_bytes / 64 * 8);
  late.prefetch_from_bytes = 2 * late.l2_bytes;
  const PrefetchRule later = prefetch("hvector(100000, 1, 192, double)", late);
  EXPECT_EQ(later.unpack.from, late.prefetch_from_bytes / 64 * 8);
  EXPECT_EQ(later.pack.from, late.prefetch_from_bytes / 64 * 8);
  // Lists of doubles: unpacking prefetches beyond the L3, on CPUs that follow ascending lists.
  const char* const list = "indexed_block(1, [0, 3, 7, 12], double)";
  EXPECT_EQ(prefetch(list, late).unpack.from, kNone);
  late.short_load_window = late.follows_ascending_lists = true;
  EXPECT_EQ(prefetch(list, late).unpack.from, late.l3_bytes / 64 * 8);
  // Packing lists whose runs have a line each, or share one; and longer runs.
  const auto packed = [&](const char* text) { return prefetch(text, late).pack.from; };
  const int64_t each = late.l3_bytes / 2 / 64 * 8;
  EXPECT_EQ(packed("indexed_block(1, [0, 30, 70, 120], double)"), each);
  EXPECT_EQ(packed(list), each * 8 / 3);
  EXPECT_EQ(packed("indexed_block(16, [0, 300, 700, 1200], double)"), late.prefetch_from_bytes);
  EXPECT_EQ(packed("indexed_block(2, [0, 30, 70, 120], double)"), kNone);
  // Runs of unequal lengths: both directions, if they are not short.
  const char* const unequal = "hindexed([70, 31, 103, 52], [0, 300, 700, 1200], byte)";
  EXPECT_EQ(packed(unequal), late.l3_bytes / 4);
  EXPECT_EQ(prefetch(unequal, late).unpack.from, packed(unequal));
  late.followed_stride_bytes = 193;
  const PrefetchRule never = prefetch("hvector(100000, 1, 192, double)", late);
  EXPECT_EQ(never.unpack.from, kNone);
  EXPECT_EQ(never.pack.from, kNone);
}

TEST(Prefetches, LoadsUnderMasksArePrefetchedWhereTheirLinesDoNotFit) {
  KernelTable table = *kernel_tables().front();
  Machine late;
  late.prefetch_from_bytes = 2 * late.l2_bytes;
  late.fast_masked_moves = true;
  const auto from = [&](const char* text) { return prefetch(text, late, table).pack.from; };
  table.masks = true;
  // A stride of 128 bytes uses every second cache set, one of 192 all.
  EXPECT_EQ(from("hvector(9999, 3, 128, float)"), late.l2_bytes / 128 * 12);
  EXPECT_EQ(from("hvector(9999, 3, -128, float)"), late.l2_bytes / 128 * 12);
  EXPECT_EQ(from("hvector(9999, 3, 192, float)"), late.l2_bytes / 64 * 12);
  // Not runs that are not moved under masks, nor strides above half a page.
  EXPECT_EQ(from("hvector(9999, 4, 128, float)"), 2 * late.l2_bytes / 64 * 16);
  EXPECT_EQ(from("hvector(9999, 6, 128, float)"), kNone);
  EXPECT_EQ(from("hvector(9999, 3, 4032, float)"), kNone);
  table.masks = false;
  EXPECT_EQ(from("hvector(9999, 3, 128, float)"), 2 * late.l2_bytes / 64 * 12);
}

TEST(Prefetches, LongerRunsArePrefetchedWherePackingGainsByIt) {
  KernelTable table = *kernel_tables().front();
  table.masks = true;
  Machine host;
  host.fast_masked_moves = true;
  const auto packed = [&](const char* text) { return prefetch(text, host, table).pack.from; };
  for (const char* text : {"hvector(9999, 64, 128, byte)", "hvector(9999, 24, 128, byte)"})
    EXPECT_EQ(packed(text), kNone) << text;
  host.short_load_window = host.wasted_prefetches_cost = true;
  EXPECT_EQ(packed("hvector(9999, 64, 128, byte)"), host.l2_bytes);
  EXPECT_EQ(packed("hvector(9999, 96, 256, byte)"), host.l2_bytes / 128 * 96);
  EXPECT_EQ(packed("hvector(9999, 24, 128, byte)"), host.l3_bytes / 64 * 24);  // under masks
  // Not where most lines hold data, nor in rows shorter than the prefetch distance.
  for (const char* text : {"hvector(9999, 40, 96, byte)", "hvector(9999, 96, 192, byte)",
                           "hvector(99, 1, 99999, hvector(60, 64, 128, byte))",
                           "hvector(99, 1, 99999, hvector(30, 8, 128, byte))"})
    EXPECT_EQ(packed(text), kNone) << text;
}

TEST(Prefetches, LinesInDramArePrefetchedFartherAhead) {
  Machine host;
  const auto far = [&](const char* text) { return prefetch(text, host).far_bytes; };
  EXPECT_EQ(far("hvector(9999, 1, 192, double)"), kNone);
  host.dram_miss_runs = 32;
  EXPECT_EQ(far("hvector(9999, 1, 192, double)"), host.l3_bytes / 64 * 8);
  EXPECT_EQ(far("hvector(9, 1, 99999, hvector(128, 1, 192, double))"), host.l3_bytes / 64 * 8);
  EXPECT_EQ(far("hvector(9, 1, 99999, hvector(100, 1, 192, double))"), kNone);
}

TEST(Prefetches, LinesOfAListThatAscendsSlowlyArePrefetchedInOrder) {
  Machine host;
  host.short_load_window = true;
  const auto in_order = [&](const char* text) { return prefetch(text, host).in_order; };
  EXPECT_TRUE(in_order("indexed_block(1, [0, 3, 7, 12, 20], double)"));
  EXPECT_FALSE(in_order("indexed_block(1, [0, 30, 70, 120, 200], double)"));  // most lines unused
  EXPECT_FALSE(in_order("indexed_block(1, [0, 7, 3, 12, 20], double)"));
  EXPECT_FALSE(in_order("indexed_block(1, [0, 3, 7, 8, 9, 11, 12, 13, 300, 301, 305], double)"));
  EXPECT_FALSE(in_order("indexed_block(2, [0, 3, 7, 12, 20], double)"));
  EXPECT_FALSE(prefetch("indexed_block(1, [0, 3, 7, 12, 20], double)", Machine()).in_order);
}

TEST(Prefetches, ListsThatAscendSlowlyAreUnpackedUnderMasksWithoutPrefetch) {
  Machine host;
  host.follows_ascending_lists = true;
  const auto rule = [&](const char* text) { return prefetch(text, host); };
  // Four entries of 24 bytes in 21 doubles: several share a line, so more packed bytes fill half of
  // the L3.
  const PrefetchRule rising = rule("indexed_block(3, [0, 9, 12, 21], double)");
  const PrefetchRule random = rule("indexed_block(3, [9, 0, 12, 21], double)");
  EXPECT_EQ(rising.unpack.from, host.l3_bytes / 2 / 64 * 24 * (4 * 64) / (21 * 8));
  EXPECT_EQ(rising.masks_below, rising.unpack.from);
  EXPECT_EQ(random.masks_below, rising.masks_below / 2);
  EXPECT_EQ(random.unpack.from, host.l1_bytes / 64 * 24);
  // Every eighth.
  EXPECT_EQ(rule("indexed_block(3, [0, 24, 49, 72], double)").unpack.from,
            host.l3_bytes / 2 / 64 * 24);
  EXPECT_EQ(rule("indexed_block(3, [0, 48, 97, 144], double)").unpack.from, random.unpack.from);
  // Sparse runs of up to 16 bytes stay under masks.
  EXPECT_EQ(rule("indexed_block(3, [0, 99, 199, 300], float)").masks_below, kNone);
  EXPECT_EQ(prefetch("indexed_block(3, [0, 9, 12, 21], double)", Machine()).masks_below, kNone);
}

TEST(Prefetches, LinesOfFewL1SetsArePrefetchedIntoTheL2) {
  Machine second;
  second.conflict_prefetch_level = 2;
  const auto rule = [&](const char* text) { return prefetch(text, second); };
  const PrefetchRule lines = rule("hvector(99999, 64, 8192, byte)");
  EXPECT_TRUE(lines.into_l2);
  EXPECT_EQ(lines.unpack.from, 2 * second.l3_bytes / second.page_bytes * 64);
  EXPECT_EQ(lines.pack.from, 2 * lines.unpack.from);
  EXPECT_EQ(lines.far_bytes, 0);
  for (const char* text : {"hvector(99999, 1, 1024, double)", "hvector(99999, 3, -3072, double)"})
    EXPECT_TRUE(rule(text).into_l2) << text;
  EXPECT_FALSE(rule("hvector(99999, 1, 512, double)").into_l2);
  // Rows at all offsets in pages use all cache sets, so more lines fit the L3.
  const PrefetchRule anywhere = rule("hvector(999, 1, 1000192, hvector(999, 1, 2048, double))");
  EXPECT_TRUE(anywhere.into_l2);
  EXPECT_EQ(anywhere.pack.from, second.l3_bytes / 64 * 8);
  EXPECT_FALSE(rule("hvector(99999, 64, 4160, byte)").into_l2);
  EXPECT_FALSE(rule("hvector(99999, 128, 8192, byte)").into_l2);
  EXPECT_FALSE(prefetch("hvector(99999, 64, 8192, byte)", Machine()).into_l2);
}

}  // namespace
}  // namespace lacuna
