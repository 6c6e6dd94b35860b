// SPDX-License-Identifier: BSD-3-Clause
//
// Which kernel, loop order and block sizes known types get, and why. That plans are right is held
// by exec/ and the property tests; here only what was chosen.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <array>

#include "plan/pattern.hpp"
#include "type/text.hpp"

namespace lacuna {
namespace {

using How = Sweep::How;

PlanPtr planned(const char* text, const Machine& host = machine()) {
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  return make_plan(std::move(type).value(), *kernel_tables().front(), host);
}

Machine byna_machine() {  // the Origin2000 of Byna 2003: 128 TLB entries, pages of 16 KiB
  Machine m;
  m.page_bytes = 16384;
  m.tlb_entries = 128;
  return m;
}

TEST(Plan, ContiguousTypes) {
  const PlanPtr plan = planned("contiguous(10, double)");
  EXPECT_TRUE(plan->is_contiguous());
  EXPECT_EQ(plan->size(), 80);
  EXPECT_TRUE(planned("struct([1], [16], [double])")->is_run(1));
  EXPECT_FALSE(planned("resized(0, 16, double)")->is_contiguous());
  EXPECT_TRUE(planned("resized(0, 16, double)")->is_run(1));
}

TEST(Plan, EmptyTypesHaveNoRoots) {
  const PlanPtr plan = planned("contiguous(0, double)");
  EXPECT_TRUE(plan->is_empty());
  EXPECT_EQ(plan->mean_run_bytes(), 0);
}

TEST(Plan, ATransposeGetsItsKernel) {
  const PlanPtr plan = planned("contiguous(1024, resized(0, 8, vector(1024, 1, 1024, double)))");
  const Sweep& sweep = plan->root(1).sweep;
  EXPECT_EQ(sweep.how, How::kTranspose);
  EXPECT_EQ(sweep.pack.shape, Shape::kTranspose);
  EXPECT_EQ(sweep.pack.width, Width::k8);
  EXPECT_EQ(sweep.inner.mem_stride, 8192);
  EXPECT_EQ(sweep.outer.mem_stride, 8);
  EXPECT_EQ(sweep.own, Sweep::Own::kOuter);
  EXPECT_NE(sweep.why.find("TLB"), std::string::npos);
  Machine four;
  four.four_lines_bytes = 1600;
  four.four_lines_narrow_bytes = 7000;
  EXPECT_EQ(transpose_tiles(16, four).four_lines_bytes, 1600);
  EXPECT_EQ(transpose_tiles(8, four).four_lines_bytes, 800);
  EXPECT_EQ(transpose_tiles(4, four).four_lines_bytes, 7000);
}

TEST(Plan, RepeatedColumnsAreATransposeToo) {
  const PlanPtr plan = planned("resized(0, 8, vector(1024, 1, 1024, double))");
  EXPECT_EQ(plan->root(1).sweep.how, How::kStrided);
  EXPECT_EQ(plan->root(2).sweep.how, How::kTranspose);
}

TEST(Plan, RepeatMergesWithALoopItContinues) {
  const PlanPtr plan = planned("resized(0, 160, vector(10, 1, 2, double))");
  EXPECT_EQ(plan->root(2).loop.count, 10);
  EXPECT_EQ(plan->root(2).loop.mem_stride, 16);
  EXPECT_EQ(plan->root(2).sweep.own, Sweep::Own::kInner);
}

// Byna 2003, section 5.2: below T pages no blocking; from T on, blocks of half the TLB.
TEST(Plan, BlockingFollowsThePagesAndTheTlb) {
  const Machine host = byna_machine();
  const PlanPtr few = planned("hvector(10, 1, 24, hvector(100, 1, 16384, double))", host);
  EXPECT_EQ(few->root(1).sweep.how, How::kStrided);
  EXPECT_EQ(few->root(1).sweep.block_inner, 0) << few->root(1).sweep.why;
  const PlanPtr many = planned("hvector(10, 1, 24, hvector(1000, 1, 16384, double))", host);
  EXPECT_EQ(many->root(1).sweep.block_inner, 64) << many->root(1).sweep.why;
  EXPECT_EQ(many->root(1).sweep.outer.mem_stride, 24);
}

TEST(Plan, LoopsThatShareLinesGoInside) {
  // The outermost loop's iterations share lines: it is interchanged to just outside the innermost.
  const PlanPtr plan =
      planned("hvector(4, 1, 16, hvector(50, 1, 1_000_000, hvector(1000, 1, 4096, double)))");
  const Sweep& sweep = plan->root(1).sweep;
  EXPECT_EQ(sweep.outer.mem_stride, 16);
  EXPECT_EQ(sweep.own, Sweep::Own::kOuter);
  ASSERT_EQ(sweep.around.size(), 1u);
  EXPECT_EQ(sweep.around[0].count, 50);
}

TEST(Plan, ListsAndTheirLoops) {
  EXPECT_EQ(planned("indexed_block(1, [0, 3, 7, 12], double)")->root(1).sweep.pack.shape,
            Shape::kGather);
  const PlanPtr short_runs = planned("indexed([1, 2, 1], [0, 3, 7], double)");
  EXPECT_EQ(short_runs->root(1).sweep.pack.shape, Shape::kGather);
  EXPECT_EQ(*short_runs->root(1).sweep.places, (std::vector<int32_t>{0, 24, 32, 56}));
  EXPECT_EQ(planned("indexed([100, 3], [0, 300], byte)")->root(1).sweep.pack.shape,
            Shape::kGatherRuns);
  const PlanPtr structs = planned("struct([1, 3, 4], [0, 8, 40], [int, double, char])");
  EXPECT_EQ(structs->root(1).sweep.how, How::kListed);
  EXPECT_EQ(structs->root(2).sweep.how, How::kFields);
  EXPECT_EQ(structs->root(2).sweep.unpack.shape, Shape::kScatterFields);
  EXPECT_EQ(structs->root(2).sweep.fields->fields.size(), 3u);
}

TEST(Plan, LinesAreAskedForAheadWhereThatPays) {
  const Machine host;
  const auto sweep = [&](const char* text) { return planned(text, host)->root(1).sweep; };
  // Unpacking from the first level on, packing from the second.
  const Sweep column = sweep("hvector(100000, 1, 192, double)");
  EXPECT_EQ(column.unpack_ahead.from, host.l1_bytes / 64 * 8);
  EXPECT_EQ(column.unpack_ahead.below, Sizes::kNoEnd);
  EXPECT_EQ(column.pack_ahead.from, host.l2_bytes / 64 * 8);
  EXPECT_EQ(column.ahead_bytes, 8);
  // A page each: as long as the TLB holds them.
  const Sweep pages = sweep("hvector(100000, 1, 4112, double)");
  EXPECT_EQ(pages.unpack_ahead.below, host.tlb2_entries * 8);
  EXPECT_FALSE(pages.pack_ahead.hold(1 << 30, 1 << 30));
  // Whole lines, far apart: beyond the second level.
  EXPECT_EQ(sweep("hvector(100000, 64, 1024, byte)").unpack_ahead.from, host.l2_bytes);
  // Neighbours: the hardware follows.
  EXPECT_FALSE(sweep("hvector(100000, 1, 16, double)").unpack_ahead.hold(1 << 30, 1 << 30));
  // A field at the front of each element, and one a line further.
  EXPECT_EQ(sweep("hvector(1000, 1, 192, struct([3, 1], [0, 64], [double, int]))").ahead_bytes, 68);
  // Lists of blocks longer than a double.
  EXPECT_FALSE(
      sweep("indexed_block(1, [0, 3, 7, 12], double)").unpack_ahead.hold(1 << 30, 1 << 30));
  EXPECT_TRUE(
      sweep("indexed_block(3, [0, 9, 21, 36], double)").unpack_ahead.hold(1 << 30, 1 << 30));
}

TEST(Plan, SomeMachinesAskForLinesLater) {
  Machine late;
  late.ask_bytes = late.l2_bytes;
  late.library_run_bytes = 2048;
  const Sweep column = planned("hvector(100000, 1, 192, double)", late)->root(1).sweep;
  EXPECT_EQ(column.unpack_ahead.from, late.l2_bytes / 64 * 8);
  EXPECT_FALSE(column.unpack_move.asks_always);
  EXPECT_EQ(column.unpack_move.library_run, 2048);
  late.store_bytes = 32;
  const Sweep narrow = planned("hvector(9999, 1, 4096, double)", late)->root(1).sweep;
  EXPECT_EQ(narrow.pack_move.library_run, 2048);
  EXPECT_EQ(narrow.unpack_move.library_run, Move().library_run);
  const Sweep soon = planned("hvector(100000, 1, 192, double)", Machine())->root(1).sweep;
  EXPECT_TRUE(soon.unpack_move.asks_always);
  late.ask_bytes = 2 * late.l2_bytes;
  const Sweep later = planned("hvector(100000, 1, 192, double)", late)->root(1).sweep;
  EXPECT_EQ(later.unpack_ahead.from, late.ask_bytes / 64 * 8);
  EXPECT_EQ(later.pack_ahead.from, late.ask_bytes / 64 * 8);
  // Doubles at any place wait for each other in a queue of stores, if it is such a one, in memory.
  const char* const list = "indexed_block(1, [0, 3, 7, 12], double)";
  EXPECT_FALSE(planned(list, late)->root(1).sweep.unpack_ahead.hold(1 << 30, 1 << 30));
  late.early_stores = 8;
  EXPECT_EQ(planned(list, late)->root(1).sweep.unpack_ahead.from, late.l3_bytes / 64 * 8);
  late.ask_stride_bytes = 193;
  const Sweep never = planned("hvector(100000, 1, 192, double)", late)->root(1).sweep;
  EXPECT_FALSE(never.unpack_ahead.hold(1 << 30, 1 << 30));
  EXPECT_FALSE(never.pack_ahead.hold(1 << 30, 1 << 30));
}

TEST(Plan, MachinesLearnDifferentStrides) {
  Machine even;
  even.one_by_one_bytes = 64;
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
  no_short.one_by_one_least_bytes = 64;
  EXPECT_EQ(move("hvector(9999, 1, 256, double)", no_short).one_by_one, 0);
  EXPECT_EQ(move("hvector(9999, 64, 256, byte)", no_short).one_by_one, 64);
  EXPECT_FALSE(move("hvector(9999, 300, 512, byte)", Machine()).half_lines);
  even.one_by_one_lines = 500;
  EXPECT_EQ(move("hvector(9999, 1, 256, double)", even).one_by_one_runs, 500);
  // Lines' worths have a limit of their own, where their strides cross pages.
  const auto lines = [&](const char* stride) {
    const std::string text = std::string("hvector(9999, 8, ") + stride + ", double)";
    const Sweep sweep = planned(text.c_str(), even)->root(1).sweep;
    return std::pair(sweep.pack_move.one_by_one_runs, sweep.unpack_move.one_by_one_runs);
  };
  EXPECT_GT(lines("128").first, 1 << 30);
  EXPECT_GT(lines("128").second, 1 << 30);
  EXPECT_EQ(lines("4096"), std::pair(even.l2_bytes / 64, int64_t{0}));
}

TEST(Plan, KernelsSayWhetherRunsAreMovedUnderMasks) {
  KernelTable table = *kernel_tables().front();
  const Machine host;
  for (const bool masks : {false, true}) {
    table.masks = masks;
    const PlanPtr plan = make_plan(parse_type("hvector(99, 24, 64, byte)").value(), table, host);
    EXPECT_EQ(plan->root(1).sweep.pack_move.masks, masks);
    EXPECT_EQ(plan->root(1).sweep.unpack_move.masks, masks);
  }
}

TEST(Plan, LoadsUnderMasksAreAskedForWhereTheirLinesDoNotFit) {
  KernelTable table = *kernel_tables().front();
  Machine late;
  late.ask_bytes = 2 * late.l2_bytes;
  const auto from = [&](const char* text) {
    return make_plan(parse_type(text).value(), table, late)->root(1).sweep.pack_ahead.from;
  };
  table.masks = true;
  // At 128 bytes every second place of the cache, at 192 all.
  EXPECT_EQ(from("hvector(9999, 3, 128, float)"), late.l2_bytes / 128 * 12);
  EXPECT_EQ(from("hvector(9999, 3, -128, float)"), late.l2_bytes / 128 * 12);
  EXPECT_EQ(from("hvector(9999, 3, 192, float)"), late.l2_bytes / 64 * 12);
  // Not those that are no masked loads, nor across pages.
  EXPECT_EQ(from("hvector(9999, 4, 128, float)"), 2 * late.l2_bytes / 64 * 16);
  EXPECT_EQ(from("hvector(9999, 6, 128, float)"), 2 * late.l2_bytes / 64 * 24);
  EXPECT_EQ(from("hvector(9999, 3, 4032, float)"), Sizes::kNoEnd);
  table.masks = false;
  EXPECT_EQ(from("hvector(9999, 3, 128, float)"), 2 * late.l2_bytes / 64 * 12);
}

TEST(Plan, RunsThatMeetInTheFirstLevelAreStoredSeveralTimes) {
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
  // Lines only where a store writes one at once.
  early.store_bytes = 32;
  early.early_stores = 3;
  EXPECT_EQ(move("hvector(9999, 1, 512, double)").repeats, 2);
  EXPECT_EQ(move("hvector(9999, 1, 1024, double)").repeats, 3);
  EXPECT_EQ(move("hvector(9999, 1, 4096, double)").repeats, 9);
  EXPECT_EQ(move("hvector(9999, 64, 4096, byte)").repeats, 1);
  EXPECT_EQ(move("hvector(9999, 256, 4096, byte)").repeats, 1);
  // There lines go by narrow moves, the narrower the fewer places there are for them.
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

TEST(Plan, LoadsOfLinesThatMeetInTheFirstLevelArePaced) {
  Machine paced;
  paced.pace_cycles = 8;
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

TEST(Plan, LinesAtPagesAreAskedForIntoTheSecondLevel) {
  Machine second;
  second.ask_level = 2;
  const auto sweep = [&](const char* text) { return planned(text, second)->root(1).sweep; };
  const Sweep lines = sweep("hvector(99999, 64, 8192, byte)");
  EXPECT_TRUE(lines.pack_move.ahead_second);
  EXPECT_TRUE(lines.unpack_move.ahead_second);
  EXPECT_EQ(lines.unpack_ahead.from, second.l3_bytes / second.page_bytes * 64);
  EXPECT_EQ(lines.pack_ahead.from, 2 * lines.unpack_ahead.from);
  EXPECT_FALSE(sweep("hvector(99999, 64, 4160, byte)").pack_move.ahead_second);
  EXPECT_FALSE(sweep("hvector(99999, 128, 8192, byte)").pack_move.ahead_second);
  const PlanPtr first = planned("hvector(99999, 64, 8192, byte)", Machine());
  EXPECT_FALSE(first->root(1).sweep.pack_move.ahead_second);
}

TEST(Plan, LongSingleRunsHaveNoTablesWhereMovesAreQuicker) {
  KernelTable moves = *kernel_tables().front();
  moves.field_run = 8;
  const Machine host;
  const auto shape = [&](const char* text) {
    return make_plan(parse_type(text).value(), moves, host)->root(1).sweep.unpack.shape;
  };
  EXPECT_EQ(shape("hvector(1000, 12, 32, byte)"), Shape::kStrided);
  EXPECT_EQ(shape("hvector(1000, 1, 16, struct([1, 3], [0, 5], [char, char]))"),
            Shape::kScatterFields);
}

TEST(Plan, ElementsWithoutTablesAreMovedByWordsWhereTheKernelsHaveThem) {
  KernelTable table = *find_table("reference");
  for (const bool words : {false, true}) {
    table.words = words;
    const TypePtr three = parse_type("hindexed([4, 24, 4], [0, 8, 36], byte)").value();
    EXPECT_EQ(make_plan(three, table)->root(99).sweep.fields->words != nullptr, words);
  }
}

TEST(Plan, SmallElementsAreSpelledOut) {
  const auto few = [](const char* text) {
    return make_plan(parse_type(text).value(), *find_table("reference"))->few().most_elements();
  };
  EXPECT_EQ(few("vector(16, 1, 24, double)"), 8);
  EXPECT_EQ(few("vector(128, 1, 24, double)"), 1);
  EXPECT_EQ(few("vector(129, 1, 24, double)"), 0);
  EXPECT_EQ(few("resized(0, 40, float)"), 128);
  EXPECT_EQ(few("vector(33, 3, 24, short)"), 1);   // 4 + 4 that overlap
  EXPECT_EQ(few("vector(12, 5, 60, double)"), 2);  // 16 + 16 + 8
  EXPECT_EQ(few("vector(34, 5, 60, double)"), 1);
  EXPECT_EQ(few("vector(35, 5, 60, double)"), 0);
  EXPECT_EQ(few("vector(26, 8, 60, double)"), 1);
  EXPECT_EQ(few("vector(2, 9, 60, double)"), 3);  // longer than is for this: listed
  EXPECT_EQ(few("vector(33, 3, 24, byte)"), 0);
  EXPECT_EQ(few("struct([1, 3, 4], [0, 8, 40], [int, double, char])"), 8);  // 4, 16 + 8, 4
  EXPECT_EQ(few("hvector(2, 7, 100, byte)"), 26);                           // 4 + 4 that overlap
  EXPECT_EQ(few("byte"), 32);
  EXPECT_EQ(few("contiguous(64, byte)"), 8);
  EXPECT_EQ(few("contiguous(65, byte)"), 0);
  EXPECT_EQ(few("contiguous(0, byte)"), 0);
  // Lists have offsets of 32 bits, strides have more.
  EXPECT_EQ(few("hindexed([1, 1, 1], [0, 16, 3_000_000_000], double)"), 0);
  EXPECT_EQ(few("hindexed([1, 1, 1], [3_000_000_000, 3_000_000_016, 3_000_000_048], double)"), 10);
  EXPECT_EQ(few("hindexed([1, 1], [0, 3_000_000_000], double)"), 64);
}

TEST(Plan, SmallElementsAreMovedByPermutesWhereTheKernelsHaveThem) {
  for (const KernelTable* table : kernel_tables()) {
    const auto is_permuted = [&](const char* text) {
      return make_plan(parse_type(text).value(), *table)->few().is_permuted();
    };
    EXPECT_EQ(is_permuted("struct([1, 3, 4], [0, 8, 40], [int, double, char])"), table->elements);
    EXPECT_EQ(is_permuted("contiguous(24, byte)"), table->elements);
    EXPECT_FALSE(is_permuted("double"));                             // one move
    EXPECT_FALSE(is_permuted("vector(16, 1, 24, double)"));          // at a stride
    EXPECT_FALSE(is_permuted("hvector(5, 3, 48, byte)"));            // four windows
    EXPECT_FALSE(is_permuted("hindexed([40, 40], [0, 48], byte)"));  // more than a vector
    const PlanPtr plan = make_plan(
        parse_type("resized(0, 96, struct([3, 1], [0, 64], [double, int]))").value(), *table);
    ASSERT_NE(plan->root(1000).sweep.fields, nullptr);
    EXPECT_EQ(plan->root(1000).sweep.fields->moves.pack != nullptr, table->elements);
    EXPECT_EQ(plan->few().most_elements(), table->elements ? 16 : 10);  // 2 windows; 3 moves
  }
}

TEST(Plan, KernelsComeFromTheTableAskedFor) {
  auto type = parse_type("vector(100, 1, 4, double)");
  for (const KernelTable* table : kernel_tables()) {
    EXPECT_EQ(make_plan(type.value(), *table)->root(1).sweep.pack.isa, table->isa);
  }
}

TEST(Plan, ExplainSaysWhatWhereAndWhy) {
  const std::string text = explain(*planned("resized(0, 8, vector(1024, 1, 1024, double))"), 1024);
  for (const char* part :
       {"resized(0, 8, vector(1024, 1, 1024, double))", "8192 bytes",
        "loop 1024 mem +8192 packed +8", "transpose.w8.", "n x 1", "why:", "n = 1024 elements"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Plan, PatternsSayWhatMostOfTheBytesAreIn) {
  const auto pattern = [](const char* text, int64_t count) {
    return std::string(pattern_name(pattern_of(planned(text)->root(count))));
  };
  EXPECT_EQ(pattern("vector(100, 2, 9, double)", 1), "strided");
  EXPECT_EQ(pattern("resized(0, 24, struct([1, 1], [0, 16], [double, int]))", 9), "fields");
  EXPECT_EQ(
      pattern("indexed_block(1, [0, 2, 5, 9, 11, 16, 18, 21, 27, 30, 31, 33, 38, 40, 44, 47, 49, "
              "55], double)",
              1),
      "listed");
  EXPECT_EQ(pattern("contiguous(99, resized(0, 8, vector(99, 1, 99, double)))", 1), "transposed");
}

TEST(Plan, PiecesAreDerivedTypesInsideOfRuns) {
  const auto piece = [](const char* text) { return piece_bytes(*parse_type(text).value()); };
  EXPECT_EQ(piece("vector(8, 4, 9, double)"), 0);
  EXPECT_EQ(piece("vector(8, 4, 9, contiguous(6, float))"), 24);
  EXPECT_EQ(piece("hvector(2, 1, 999999, vector(8, 4, 9, contiguous(2, contiguous(3, double))))"),
            48);
  EXPECT_EQ(piece("vector(8, 4, 9, contiguous(1, double))"), 0);
  EXPECT_EQ(piece("vector(8, 4, 9, resized(0, 32, contiguous(3, double)))"), 24);
  EXPECT_EQ(piece("struct([1, 4], [0, 8], [int, vector(8, 4, 9, contiguous(6, float))])"), 24);
  EXPECT_EQ(piece("contiguous(0, double)"), 0);
}

}  // namespace
}  // namespace lacuna
