// SPDX-License-Identifier: BSD-3-Clause
//
// Predictions on made-up machines: the rules that hold for any numbers. `lacuna bench engine`
// checks predictions against measured times.
#include "plan/cost/cost.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "plan/cost/cycles.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

constexpr Direction kDirections[] = {Direction::kPack, Direction::kUnpack};
constexpr Warmth kWarmths[] = {Warmth::kWarm, Warmth::kCold};

PlanPtr planned(const std::string& text, const Machine& host) {
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  return make_plan(std::move(type).value(), *kernel_tables().front(), host);
}

Cost packed(const std::string& text, const Machine& host, Warmth warmth = Warmth::kWarm,
            int64_t count = 1) {
  return predict(*planned(text, host), count, Direction::kPack, warmth);
}

// Makes a level `factor` times as fast.
void set_speed(Machine& host, Level level, double factor) {
  LevelSpeed& speed = host.levels[static_cast<size_t>(level)];
  for (double LevelSpeed::* rate :
       {&LevelSpeed::read_bytes_per_ns, &LevelSpeed::write_bytes_per_ns,
        &LevelSpeed::copy_bytes_per_ns, &LevelSpeed::stream_write_bytes_per_ns,
        &LevelSpeed::stream_copy_bytes_per_ns})
    speed.*rate *= factor;
  for (double LevelSpeed::* time :
       {&LevelSpeed::latency_ns, &LevelSpeed::random_load_ns, &LevelSpeed::random_store_ns,
        &LevelSpeed::page_load_ns, &LevelSpeed::page_store_ns, &LevelSpeed::skip_load_ns,
        &LevelSpeed::skip_store_ns})
    speed.*time /= factor;
}

constexpr const char* kTypes[] = {
    "double",
    "vector(1000, 1, 3, double)",
    "resized(0, 40, struct([1, 3, 4], [0, 8, 32], [int, double, char]))",
    "resized(0, 8, vector(512, 1, 512, double))",
    "indexed_block(1, [7, 3, 900, 12, 55], double)",
    "indexed([1, 2, 1, 9], [0, 3, 7, 100], double)",
    "struct([1, 1], [0, 80000], [vector(100, 1, 9, float), indexed_block(2, [4, 0, 9], int)])",
    "hvector(4, 1, 16, hvector(50, 1, 1_000_000, hvector(1000, 1, 4096, double)))",
};

TEST(Cost, OfNothingIsNothing) {
  const Machine host;
  for (const Cost& cost :
       {packed("contiguous(0, double)", host), packed("double", host, Warmth::kCold, 0),
        predict_memcpy(0, host, Warmth::kWarm)}) {
    EXPECT_EQ(cost.ns, 0);
    EXPECT_EQ(cost.bound, Bound::kNone);
    EXPECT_EQ(cost.lines_mem + cost.lines_packed + cost.pages, 0);
  }
}

TEST(Cost, MoreTakesLonger) {
  // No non-temporal stores: where they begin, the time may fall.
  Machine host;
  host.stream_transpose_bytes = host.stream_run_bytes = int64_t{1} << 60;
  for (const char* text : kTypes) {
    const PlanPtr plan = planned(text, host);
    for (const Direction direction : kDirections) {
      for (const Warmth warmth : kWarmths) {
        double last = 0;
        // A single element may have another plan node.
        for (const int64_t count : {2, 3, 20, 100, 1000}) {
          const double ns = predict(*plan, count, direction, warmth).ns;
          EXPECT_GE(ns, last) << text << " x " << count;
          last = ns;
        }
        EXPECT_GT(last, 0) << text;
      }
    }
  }
}

TEST(Cost, ColdIsSlowerThanWarm) {
  const Machine host;
  for (const char* text : kTypes) {
    for (const Direction direction : kDirections) {
      const PlanPtr plan = planned(text, host);
      EXPECT_GE(predict(*plan, 5, direction, Warmth::kCold).ns,
                predict(*plan, 5, direction, Warmth::kWarm).ns)
          << text;
    }
  }
}

TEST(Cost, PartsMakeTheWhole) {
  const Machine host;
  for (const char* text : kTypes) {
    const Cost cost = packed(text, host, Warmth::kCold, 7);
    EXPECT_DOUBLE_EQ(cost.ns, std::max(cost.instructions_ns, cost.traffic_ns()) + cost.start_ns);
  }
}

