// SPDX-License-Identifier: BSD-3-Clause
//
// Which strategy moves a message, and with which hints: how often runs are stored, and by which
// moves.
#include "plan/strategy/strategy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "plan/plan_check.hpp"

namespace lacuna {
namespace {

constexpr int64_t kNone = Regime::kNoEnd;

// What moves one element.
Regime regime(const char* text, const Machine& host, Direction way,
              const KernelTable& kernels = *kernel_tables().front()) {
  const PlanPtr plan = planned(text, host, kernels);
  return plan->root(1).step.regime(way, plan->size(), plan->size());
}
Hints packing(const char* text, const Machine& host) {
  return regime(text, host, Direction::kPack).hints;
}
Hints unpacking(const char* text, const Machine& host) {
  return regime(text, host, Direction::kUnpack).hints;
}

TEST(Strategies, LongRunsAreMovedByTheLibraryFromTheSizeOfTheMachine) {
  Machine host;
  host.fast_memcpy_bytes = 2048;
  const auto by = [&](const char* text, Direction way) {
    return regime(text, host, way).kernel.strategy;
  };
  const bool has_library = kernel_tables().front()->has(Strategy::kLibrary, Width::kAny);
  const Strategy library = has_library ? Strategy::kLibrary : Strategy::kStrided;
  const Strategy vectors = has_library ? Strategy::kVectors : Strategy::kStrided;
  EXPECT_EQ(by("hvector(99, 2048, 9000, byte)", Direction::kPack), library);
  EXPECT_EQ(by("hvector(99, 2048, 9000, byte)", Direction::kUnpack), vectors);
  EXPECT_EQ(by("hvector(99, 2047, 9000, byte)", Direction::kPack), vectors);
  EXPECT_EQ(by("hvector(8, 2048, 9000, byte)", Direction::kPack), vectors);  // in the L1
  // Packing from DRAM, one load for each line, where the CPU hides misses that the L2 serves.
  host.hides_l2_misses = true;
  const Strategy lines = has_library ? Strategy::kLines : Strategy::kStrided;
  EXPECT_EQ(by("hvector(9999, 300, 9000, byte)", Direction::kPack), lines);
  EXPECT_EQ(by("hvector(999, 300, 9000, byte)", Direction::kPack), vectors);
}

TEST(Strategies, MachinesLearnDifferentStrides) {
  Machine even;
  even.learned_run_bytes = 64;
  even.learned_stride_bytes = 128;
  even.followed_stride_bytes = 1 << 20;  // no prefetches
  even.vector_bytes = 32;
  const auto is_one = [](const char* text, const Machine& machine) {
    return regime(text, machine, Direction::kPack).kernel.strategy == Strategy::kOneLoad;
  };
  const bool has_it = kernel_tables().front()->has(Strategy::kOneLoad, Width::k8);
  EXPECT_EQ(is_one("hvector(9999, 1, 256, double)", even), has_it);
  EXPECT_FALSE(is_one("hvector(9999, 1, 192, double)", even));
  EXPECT_FALSE(is_one("hvector(500, 1, 256, double)", even));  // in the L1
  EXPECT_EQ(packing("hvector(9999, 300, 512, byte)", even).move.off_lines, 32);
  EXPECT_EQ(packing("hvector(9999, 300, 512, byte)", Machine()).move.off_lines, 64);
  Machine no_short = even;
  no_short.learned_run_least_bytes = 64;
  EXPECT_FALSE(is_one("hvector(9999, 1, 256, double)", no_short));
  EXPECT_EQ(is_one("hvector(9999, 64, 256, byte)", no_short), has_it);
  even.learned_lines = 9999;
  EXPECT_EQ(is_one("hvector(9999, 1, 256, double)", even), has_it);
  even.learned_lines = 9998;
  EXPECT_FALSE(is_one("hvector(9999, 1, 256, double)", even));
  // Runs of a line have a limit of their own, where strides exceed half a page.
  EXPECT_EQ(is_one("hvector(9999, 64, 1024, byte)", even), has_it);
  EXPECT_EQ(is_one("hvector(9999, 64, 4096, byte)", even), has_it);
  even.l2_bytes = 9998 * 64;
  EXPECT_FALSE(is_one("hvector(9999, 64, 4096, byte)", even));
}

TEST(Strategies, ShortRowsHaveLoopsOfTheirOwn) {
  const auto by = [&](const char* text) {
    return regime(text, Machine(), Direction::kUnpack).kernel.strategy;
  };
  const bool has_it = kernel_tables().front()->has(Strategy::kShortRows, Width::k8);
  EXPECT_EQ(by("hvector(20, 1, 9000, hvector(8, 1, 80, double))") == Strategy::kShortRows, has_it);
  EXPECT_NE(by("hvector(20, 1, 9000, hvector(9, 1, 80, double))"), Strategy::kShortRows);
}

// Rows of single runs that are too short for a table are rows of runs like others.
TEST(Strategies, RowsTooShortForATableAreMovedAsRunsAtAStride) {
  for (const KernelTable* table : kernel_tables()) {
    const PlanPtr plan =
        planned("subarray([3, 6], [3, 3], [0, 0], c, resized(0, 16, double))", Machine(), *table);
    const Step& step = plan->root(200).step;
    const Strategy by = step.regime(Direction::kPack, 14400, 14400).kernel.strategy;
    const bool has_it = table->has(Strategy::kShortRows, Width::k8);
    EXPECT_EQ(by, has_it ? Strategy::kShortRows : definition_of(by)) << table->isa;
  }
}

TEST(Strategies, KernelsAndMachineSayWhetherRunsAreMovedUnderMasks) {
  KernelTable table = *kernel_tables().front();
  Machine host;
  for (const bool has_masks : {false, true}) {
    for (const bool are_fast : {false, true}) {
      table.masks = has_masks;
      host.fast_masked_moves = are_fast;
      for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
        EXPECT_EQ(regime("hvector(99, 24, 128, byte)", host, way, table).hints.move.masked,
                  has_masks && are_fast);
        EXPECT_FALSE(regime("hvector(99, 24, 96, byte)", host, way, table).hints.move.masked);
      }
    }
  }
}

TEST(Strategies, RunsOfFewL1SetsAreStoredSeveralTimes) {
  Machine early;
  early.early_stores = 8;
  const auto stores = [&](const char* text) { return unpacking(text, early).stores; };
  EXPECT_EQ(stores("hvector(9999, 1, 512, double)"), 3);
  EXPECT_EQ(stores("hvector(9999, 1, 1024, double)"), 6);
  EXPECT_EQ(stores("hvector(9999, 1, 8192, double)"), 16);
  EXPECT_EQ(stores("hvector(9999, 64, 1024, byte)"), 2);
  EXPECT_EQ(stores("hvector(9999, 64, 4096, byte)"), 8);
  EXPECT_EQ(stores("hvector(9999, 80, 4096, byte)"), 1);
  EXPECT_EQ(stores("hvector(999, 256, 4096, byte)"), 2);
  EXPECT_EQ(stores("hvector(999, 256, 512, byte)"), 1);
  EXPECT_EQ(stores("hvector(9999, 1, 4160, double)"), 1);
  EXPECT_EQ(unpacking("hvector(9999, 1, 1024, double)", Machine()).stores, 1);
  // From as many runs on as the L1 has ways, and not beyond the L2.
  EXPECT_EQ(stores("hvector(8, 1, 8192, double)"), 16);
  EXPECT_EQ(stores("hvector(7, 1, 8192, double)"), 1);
  const int64_t most = 2 * early.l2_bytes / early.line_bytes;
  const auto column = [](int64_t runs) {
    return "hvector(" + std::to_string(runs) + ", 1, 8192, double)";
  };
  EXPECT_EQ(stores(column(most - 1).c_str()), 16);
  EXPECT_EQ(stores(column(most).c_str()), 1);
  // Whole lines are stored several times only where one store writes a line.
  early.store_bytes = 32;
  early.early_stores = 3;
  early.narrow_moves_avoid_conflicts = true;
  EXPECT_EQ(stores("hvector(9999, 1, 512, double)"), 2);
  EXPECT_EQ(stores("hvector(9999, 1, 1024, double)"), 3);
  EXPECT_EQ(stores("hvector(9999, 1, 4096, double)"), 9);
  EXPECT_EQ(stores("hvector(9999, 64, 4096, byte)"), 1);
  EXPECT_EQ(stores("hvector(999, 256, 4096, byte)"), 1);
  // Else by narrow moves: the fewer L1 sets their lines use, the narrower.
  const auto moves = [&](const char* text) {
    const Hints pack = packing(text, early);
    const Hints unpack = unpacking(text, early);
    return std::array<int, 4>{pack.move.on_lines, pack.move.off_lines, unpack.move.on_lines,
                              unpack.move.off_lines};
  };
  using Moves = std::array<int, 4>;
  EXPECT_EQ(moves("hvector(9999, 64, 1024, byte)"), (Moves{64, 16, 16, 16}));
  EXPECT_EQ(moves("hvector(9999, 64, 2048, byte)"), (Moves{16, 16, 16, 8}));
  EXPECT_EQ(moves("hvector(9999, 64, 8192, byte)"), (Moves{8, 8, 8, 8}));
  EXPECT_EQ(moves("hvector(999, 128, 4096, byte)"), (Moves{16, 16, 16, 8}));
  EXPECT_EQ(moves("hvector(999, 256, 4096, byte)"), (Moves{64, 16, 16, 16}));
  for (const char* text : {"hvector(999, 256, 2048, byte)", "hvector(999, 64, 512, byte)",
                           "hvector(999, 80, 4096, byte)", "hvector(15, 64, 8192, byte)"}) {
    EXPECT_NE(regime(text, early, Direction::kUnpack).kernel.strategy, Strategy::kNarrow) << text;
  }
}

TEST(Strategies, LoadsOfFewL1SetsAreSpaced) {
  Machine spaced;
  spaced.conflict_load_cycles = 8;
  spaced.followed_stride_bytes = 1 << 20;  // no prefetches
  const auto cycles = [&](const char* text) { return packing(text, spaced).load_cycles; };
  EXPECT_EQ(cycles("hvector(9999, 1, 512, double)"), 1);
  EXPECT_EQ(cycles("hvector(9999, 1, 1024, double)"), 2);
  EXPECT_EQ(cycles("hvector(9999, 1, 6144, double)"), 4);
  EXPECT_EQ(cycles("hvector(9999, 64, -8192, byte)"), 8);
  EXPECT_EQ(cycles("hvector(9999, 1, 4160, double)"), 1);
  EXPECT_EQ(cycles("hvector(512, 1, 4096, double)"), 1);    // in the L1
  EXPECT_EQ(cycles("hvector(16385, 1, 4096, double)"), 1);  // more lines than the L2 has
  EXPECT_EQ(unpacking("hvector(9999, 1, 4096, double)", spaced).load_cycles, 1);
  EXPECT_EQ(packing("hvector(9999, 1, 4096, double)", Machine()).load_cycles, 1);
}

TEST(Strategies, RegimesHaveNoGapsAndNoRepetitions) {
  for (const char* text : {"hvector(9999, 1, 192, double)", "hvector(9999, 64, 8192, byte)",
                           "hvector(9999, 300, 4096, byte)",
                           "hvector(999, 1, 40, struct([3, 1], [0, 32], [double, int]))",
                           "indexed_block(3, [0, 9, 12, 21], double)",
                           "contiguous(1024, resized(0, 8, vector(1024, 1, 1024, double)))"}) {
    for (const int64_t count : {1, 1000}) {
      const PlanPtr plan = planned(text);
      const Step& step = plan->root(count).step;
      for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
        const Regimes& all = step.regimes(way);
        ASSERT_FALSE(all.empty()) << text;
        EXPECT_EQ(all.back().message_below, kNone) << text;
        EXPECT_EQ(all.back().output_below, kNone) << text;
        for (size_t i = 1; i < all.size(); ++i) {
          EXPECT_GE(all[i].output_below, all[i - 1].output_below) << text;
          if (all[i].output_below == all[i - 1].output_below) {
            EXPECT_GT(all[i].message_below, all[i - 1].message_below) << text;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace lacuna
