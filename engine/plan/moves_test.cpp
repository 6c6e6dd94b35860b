// SPDX-License-Identifier: BSD-3-Clause
//
// The hints that kernels get: for which messages they prefetch, how often runs are stored, and by
// which moves.
#include "plan/moves.hpp"

#include <gtest/gtest.h>

#include <array>

#include "plan/plan.hpp"
#include "type/text.hpp"

namespace lacuna {
namespace {

PlanPtr planned(const char* text, const Machine& host = machine()) {
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  return make_plan(std::move(type).value(), *kernel_tables().front(), host);
}

TEST(Moves, LinesAreAskedForAheadWhereThatPays) {
  const Machine host;
  const auto sweep = [&](const char* text) { return planned(text, host)->root(1).sweep; };
  // Unpacking beyond the L1, packing beyond the L2.
  const Sweep column = sweep("hvector(100000, 1, 192, double)");
  EXPECT_EQ(column.unpack_ahead.from, host.l1_bytes / 64 * 8);
  EXPECT_EQ(column.unpack_ahead.below, Sizes::kNoEnd);
  EXPECT_EQ(column.pack_ahead.from, host.l2_bytes / 64 * 8);
  EXPECT_EQ(column.ahead_bytes, 8);
  // A page for each run: only while the TLB reaches them.
  const Sweep pages = sweep("hvector(100000, 1, 4112, double)");
  EXPECT_EQ(pages.unpack_ahead.below, host.tlb2_entries * 8);
  EXPECT_FALSE(pages.pack_ahead.hold(1 << 30, 1 << 30));
  // Whole lines, far apart: beyond the L2.
  EXPECT_EQ(sweep("hvector(100000, 64, 1024, byte)").unpack_ahead.from, host.l2_bytes);
  // Short strides: the hardware prefetcher follows.
  EXPECT_FALSE(sweep("hvector(100000, 1, 16, double)").unpack_ahead.hold(1 << 30, 1 << 30));
  // A field at the front of each element, and one a line further.
  EXPECT_EQ(sweep("hvector(1000, 1, 192, struct([3, 1], [0, 64], [double, int]))").ahead_bytes, 68);
  // Lists of runs longer than a double.
  EXPECT_FALSE(
      sweep("indexed_block(1, [0, 3, 7, 12], double)").unpack_ahead.hold(1 << 30, 1 << 30));
  EXPECT_TRUE(
      sweep("indexed_block(3, [0, 9, 21, 36], double)").unpack_ahead.hold(1 << 30, 1 << 30));
}

TEST(Moves, SomeMachinesAskForLinesLater) {
  Machine late;
  late.prefetch_from_bytes = late.l2_bytes;
  late.hides_l2_misses = true;
  late.fast_memcpy_bytes = late.fast_memcpy_scatter_bytes = 2048;
  const Sweep column = planned("hvector(100000, 1, 192, double)", late)->root(1).sweep;
  EXPECT_EQ(column.unpack_ahead.from, late.l2_bytes / 64 * 8);
  EXPECT_FALSE(column.unpack_move.asks_always);
  EXPECT_EQ(column.unpack_move.library_run, 2048);
  late.fast_memcpy_scatter_bytes = 16384;
  const Sweep narrow = planned("hvector(9999, 1, 4096, double)", late)->root(1).sweep;
  EXPECT_EQ(narrow.pack_move.library_run, 2048);
  EXPECT_EQ(narrow.unpack_move.library_run, 16384);
  const Sweep soon = planned("hvector(100000, 1, 192, double)", Machine())->root(1).sweep;
  EXPECT_TRUE(soon.unpack_move.asks_always);
  late.prefetch_from_bytes = 2 * late.l2_bytes;
  const Sweep later = planned("hvector(100000, 1, 192, double)", late)->root(1).sweep;
  EXPECT_EQ(later.unpack_ahead.from, late.prefetch_from_bytes / 64 * 8);
  EXPECT_EQ(later.pack_ahead.from, late.prefetch_from_bytes / 64 * 8);
  // Lists of doubles: unpacking prefetches beyond the L3, on CPUs that follow ascending lists.
  const char* const list = "indexed_block(1, [0, 3, 7, 12], double)";
  EXPECT_FALSE(planned(list, late)->root(1).sweep.unpack_ahead.hold(1 << 30, 1 << 30));
  late.short_load_window = late.follows_ascending_lists = true;
  EXPECT_EQ(planned(list, late)->root(1).sweep.unpack_ahead.from, late.l3_bytes / 64 * 8);
  // Packing lists whose runs have a line each, or share one; and longer runs.
  const auto packed = [&](const char* text) {
    return planned(text, late)->root(1).sweep.pack_ahead.from;
  };
  const int64_t each = late.l3_bytes / 2 / 64 * 8;
  EXPECT_EQ(packed("indexed_block(1, [0, 30, 70, 120], double)"), each);
  EXPECT_EQ(packed(list), each * 8 / 3);
  EXPECT_EQ(packed("indexed_block(16, [0, 300, 700, 1200], double)"), late.prefetch_from_bytes);
  EXPECT_EQ(packed("indexed_block(2, [0, 30, 70, 120], double)"), Sizes().from);
  // Runs of unequal lengths: both directions, if they are not short.
  const char* const unequal = "hindexed([70, 31, 103, 52], [0, 300, 700, 1200], byte)";
  EXPECT_EQ(packed(unequal), late.l3_bytes / 4);
  EXPECT_EQ(planned(unequal, late)->root(1).sweep.unpack_ahead.from, packed(unequal));
  late.followed_stride_bytes = 193;
  const Sweep never = planned("hvector(100000, 1, 192, double)", late)->root(1).sweep;
  EXPECT_FALSE(never.unpack_ahead.hold(1 << 30, 1 << 30));
  EXPECT_FALSE(never.pack_ahead.hold(1 << 30, 1 << 30));
}

TEST(Moves, MachinesLearnDifferentStrides) {
  Machine even;
  even.learned_run_bytes = 64;
  even.learned_stride_bytes = 128;
  even.vector_bytes = 32;
  const auto move = [](const char* text, const Machine& machine) {
    return planned(text, machine)->root(1).sweep.pack_move;
  };
  EXPECT_EQ(move("hvector(9999, 1, 256, double)", even).one_by_one, 64);
  EXPECT_EQ(move("hvector(9999, 1, 192, double)", even).one_by_one, 0);
  EXPECT_TRUE(move("hvector(9999, 300, 512, byte)", even).half_lines);
  EXPECT_EQ(move("hvector(9999, 1, 192, double)", Machine()).one_by_one, 16);
  Machine no_short = even;
  no_short.learned_run_least_bytes = 64;
  EXPECT_EQ(move("hvector(9999, 1, 256, double)", no_short).one_by_one, 0);
  EXPECT_EQ(move("hvector(9999, 64, 256, byte)", no_short).one_by_one, 64);
  EXPECT_FALSE(move("hvector(9999, 300, 512, byte)", Machine()).half_lines);
  even.learned_lines = 500;
  EXPECT_EQ(move("hvector(9999, 1, 256, double)", even).one_by_one_runs, 500);
  // Runs of a line have a limit of their own, where strides exceed half a page.
  const auto lines = [&](const char* stride) {
    const std::string text = std::string("hvector(9999, 8, ") + stride + ", double)";
    const Sweep sweep = planned(text.c_str(), even)->root(1).sweep;
    return std::pair(sweep.pack_move.one_by_one_runs, sweep.unpack_move.one_by_one_runs);
  };
  EXPECT_GT(lines("128").first, 1 << 30);
  EXPECT_GT(lines("128").second, 1 << 30);
  EXPECT_EQ(lines("4096"), std::pair(even.l2_bytes / 64, int64_t{0}));
}

TEST(Moves, KernelsAndMachineSayWhetherRunsAreMovedUnderMasks) {
  KernelTable table = *kernel_tables().front();
  Machine host;
  for (const bool has_masks : {false, true}) {
    for (const bool are_fast : {false, true}) {
      table.masks = has_masks;
      host.fast_masked_moves = are_fast;
      const PlanPtr plan = make_plan(parse_type("hvector(99, 24, 64, byte)").value(), table, host);
      EXPECT_EQ(plan->root(1).sweep.pack_move.masks, has_masks && are_fast);
      EXPECT_EQ(plan->root(1).sweep.unpack_move.masks, has_masks && are_fast);
    }
  }
}

TEST(Moves, LoadsUnderMasksAreAskedForWhereTheirLinesDoNotFit) {
  KernelTable table = *kernel_tables().front();
  Machine late;
  late.prefetch_from_bytes = 2 * late.l2_bytes;
  late.fast_masked_moves = true;
  const auto from = [&](const char* text) {
    return make_plan(parse_type(text).value(), table, late)->root(1).sweep.pack_ahead.from;
  };
  table.masks = true;
  // A stride of 128 bytes uses every second cache set, one of 192 all.
  EXPECT_EQ(from("hvector(9999, 3, 128, float)"), late.l2_bytes / 128 * 12);
  EXPECT_EQ(from("hvector(9999, 3, -128, float)"), late.l2_bytes / 128 * 12);
  EXPECT_EQ(from("hvector(9999, 3, 192, float)"), late.l2_bytes / 64 * 12);
  // Not runs that are not moved under masks, nor strides above half a page.
  EXPECT_EQ(from("hvector(9999, 4, 128, float)"), 2 * late.l2_bytes / 64 * 16);
  EXPECT_EQ(from("hvector(9999, 6, 128, float)"), Sizes::kNoEnd);
  EXPECT_EQ(from("hvector(9999, 3, 4032, float)"), Sizes::kNoEnd);
  table.masks = false;
  EXPECT_EQ(from("hvector(9999, 3, 128, float)"), 2 * late.l2_bytes / 64 * 12);
}

TEST(Moves, LongerRunsAreAskedForWherePackingGainsByIt) {
  KernelTable table = *kernel_tables().front();
  table.masks = true;
  Machine host;
  host.fast_masked_moves = true;
  const auto packed = [&](const char* text) {
    return make_plan(parse_type(text).value(), table, host)->root(1).sweep.pack_ahead.from;
  };
  for (const char* text : {"hvector(9999, 64, 128, byte)", "hvector(9999, 24, 128, byte)"})
    EXPECT_EQ(packed(text), Sizes::kNoEnd) << text;
  host.short_load_window = host.wasted_prefetches_cost = true;
  EXPECT_EQ(packed("hvector(9999, 64, 128, byte)"), host.l2_bytes);
  EXPECT_EQ(packed("hvector(9999, 96, 256, byte)"), host.l2_bytes / 128 * 96);
  EXPECT_EQ(packed("hvector(9999, 24, 128, byte)"), host.l3_bytes / 64 * 24);  // under masks
  // Not where most lines hold data, nor in rows shorter than the prefetch distance.
  for (const char* text : {"hvector(9999, 40, 96, byte)", "hvector(9999, 96, 192, byte)",
                           "hvector(99, 1, 99999, hvector(60, 64, 128, byte))",
                           "hvector(99, 1, 99999, hvector(30, 8, 128, byte))"})
    EXPECT_EQ(packed(text), Sizes::kNoEnd) << text;
}

TEST(Moves, LinesInDramAreAskedForFartherAhead) {
  Machine host;
  const auto far = [&](const char* text) { return planned(text, host)->root(1).sweep.far_bytes; };
  EXPECT_EQ(far("hvector(9999, 1, 192, double)"), Sizes::kNoEnd);
  host.dram_miss_runs = 32;
  EXPECT_EQ(far("hvector(9999, 1, 192, double)"), host.l3_bytes / 64 * 8);
  EXPECT_EQ(far("hvector(9, 1, 99999, hvector(128, 1, 192, double))"), host.l3_bytes / 64 * 8);
  EXPECT_EQ(far("hvector(9, 1, 99999, hvector(100, 1, 192, double))"), Sizes::kNoEnd);
}

TEST(Moves, RunsThatMeetInTheFirstLevelAreStoredSeveralTimes) {
  Machine early;
  early.early_stores = 8;
  const auto move = [&](const char* text) {
    return planned(text, early)->root(1).sweep.unpack_move;
  };
  const auto below = [&](const char* text) {
    return planned(text, early)->root(1).sweep.repeats_below;
  };
  EXPECT_EQ(move("hvector(9999, 1, 512, double)").repeats, 3);
  EXPECT_EQ(move("hvector(9999, 1, 1024, double)").repeats, 6);
  EXPECT_EQ(move("hvector(9999, 1, 8192, double)").repeats, 16);
  EXPECT_EQ(move("hvector(9999, 1, 8192, double)").repeats_from, early.l1_bytes / 4096);
  EXPECT_EQ(below("hvector(9999, 1, 8192, double)"), 2 * early.l2_bytes / early.line_bytes);
  EXPECT_EQ(move("hvector(9999, 64, 1024, byte)").repeats, 2);
  EXPECT_EQ(move("hvector(9999, 64, 4096, byte)").repeats, 8);
  EXPECT_EQ(below("hvector(9999, 64, 4096, byte)"), early.l2_bytes / 64);
  EXPECT_EQ(move("hvector(9999, 80, 4096, byte)").repeats, 1);
  EXPECT_EQ(move("hvector(9999, 256, 4096, byte)").repeats, 2);
  EXPECT_EQ(below("hvector(9999, 256, 4096, byte)"), early.l2_bytes / 256);
  EXPECT_EQ(move("hvector(9999, 256, 512, byte)").repeats, 1);
  EXPECT_EQ(move("hvector(9999, 1, 4160, double)").repeats, 1);
  EXPECT_EQ(planned("hvector(9999, 1, 1024, double)", Machine())->root(1).sweep.unpack_move.repeats,
            1);
  // Whole lines are stored several times only where one store writes a line.
  early.store_bytes = 32;
  early.early_stores = 3;
  early.narrow_moves_avoid_conflicts = true;
  EXPECT_EQ(move("hvector(9999, 1, 512, double)").repeats, 2);
  EXPECT_EQ(move("hvector(9999, 1, 1024, double)").repeats, 3);
  EXPECT_EQ(move("hvector(9999, 1, 4096, double)").repeats, 9);
  EXPECT_EQ(move("hvector(9999, 64, 4096, byte)").repeats, 1);
  EXPECT_EQ(move("hvector(9999, 256, 4096, byte)").repeats, 1);
  // Else by narrow moves: the fewer L1 sets their lines use, the narrower.
  const auto pieces = [&](const char* text) {
    const auto plan = planned(text, early);
    const Sweep& sweep = plan->root(1).sweep;
    return std::array{sweep.pack_move.piece, sweep.pack_move.piece_off_lines,
                      sweep.unpack_move.piece, sweep.unpack_move.piece_off_lines};
  };
  using Pieces = std::array<int64_t, 4>;
  EXPECT_EQ(pieces("hvector(9999, 64, 1024, byte)"), (Pieces{0, 16, 16, 16}));
  EXPECT_EQ(pieces("hvector(9999, 64, 2048, byte)"), (Pieces{16, 16, 16, 8}));
  EXPECT_EQ(pieces("hvector(9999, 64, 8192, byte)"), (Pieces{8, 8, 8, 8}));
  EXPECT_EQ(pieces("hvector(9999, 128, 4096, byte)"), (Pieces{16, 16, 16, 8}));
  EXPECT_EQ(pieces("hvector(9999, 256, 4096, byte)"), (Pieces{0, 16, 16, 16}));
  EXPECT_EQ(pieces("hvector(9999, 256, 2048, byte)"), (Pieces{0, 0, 0, 0}));
  EXPECT_EQ(pieces("hvector(9999, 64, 512, byte)"), (Pieces{0, 0, 0, 0}));
  EXPECT_EQ(pieces("hvector(9999, 80, 4096, byte)"), (Pieces{0, 0, 0, 0}));
}

TEST(Moves, LoadsOfLinesThatMeetInTheFirstLevelArePaced) {
  Machine paced;
  paced.conflict_load_cycles = 8;
  const auto pace = [&](const char* text) {
    return planned(text, paced)->root(1).sweep.pack_move.pace;
  };
  EXPECT_EQ(pace("hvector(9999, 1, 512, double)"), 1);
  EXPECT_EQ(pace("hvector(9999, 1, 1024, double)"), 2);
  EXPECT_EQ(pace("hvector(9999, 1, 6144, double)"), 4);
  EXPECT_EQ(pace("hvector(9999, 64, -8192, byte)"), 8);
  EXPECT_EQ(pace("hvector(9999, 1, 4160, double)"), 1);
  const PlanPtr plan = planned("hvector(9999, 1, 4096, double)", paced);
  EXPECT_EQ(plan->root(1).sweep.pack_move.paced_most, paced.l2_bytes / paced.line_bytes);
  EXPECT_EQ(plan->root(1).sweep.unpack_move.pace, 1);
  EXPECT_EQ(planned("hvector(9999, 1, 4096, double)", Machine())->root(1).sweep.pack_move.pace, 1);
}

TEST(Moves, LinesOfAListThatRisesSlowlyAreAskedForInOrder) {
  Machine host;
  host.short_load_window = true;
  const auto in_order = [&](const char* text) {
    return planned(text, host)->root(1).sweep.pack_move.ahead_in_order;
  };
  EXPECT_TRUE(in_order("indexed_block(1, [0, 3, 7, 12, 20], double)"));
  EXPECT_FALSE(in_order("indexed_block(1, [0, 30, 70, 120, 200], double)"));  // most lines unused
  EXPECT_FALSE(in_order("indexed_block(1, [0, 7, 3, 12, 20], double)"));
  EXPECT_FALSE(in_order("indexed_block(1, [0, 3, 7, 8, 9, 11, 12, 13, 300, 301, 305], double)"));
  EXPECT_FALSE(in_order("indexed_block(2, [0, 3, 7, 12, 20], double)"));
  EXPECT_FALSE(planned("indexed_block(1, [0, 3, 7, 12, 20], double)", Machine())
                   ->root(1)
                   .sweep.pack_move.ahead_in_order);
}

TEST(Moves, ListsThatRiseSlowlyAreUnpackedUnaskedForUnderMasks) {
  Machine host;
  host.follows_ascending_lists = true;
  const auto sweep = [&](const char* text) { return planned(text, host)->root(1).sweep; };
  // Four entries of 24 bytes in 21 doubles: several share a line, so more packed bytes fill half of
  // the L3.
  const Sweep rising = sweep("indexed_block(3, [0, 9, 12, 21], double)");
  const Sweep random = sweep("indexed_block(3, [9, 0, 12, 21], double)");
  EXPECT_EQ(rising.unpack_ahead.from, host.l3_bytes / 2 / 64 * 24 * (4 * 64) / (21 * 8));
  EXPECT_EQ(rising.masks_below, rising.unpack_ahead.from);
  EXPECT_EQ(random.masks_below, rising.masks_below / 2);
  EXPECT_EQ(random.unpack_ahead.from, host.l1_bytes / 64 * 24);
  // Every eighth.
  EXPECT_EQ(sweep("indexed_block(3, [0, 24, 49, 72], double)").unpack_ahead.from,
            host.l3_bytes / 2 / 64 * 24);
  EXPECT_EQ(sweep("indexed_block(3, [0, 48, 97, 144], double)").unpack_ahead.from,
            random.unpack_ahead.from);
  // Sparse runs of up to 16 bytes stay under masks.
  EXPECT_EQ(sweep("indexed_block(3, [0, 99, 199, 300], float)").masks_below, Sizes::kNoEnd);
  EXPECT_EQ(
      planned("indexed_block(3, [0, 9, 12, 21], double)", Machine())->root(1).sweep.masks_below,
      Sizes::kNoEnd);
}

TEST(Moves, LinesAtFewPlacesOfTheirPagesAreAskedForIntoTheSecondLevel) {
  Machine second;
  second.conflict_prefetch_level = 2;
  const auto sweep = [&](const char* text) { return planned(text, second)->root(1).sweep; };
  const Sweep lines = sweep("hvector(99999, 64, 8192, byte)");
  EXPECT_TRUE(lines.pack_move.ahead_second);
  EXPECT_TRUE(lines.unpack_move.ahead_second);
  EXPECT_EQ(lines.unpack_ahead.from, 2 * second.l3_bytes / second.page_bytes * 64);
  EXPECT_EQ(lines.pack_ahead.from, 2 * lines.unpack_ahead.from);
  EXPECT_EQ(lines.far_bytes, 0);
  for (const char* text : {"hvector(99999, 1, 1024, double)", "hvector(99999, 3, -3072, double)"})
    EXPECT_TRUE(sweep(text).pack_move.ahead_second) << text;
  EXPECT_FALSE(sweep("hvector(99999, 1, 512, double)").pack_move.ahead_second);
  // Rows at all offsets in pages use all cache sets, so more lines fit the L3.
  const Sweep anywhere = sweep("hvector(999, 1, 1000192, hvector(999, 1, 2048, double))");
  EXPECT_TRUE(anywhere.pack_move.ahead_second);
  EXPECT_EQ(anywhere.pack_ahead.from, second.l3_bytes / 64 * 8);
  EXPECT_FALSE(sweep("hvector(99999, 64, 4160, byte)").pack_move.ahead_second);
  EXPECT_FALSE(sweep("hvector(99999, 128, 8192, byte)").pack_move.ahead_second);
  const PlanPtr first = planned("hvector(99999, 64, 8192, byte)", Machine());
  EXPECT_FALSE(first->root(1).sweep.pack_move.ahead_second);
}

}  // namespace
}  // namespace lacuna
