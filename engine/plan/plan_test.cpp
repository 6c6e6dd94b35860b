// SPDX-License-Identifier: BSD-3-Clause
//
// Which kernel, loop order and block sizes known types get, and why. exec/ and the property tests
// check that plans move the right bytes.
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "machine/profile.hpp"
#include "plan/pattern.hpp"
#include "plan/plan_check.hpp"
#include "plan/strategy/prefetch.hpp"

namespace lacuna {
namespace {

// The plan's choices for each kernel table that this host runs and each CPU row, on any host.
template <typename Check>
void for_each_row(Check check) {
  for (const Cpu& row : cpu_rows()) {
    const Machine host = told_profile({&row, "", ""}).machine;
    for (const KernelTable* table : kernel_tables()) {
      SCOPED_TRACE(std::string(row.name) + ", " + std::string(table->isa));
      check(*table, host);
    }
  }
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
  const Step& step = plan->root(1).step;
  EXPECT_EQ(step.shape, Step::Shape::kTranspose);
  EXPECT_EQ(step.pack.front().kernel.strategy, Strategy::kTranspose);
  EXPECT_EQ(step.pack.front().kernel.width, Width::k8);
  EXPECT_EQ(step.inner.mem_stride, 8192);
  EXPECT_EQ(step.outer.mem_stride, 8);
  EXPECT_EQ(step.open_loop, Step::OpenLoop::kOuter);
  EXPECT_NE(why(step, machine()).find("TLB"), std::string::npos);
  Machine four;
  four.four_lines_bytes = 1600;
  four.four_lines_narrow_bytes = 7000;
  EXPECT_EQ(transpose_tiles(16, four).four_lines_bytes, 1600);
  EXPECT_EQ(transpose_tiles(8, four).four_lines_bytes, 800);
  EXPECT_EQ(transpose_tiles(4, four).four_lines_bytes, 7000);
  four.conflicts_stall_tiles = true;
  EXPECT_EQ(transpose_tiles(16, four).diagonals_bytes, 0);
  EXPECT_EQ(transpose_tiles(8, four).diagonals_bytes, 800);
  EXPECT_EQ(transpose_tiles(4, four).diagonals_bytes, 400);
  four.conflicts_stall_tiles = false;
  EXPECT_EQ(transpose_tiles(8, four).diagonals_bytes, 0);
}

TEST(Plan, RepeatedColumnsAreATransposeToo) {
  const PlanPtr plan = planned("resized(0, 8, vector(1024, 1, 1024, double))");
  EXPECT_EQ(plan->root(1).step.shape, Step::Shape::kStrided);
  EXPECT_EQ(plan->root(2).step.shape, Step::Shape::kTranspose);
}

TEST(Plan, RepeatMergesWithALoopItContinues) {
  const PlanPtr plan = planned("resized(0, 160, vector(10, 1, 2, double))");
  EXPECT_EQ(plan->root(2).loop.count, 10);
  EXPECT_EQ(plan->root(2).loop.mem_stride, 16);
  EXPECT_EQ(plan->root(2).step.open_loop, Step::OpenLoop::kInner);
}

// Byna 2003, section 5.2: below T pages no blocking; from T on, blocks of half the TLB.
TEST(Plan, BlockingFollowsThePagesAndTheTlb) {
  const Machine host = byna_machine();
  const PlanPtr small = planned("hvector(10, 1, 24, hvector(100, 1, 16384, double))", host);
  EXPECT_EQ(small->root(1).step.shape, Step::Shape::kStrided);
  EXPECT_EQ(small->root(1).step.block_inner, 0) << why(small->root(1).step, host);
  const PlanPtr many = planned("hvector(10, 1, 24, hvector(1000, 1, 16384, double))", host);
  EXPECT_EQ(many->root(1).step.block_inner, 64) << why(many->root(1).step, host);
  EXPECT_EQ(many->root(1).step.outer.mem_stride, 24);
}

TEST(Plan, LoopsThatShareLinesGoInside) {
  // The outermost loop's iterations share lines: it is interchanged to just outside the innermost.
  const PlanPtr plan =
      planned("hvector(4, 1, 16, hvector(50, 1, 1_000_000, hvector(1000, 1, 4096, double)))");
  const Step& step = plan->root(1).step;
  EXPECT_EQ(step.outer.mem_stride, 16);
  EXPECT_EQ(step.open_loop, Step::OpenLoop::kOuter);
  ASSERT_EQ(step.around.size(), 1u);
  EXPECT_EQ(step.around[0].count, 50);
}

TEST(Plan, ListsAndTheirLoops) {
  EXPECT_EQ(definition_of(planned("indexed_block(1, [0, 3, 7, 12], double)")
                              ->root(1)
                              .step.pack.front()
                              .kernel.strategy),
            Strategy::kGather);
  const PlanPtr short_runs = planned("indexed([1, 2, 1], [0, 3, 7], double)");
  EXPECT_EQ(definition_of(short_runs->root(1).step.pack.front().kernel.strategy),
            Strategy::kGather);
  EXPECT_EQ(*short_runs->root(1).step.places, (std::vector<int32_t>{0, 24, 32, 56}));
  EXPECT_EQ(
      definition_of(
          planned("indexed([100, 3], [0, 300], byte)")->root(1).step.pack.front().kernel.strategy),
      Strategy::kGatherRuns);
  const PlanPtr structs = planned("struct([1, 3, 4], [0, 8, 40], [int, double, char])");
  EXPECT_EQ(structs->root(1).step.shape, Step::Shape::kList);
  EXPECT_EQ(structs->root(2).step.shape, Step::Shape::kRecord);
  EXPECT_EQ(definition_of(structs->root(2).step.unpack.front().kernel.strategy),
            Strategy::kScatterRecord);
  EXPECT_EQ(structs->root(2).step.record->runs.size(), 3u);
}

TEST(Plan, LongSingleRunsHaveNoTablesWhereMovesAreQuicker) {
  Machine host;
  host.permuted_run_bytes = 8;
  const auto shape = [&](const char* text) {
    return definition_of(planned(text, host)->root(1).step.unpack.front().kernel.strategy);
  };
  EXPECT_EQ(shape("hvector(1000, 12, 32, byte)"), Strategy::kStrided);
  EXPECT_EQ(shape("hvector(1000, 1, 16, struct([1, 3], [0, 5], [char, char]))"),
            Strategy::kScatterRecord);
}

TEST(Plan, ShufflesWhereTheyAreQuickerThanMoves) {
  KernelTable table = *kernel_tables().front();
  table.table_bytes = 0;
  table.shuffles = true;
  for (const double word_cycles : {0.0, 1.25}) {
    Machine host;
    host.word_cycles = word_cycles;
    const auto packed_by = [&](const char* text) {
      const PlanPtr plan = make_plan(parse_type(text).value(), table, host);
      const RecordPtr fields = plan->root(1000).step.record;
      return fields != nullptr && fields->gather.shuffles;
    };
    EXPECT_TRUE(packed_by("resized(0, 2, byte)"));
    EXPECT_TRUE(packed_by("resized(0, 4, contiguous(3, byte))"));
    EXPECT_TRUE(packed_by("resized(0, 8, struct([1, 1], [0, 4], [byte, int]))"));
    EXPECT_EQ(packed_by("resized(0, 16, contiguous(12, byte))"), word_cycles > 0);
    EXPECT_FALSE(packed_by("resized(0, 16, double)"));
    EXPECT_FALSE(packed_by("resized(0, 48, contiguous(3, double))"));
    EXPECT_FALSE(packed_by("resized(0, 64, byte)"));  // a vector would need too many loads
  }
}

TEST(Plan, ElementsWithoutTablesAreMovedByWordsWhereThoseAreFast) {
  KernelTable table = *find_table("reference");
  Machine host;
  for (const bool has_words : {false, true}) {
    for (const bool are_fast : {false, true}) {
      table.words = has_words;
      host.fast_words = are_fast;
      const TypePtr three = parse_type("hindexed([4, 24, 4], [0, 8, 36], byte)").value();
      EXPECT_EQ(make_plan(three, table, host)->root(99).step.record->words != nullptr,
                has_words && are_fast);
    }
  }
  // Words beside permutes only where an element spans a line or more.
  table.elements = host.fast_byte_permutes = true;
  for (const bool wide : {false, true}) {
    const TypePtr two = parse_type(wide ? "resized(0, 96, hindexed([24, 4], [0, 64], byte))"
                                        : "resized(0, 48, hindexed([8, 4], [0, 24], byte))")
                            .value();
    const RecordPtr fields = make_plan(two, table, host)->root(999).step.record;
    EXPECT_EQ(fields->words != nullptr, wide || fields->permutes.pack == nullptr);
  }
}

TEST(Plan, SmallElementsAreSpelledOut) {
  const auto small = [](const char* text) {
    return make_plan(parse_type(text).value(), *find_table("reference"))
        ->small_moves()
        .most_elements();
  };
  EXPECT_EQ(small("vector(16, 1, 24, double)"), 8);
  EXPECT_EQ(small("vector(128, 1, 24, double)"), 1);
  EXPECT_EQ(small("vector(129, 1, 24, double)"), 0);
  EXPECT_EQ(small("resized(0, 40, float)"), 128);
  EXPECT_EQ(small("vector(33, 3, 24, short)"), 1);   // two overlapping moves of 4
  EXPECT_EQ(small("vector(12, 5, 60, double)"), 2);  // 16 + 16 + 8
  EXPECT_EQ(small("vector(34, 5, 60, double)"), 1);
  EXPECT_EQ(small("vector(35, 5, 60, double)"), 0);
  EXPECT_EQ(small("vector(26, 8, 60, double)"), 1);
  EXPECT_EQ(small("vector(2, 9, 60, double)"), 6);  // runs too long for moves at a stride: a list
  EXPECT_EQ(small("vector(33, 3, 24, byte)"), 0);
  EXPECT_EQ(small("struct([1, 3, 4], [0, 8, 40], [int, double, char])"), 16);  // 4, 16 + 8, 4
  EXPECT_EQ(small("hvector(2, 7, 100, byte)"), 26);  // two overlapping moves of 4
  EXPECT_EQ(small("byte"), 128);
  EXPECT_EQ(small("vector(16, 1, 3, short)"), 8);
  EXPECT_EQ(small("contiguous(64, byte)"), 16);
  EXPECT_EQ(small("contiguous(65, byte)"), 0);
  EXPECT_EQ(small("contiguous(0, byte)"), 0);
  // Offsets of a list have 32 bits, strides 64.
  EXPECT_EQ(small("hindexed([1, 1, 1], [0, 16, 3_000_000_000], double)"), 0);
  EXPECT_EQ(small("hindexed([1, 1, 1], [3_000_000_000, 3_000_000_016, 3_000_000_048], double)"),
            21);
  EXPECT_EQ(small("hindexed([1, 1], [0, 3_000_000_000], double)"), 64);
  // Rows that are too many for a list: of runs of one and of two moves, not of more.
  EXPECT_EQ(small("vector(6, 1, 9, vector(8, 1, 3, double))"), 2);
  EXPECT_EQ(small("vector(8, 1, 9, vector(5, 3, 6, float))"), 1);
  EXPECT_EQ(small("vector(8, 1, 9, vector(5, 4, 6, double))"), 0);
  EXPECT_EQ(small("vector(8, 1, 9, vector(17, 1, 6, double))"), 0);  // 136 moves
  // A kernel would be called for a few runs each: up to 256 KiB.
  EXPECT_EQ(small("vector(4, 1, 9, vector(3, 1, 10, int))"), 5461);
}

TEST(Plan, FewLongRunsAreMovedByHalfLinesWhereTheKernelsHaveThem) {
  for (const KernelTable* table : kernel_tables()) {
    const auto small = [&](const char* text) {
      const PlanPtr plan = make_plan(parse_type(text).value(), *table);
      return plan->small_moves().is_wide() ? plan->small_moves().most_elements() : -1;
    };
    EXPECT_EQ(small("vector(6, 16, 20, double)"), table->half_line_moves ? 8 : -1);
    EXPECT_EQ(small("vector(3, 33, 40, double)"), table->half_line_moves ? 7 : -1);  // 9 moves each
    EXPECT_EQ(small("vector(5, 1, 9, vector(3, 8, 20, double))"), table->half_line_moves ? 6 : -1);
    EXPECT_EQ(small("resized(0, 200, contiguous(10, double))"), table->half_line_moves ? 69 : -1);
    EXPECT_EQ(small("vector(6, 3, 20, double)"), -1);    // shorter
    EXPECT_EQ(small("vector(6, 65, 80, double)"), -1);   // longer
    EXPECT_EQ(small("vector(60, 16, 20, double)"), -1);  // too many
  }
}

TEST(Plan, SmallElementsAreMovedByPermutesWhereThoseAreFast) {
  for_each_row([](const KernelTable& table, const Machine& host) {
    const bool permutes = table.elements && host.fast_byte_permutes;
    const auto is_permuted = [&](const char* text, int64_t elements = 1) {
      return make_plan(parse_type(text).value(), table, host)->small_moves().is_permuted(elements);
    };
    EXPECT_EQ(is_permuted("struct([1, 3, 4], [0, 8, 40], [int, double, char])"), permutes);
    EXPECT_EQ(is_permuted("contiguous(24, byte)"), permutes);
    EXPECT_FALSE(is_permuted("double"));                   // one move
    EXPECT_FALSE(is_permuted("vector(3, 1, 2, double)"));  // equal moves at a stride
    EXPECT_EQ(is_permuted("vector(3, 1, 2, double)", 2), permutes);
    EXPECT_FALSE(is_permuted("vector(16, 1, 24, double)", 2));       // sixteen windows
    EXPECT_FALSE(is_permuted("hvector(5, 3, 48, byte)"));            // four windows
    EXPECT_FALSE(is_permuted("hindexed([40, 40], [0, 48], byte)"));  // more than a vector
    const PlanPtr plan = make_plan(
        parse_type("resized(0, 96, struct([3, 1], [0, 64], [double, int]))").value(), table, host);
    ASSERT_NE(plan->root(1000).step.record, nullptr);
    EXPECT_EQ(plan->root(1000).step.record->permutes.pack != nullptr, permutes);
    EXPECT_EQ(plan->small_moves().most_elements(), permutes ? 128 : 21);  // 2 windows; 3 moves
  });
}

// Short loops inside a longer one (a loop, or the count of elements) are part of a record.
TEST(Plan, ShortLoopsAreElements) {
  for_each_row([](const KernelTable& table, const Machine& host) {
    const auto fields = [&](const char* text, int64_t count) -> size_t {
      const Step step = make_plan(parse_type(text).value(), table, host)->root(count).step;
      return step.shape == Step::Shape::kRecord ? step.record->runs.size() : 0;
    };
    EXPECT_EQ(fields("vector(3, 1, 2, double)", 1000), 3u);
    EXPECT_EQ(fields("hvector(1000, 1, 96, vector(2, 2, 3, double))", 1), 2u);
    EXPECT_EQ(fields("subarray([3, 3, 4], [2, 2, 3], [0, 1, 0], c, float)", 1000), 4u);
    // Too far apart for records of two runs: each row by a table, where tables serve such runs.
    const bool has_tables = table.table_bytes > 0 && host.permuted_run_bytes >= 16;
    EXPECT_EQ(fields("resized(0, 4096, vector(2, 2, 3, double))", 1000), has_tables ? 1u : 0u);
    EXPECT_LE(fields("vector(20, 1, 2, double)", 1000), 1u);
  });
}

// Small children of a kParts node are SmallMoves, not kernel calls.
TEST(Plan, SmallPiecesAreSpelledOut) {
  const auto pieces = [](const std::string& text) {
    const PlanPtr plan = make_plan(parse_type(text).value(), *find_table("reference"));
    EXPECT_EQ(plan->root(1).step.shape, Step::Shape::kParts) << text;
    std::string found;
    for (const auto& piece : plan->root(1).pieces) found += piece != nullptr ? "few " : "kernel ";
    return found;
  };
  std::string places = "0";
  for (int i = 1; i < 100; ++i) places += ", " + std::to_string(i * i);
  EXPECT_EQ(pieces("indexed_block(1, [" + places +
                   "], resized(0, 40, struct([1, 3], [0, 8], [int, double])))"),
            "few ");
  EXPECT_EQ(pieces("struct([1, 1, 1], [0, 1000, 9000], "
                   "[vector(300, 1, 2, double), vector(3, 1, 2, double), vector(9, 4, 7, char)])"),
            "kernel few few ");
}

// `explain` names the kernels that move single runs; packing and unpacking may differ.
TEST(Plan, ASingleRunIsNoElementOfFields) {
  for (const KernelTable* table : kernel_tables()) {
    const PlanPtr plan = make_plan(parse_type("vector(1000, 1, 2, char)").value(), *table);
    const Step& step = plan->root(1).step;
    if (step.record == nullptr) continue;  // the portable loops have no tables
    const std::string sentence = why(step, machine());
    EXPECT_EQ(sentence.find("1 fields"), std::string::npos) << sentence;
    EXPECT_EQ(explain(*plan, 1).find("1 fields"), std::string::npos) << explain(*plan, 1);
    EXPECT_EQ(sentence.ends_with("unpacked by a loop of runs"),
              step.unpack.front().kernel.id().starts_with("strided"))
        << table->isa << ": " << sentence << "; " << step.unpack.front().kernel.id();
    EXPECT_EQ(sentence.find("a pass per field"), std::string::npos) << sentence;
  }
}

// Where a nest takes the regimes of the nest below, its own rule gives the same.
TEST(Plan, RegimesOfNestsAreThoseOfTheirRule) {
  for_each_row([](const KernelTable& table, const Machine& host) {
    for (const char* text :
         {"subarray([64, 64, 64], [32, 32, 32], [1, 1, 1], c, double)",
          "subarray([64, 64, 64, 9], [32, 32, 9, 1], [1, 1, 1, 0], c, double)",
          "hvector(9, 1, 99999936, hvector(9, 1, 1048576, hvector(64, 1, 8192, double)))",
          "hvector(9, 1, 8, hvector(64, 1, 99999, vector(999, 1, 9, double)))"}) {
      const PlanPtr plan = planned(text, host, table);
      for (const int64_t count : {1, 2}) {
        const Step& step = plan->root(count).step;
        if (step.shape != Step::Shape::kStrided) continue;
        const strategy::Host own{table, host, count != 1};
        const auto prefetch = strategy::prefetch_strided(step, step.width, own);
        for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
          const Regimes ruled = strategy::strided_regimes(step, prefetch, way, own);
          const auto is_equal = [](const Regime& a, const Regime& b) {
            return a.message_below == b.message_below && a.output_below == b.output_below &&
                   a.kernel.fn == b.kernel.fn && a.hints == b.hints;
          };
          EXPECT_TRUE(std::ranges::equal(step.regimes(way), ruled, is_equal)) << text << count;
        }
      }
    }
  });
}

TEST(Plan, KernelsComeFromTheTableAskedFor) {
  auto type = parse_type("vector(100, 1, 4, double)");
  for (const KernelTable* table : kernel_tables()) {
    EXPECT_EQ(make_plan(type.value(), *table)->root(1).step.pack.front().kernel.isa, table->isa);
  }
}

// A few bytes: one move or several.
TEST(Explain, CountsTheMovesOfASmallMessage) {
  const std::string one = explain(*planned("struct([1, 1], [0, 8], [int, double])"), 1);
  EXPECT_TRUE(one.find("  1 move, each permutes") != std::string::npos ||
              one.find("  2 moves of 1 to 16 bytes") != std::string::npos)
      << one;
  EXPECT_NE(one.find("parts of the data (slices) are moved as follows"), std::string::npos) << one;
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