TEST(Cost, ContiguousIsMemcpy) {
  const Machine host;
  for (const Warmth warmth : kWarmths) {
    for (const int64_t count : {1, 1000, 1'000'000}) {
      const Cost plan = packed("double", host, warmth, count);
      const Cost copy = predict_memcpy(8 * count, host, warmth);
      EXPECT_NEAR(plan.ns - copy.ns, kMessageCycles * host.cycle_ns, 1e-6 * plan.ns);
      EXPECT_EQ(plan.lines_mem, copy.lines_mem);
    }
  }
}

TEST(Cost, LinesAndPagesAreThoseOfTheData) {
  const Machine host;
  const struct {
    const char* text;
    double lines;
    double pages;
  } cases[] = {
      {"vector(1000, 1, 8, double)", 1000, 16},
      {"vector(1000, 1, 2, double)", 250, 4},
      {"vector(100, 8, 512, double)", 100, 100},
      {"hvector(64, 1, 8, hvector(100, 1, 8192, double))", 800, 100},
      {"indexed_block(1, [0, 1024, 1, 1025, 512], double)", 3, 3},
      {"indexed([1, 9], [0, 1024], double)", 3, 2},
      {"subarray([16, 16, 16], [8, 8, 8], [1, 1, 1], c, double)", 128, 5},
      {"struct([1, 1], [0, 8192], [vector(8, 1, 8, double), double])", 9, 2},
  };
  for (const auto& one : cases) {
    const Cost cost = packed(one.text, host);
    EXPECT_EQ(cost.lines_mem, one.lines) << one.text;
    EXPECT_EQ(cost.pages, one.pages) << one.text;
  }
  EXPECT_EQ(packed("vector(1000, 1, 8, double)", host).lines_packed, 125);
}

// The level that holds both sides is the one that counts.
TEST(Cost, TheWorkingSetDecidesTheLevel) {
  const struct {
    int64_t bytes;
    Bound bound;
  } cases[] = {{64 << 10, Bound::kL2}, {4 << 20, Bound::kL3}, {256 << 20, Bound::kMemory}};
  for (const auto& one : cases) {
    Machine host;
    host.cycle_ns = 1e-6;
    EXPECT_EQ(packed("byte", host, Warmth::kWarm, one.bytes).bound, one.bound) << one.bytes;
    EXPECT_EQ(packed("byte", host, Warmth::kCold, one.bytes).bound, Bound::kMemory);
  }
  Machine host;
  host.cycle_ns = 1e-6;
  EXPECT_EQ(packed("byte", host, Warmth::kWarm, 4096).bound, Bound::kL1);
}

TEST(Cost, ASlowLevelIsTheBound) {
  const std::string column = "vector(4096, 1, 16, double)";  // 4096 lines: in the L2
  for (const auto& [level, bound] :
       {std::pair{Level::kL2, Bound::kL2}, std::pair{Level::kMemory, Bound::kMemory}}) {
    Machine host;
    host.tlb_entries = 4096;
    set_speed(host, level, 1e-3);
    EXPECT_EQ(packed(column, host, level == Level::kL2 ? Warmth::kWarm : Warmth::kCold).bound,
              bound);
  }
  Machine host;
  host.cycle_ns = 100;
  EXPECT_EQ(packed(column, host).bound, Bound::kInstructions);
}

// Byna 2003, section 5.2: no cost while the TLB reaches all pages.
TEST(Cost, TheTlbCountsFromItsReachOn) {
  Machine host;
  host.tlb_entries = 64;
  host.tlb2_entries = 512;
  host.tlb_walk_ns = 500;
  EXPECT_EQ(packed("vector(50, 1, 520, double)", host).tlb_ns, 0);
  EXPECT_EQ(packed("vector(2000, 1, 520, double)", host).bound, Bound::kTlb);
  host.tlb2_entries = 4096;
  host.tlb_entries = 4096;
  EXPECT_EQ(packed("vector(2000, 1, 520, double)", host).tlb_ns, 0);
}

// Lines at a stride of pages fall into 1/64 of the cache sets.
TEST(Cost, StridesOfPagesCrowdTheCaches) {
  Machine host;
  const Cost crowded = packed("vector(512, 1, 512, double)", host);
  const Cost spread = packed("vector(512, 1, 520, double)", host);
  EXPECT_EQ(crowded.lines_mem, spread.lines_mem);
  EXPECT_GT(crowded.traffic_ns(), spread.traffic_ns());
}

// The fewer different offsets lines in DRAM have in their pages, the longer each takes.
TEST(Cost, LinesAtFewPlacesOfTheirPagesShareBanks) {
  Machine host;
  const auto of_stride = [&](int64_t bytes) {
    const std::string text = "hvector(200_000, 1, " + std::to_string(bytes) + ", double)";
    return packed(text, host, Warmth::kCold);
  };
  EXPECT_DOUBLE_EQ(of_stride(8192).ns, of_stride(8256).ns);
  const double spread = of_stride(8256).ns;
  host.memory_same_load_ns = 40 * host.speed(Level::kMemory).page_load_ns;
  EXPECT_DOUBLE_EQ(of_stride(8256).ns, spread);        // 64 offsets
  EXPECT_DOUBLE_EQ(of_stride(4096 + 256).ns, spread);  // 16
  EXPECT_GT(of_stride(4096 + 512).ns, 1.5 * spread);   // 8
  EXPECT_GT(of_stride(4096 + 1024).ns, 4 * spread);    // 4
  EXPECT_GT(of_stride(4096 + 2048).ns, 10 * spread);   // 2
  EXPECT_NEAR(of_stride(8192).ns, 40 * spread, 4 * spread);
  EXPECT_EQ(of_stride(8192).bound, Bound::kMemory);  // not the TLB
}

// No hardware prefetcher follows a list whose gaps differ, even if its lines are close.
TEST(Cost, LinesAfterIrregularGapsComeAsInNoOrder) {
  Machine host;
  host.levels[static_cast<size_t>(Level::kMemory)].random_load_ns = 1000;
  const auto of_gaps = [&](int64_t one, int64_t other, int64_t third) {
    std::string text = "hindexed_block(1, [0";
    const int64_t gaps[] = {one, other, third};
    int64_t at = 0;
    for (size_t i = 0; i < 3000; ++i) text += ", " + std::to_string(at += gaps[i % 3]);
    return packed(text + "], double)", host, Warmth::kCold).ns;
  };
  EXPECT_LT(of_gaps(8, 16, 168), 3001 * 100);  // new lines come at a constant distance
  EXPECT_GT(of_gaps(136, 200, 264), 3000 * 900);
}

TEST(Cost, ATransposeCostsLessThanItsColumnsOneByOne) {
  const Machine host;
  const std::string column = "vector(1024, 1, 1024, double)";
  const Cost all = packed("contiguous(1024, resized(0, 8, " + column + "))", host, Warmth::kCold);
  EXPECT_EQ(all.lines_mem, 1024 * 128);
  EXPECT_LT(all.ns, 1024 * packed(column, host, Warmth::kCold).ns / 2);
}

TEST(Cost, EveryInstructionSetHasCycles) {
  const Machine host;
  for (const KernelTable* table : kernel_tables()) {
    for (const char* text : kTypes) {
      const PlanPtr plan = make_plan(parse_type(text).value(), *table, host);
      for (const Direction direction : kDirections)
        EXPECT_GT(predict(*plan, 100, direction, Warmth::kWarm).instructions_ns, 0)
            << table->isa << " " << text;
    }
  }
}

// Kernels use a table from RecordTable::least elements on; fewer are moved, and cost, run by run.
TEST(Cost, FewElementsAreReckonedAsTheyAreMoved) {
  const std::pair<std::vector<RecordRun>, int64_t> kElements[] = {{{{0, 1}}, 2},
                                                                  {{{0, 8}, {16, 8}}, 32}};
  for (const auto& [runs, extent] : kElements) {
    const auto fields = make_record(runs, extent, 0, 4, true);
    ASSERT_FALSE(fields->gather.steps.empty());
    const int64_t least = fields->gather.least;
    EXPECT_GT(least, fields->gather.elements);
    double by_runs = 0;
    for (const RecordRun& run : runs) by_runs += run_cycles(run.bytes, 32);
    EXPECT_EQ(element_cycles(*fields, least, true, 32), table_cycles(fields->gather, true));
    EXPECT_GE(element_cycles(*fields, least - 1, true, 32), by_runs);
  }
}

TEST(Cost, JsonHasAllOfIt) {
  const Machine host;
  const std::string text = cost_json(*planned("vector(1000, 1, 8, double)", host), 1);
  for (const char* part :
       {"\"bytes\": 8000", "\"is_measured_machine\": ", "\"pack\": {\"warm\": {\"ns\": ",
        "\"unpack\": ", "\"memcpy\": ", "\"cold\": ", "\"bound\": \"",
        "\"traffic_ns\": ", "\"lines_mem\": 1000, \"lines_packed\": 125"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace lacuna
