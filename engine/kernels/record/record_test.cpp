// SPDX-License-Identifier: BSD-3-Clause
//
// gather_fields and scatter_fields of every table against their definition: patterns with and
// without tables, every count around a period, misaligned buffers that end at a guard page, gaps
// compared afterwards. And which patterns get tables.
#include "kernels/record/record.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "kernels/kernel.hpp"
#include "property/guarded.hpp"

namespace lacuna {
namespace {

using testing::Guarded;

struct Pattern {
  std::vector<RecordRun> runs;
  int64_t extent;
};

std::string text(const Pattern& pattern) {
  std::string out = "extent " + std::to_string(pattern.extent) + ":";
  for (const RecordRun& f : pattern.runs) {
    out += ' ';
    out += std::to_string(f.mem_offset) + "+" + std::to_string(f.bytes);
  }
  return out;
}

// The kernels of the table that can move such records.
std::vector<Kernel> kernels_for(const KernelTable& table, const Record& record, bool scatter) {
  const RecordTable& steps = scatter ? record.scatter : record.gather;
  std::vector<Kernel> found;
  const auto add = [&](bool can, Strategy gather, Strategy scattering, int64_t width) {
    const Strategy strategy = scatter ? scattering : gather;
    const Kernel kernel = find_kernel(table, strategy, width);
    if (can && kernel.strategy == strategy) found.push_back(kernel);
  };
  const bool has_steps = !steps.steps.empty();
  add(true, Strategy::kGatherRecord, Strategy::kScatterRecord, 0);
  add(has_steps && !steps.shuffles, Strategy::kGatherTable, Strategy::kScatterTable, record.lane);
  add(has_steps && steps.shuffles, Strategy::kGatherShuffled, Strategy::kScatterRecord, 0);
  add(record.permutes.pack != nullptr, Strategy::kGatherPermuted, Strategy::kScatterPermuted, 0);
  add(record.words != nullptr, Strategy::kGatherWords, Strategy::kScatterWords, 0);
  add(!record.list.empty(), Strategy::kGatherMoveList, Strategy::kScatterMoveList, 0);
  return found;
}

void check(const KernelTable& table, const Pattern& pattern, int64_t count, int64_t rows,
           int64_t shift, bool scatter) {
  constexpr int64_t kMostListed = 128;
  const auto fields = make_record(pattern.runs, pattern.extent, table.table_bytes, table.table_lane,
                                  table.shuffles);
  if (table.elements) fields->permutes = make_permutes(pattern.runs, pattern.extent);
  fields->words = make_words(pattern.runs, pattern.extent);
  fields->list = MoveList(pattern.runs, kMostListed);
  fields->scatter.prefetches = shift % 2 != 0;
  const int64_t row_mem = (count == 0 ? 0 : (count - 1) * pattern.extent + fields->span);
  const int64_t row_packed = count * fields->size;
  const int64_t mem_pitch = row_mem + 12;
  Guarded mem(static_cast<size_t>(shift + (rows - 1) * mem_pitch + row_mem), false);
  Guarded packed(static_cast<size_t>(shift + rows * row_packed), false);
  std::byte* const mem_at = mem.data() + shift;
  std::byte* const packed_at = packed.data() + shift;
  for (const Kernel& kernel : kernels_for(table, *fields, scatter)) {
    for (size_t i = 0; i < mem.size(); ++i) mem.data()[i] = static_cast<std::byte>(i * 7 + 1);
    for (size_t i = 0; i < packed.size(); ++i) packed.data()[i] = static_cast<std::byte>(i * 5 + 2);
    std::vector<std::byte> want(scatter ? mem.data() : packed.data(),
                                scatter ? mem.data() + mem.size() : packed.data() + packed.size());
    for (int64_t r = 0; r < rows; ++r) {
      int64_t at = r * row_packed;
      for (int64_t e = 0; e < count; ++e) {
        for (const RecordRun& f : pattern.runs) {
          const int64_t in_mem = r * mem_pitch + e * pattern.extent + f.mem_offset;
          if (scatter) {
            std::memcpy(want.data() + shift + in_mem, packed_at + at, static_cast<size_t>(f.bytes));
          } else {
            std::memcpy(want.data() + shift + at, mem_at + in_mem, static_cast<size_t>(f.bytes));
          }
          at += f.bytes;
        }
      }
    }
    KernelCall m;
    m.src = scatter ? packed_at : mem_at;
    m.dst = scatter ? mem_at : packed_at;
    m.width = fields->size;
    m.outer = scatter ? Dim{rows, row_packed, mem_pitch} : Dim{rows, mem_pitch, row_packed};
    m.inner = scatter ? Dim{count, fields->size, pattern.extent}
                      : Dim{count, pattern.extent, fields->size};
    m.record = fields.get();
    m.prefetch.runs = static_cast<int32_t>(count % 3);  // hints
    m.move = {64, static_cast<uint8_t>(count % 2 != 0 ? 32 : 64), count % 2 != 0};
    kernel.fn(m);
    if (want.empty()) return;
    const Guarded& out = scatter ? mem : packed;
    ASSERT_EQ(std::memcmp(want.data(), out.data(), want.size()), 0)
        << kernel.id() << " " << text(pattern) << " count " << count << " rows " << rows
        << " shift " << shift;
  }
}

std::string name_of(const ::testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(info.param->isa);
}

class RecordKernels : public ::testing::TestWithParam<const KernelTable*> {};

TEST_P(RecordKernels, EveryCountAndPattern) {
  const std::vector<Pattern> patterns = {
      {{{0, 4}, {8, 24}, {32, 4}}, 40},  // a particle
      {{{0, 8}}, 16},                    // every other double
      {{{0, 8}}, 24},                    // every third
      {{{0, 4}}, 8},                     //
      {{{0, 4}}, 16},                    //
      {{{0, 12}}, 16},                   // three floats of four
      {{{0, 8}, {8, 4}}, 16},            // MPI_DOUBLE_INT
      {{{0, 4}, {4, 4}, {60, 4}}, 124},  // gaps just below a line
      {{{0, 4}, {68, 4}}, 80},           // a gap of a line: no table
      {{{0, 1}, {4, 4}}, 8},             // a byte: no table
      {{{0, 3}}, 4},                     //
      {{{0, 1}}, 2},                     // bytes, by shuffles of 2, 4 and 3 loads
      {{{0, 1}}, 4},                     //
      {{{0, 3}}, 8},                     //
      {{{0, 5}}, 7},                     // periods of 5 and 7 vectors
      {{{0, 7}}, 9},                     //
      {{{0, 1}, {3, 1}, {7, 2}}, 11},    //
      {{{8, 4}, {0, 4}}, 16},            // not in memory order: no table
      {{{0, 40}, {48, 100}}, 160},       // longer than vectors
      {{{0, 4}}, 4},                     // no gap at all
      {{{0, 24}, {64, 4}}, 96},          // two windows
      {{{80, 8}, {0, 9}, {24, 40}}, 200},
  };
  for (const Pattern& pattern : patterns) {
    for (int64_t count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 97, 112, 130}) {
      for (int64_t rows : {1, 3}) {
        for (int64_t shift : {0, 1, 4, 16, 60}) {
          check(*GetParam(), pattern, count, rows, shift, false);
          check(*GetParam(), pattern, count, rows, shift, true);
        }
      }
    }
  }
}

TEST_P(RecordKernels, RandomPatterns) {
  std::mt19937 random(1);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < 400; ++i) {
    Pattern pattern;
    int64_t at = 0;
    const int64_t unit = int64_t{1} << draw(0, 2);
    for (int64_t f = draw(1, 6); f > 0; --f) {
      pattern.runs.push_back({at, unit * draw(1, 7)});
      at += pattern.runs.back().bytes + unit * draw(0, 17);
    }
    pattern.extent = at;
    check(*GetParam(), pattern, draw(1, 170), draw(1, 2), draw(0, 63), i % 2 == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RecordKernels,
                         ::testing::ValuesIn(kernel_tables().begin(), kernel_tables().end()),
                         name_of);

TEST(Record, TablesOnlyWhereLanesServe) {
  EXPECT_FALSE(make_record({{0, 4}, {8, 24}, {32, 4}}, 40, 64, 4, false)->gather.steps.empty());
  EXPECT_FALSE(make_record({{0, 4}, {8, 24}, {32, 4}}, 40, 32, 4, false)->scatter.steps.empty());
  EXPECT_TRUE(make_record({{0, 4}, {8, 24}, {32, 4}}, 40, 0, 4, false)->gather.steps.empty());
  EXPECT_TRUE(make_record({{0, 1}, {4, 4}}, 8, 64, 4, false)->gather.steps.empty());
  EXPECT_TRUE(make_record({{0, 1}, {4, 4}}, 8, 64, 2, false)->gather.steps.empty());
  EXPECT_FALSE(make_record({{0, 1}, {4, 4}}, 8, 64, 1, false)->gather.steps.empty());
  EXPECT_EQ(make_record({{0, 1}, {4, 4}}, 8, 64, 1, false)->lane, 1);
  EXPECT_EQ(make_record({{0, 2}, {4, 4}}, 8, 64, 1, false)->lane, 2);
  EXPECT_TRUE(make_record({{8, 4}, {0, 4}}, 16, 64, 4, false)->gather.steps.empty());
  EXPECT_TRUE(make_record({{0, 4}, {68, 4}}, 80, 64, 4, false)->gather.steps.empty());
  EXPECT_TRUE(
      make_record({{0, 4}}, 64 + 8, 64, 4, false)->gather.steps.empty());  // a line without data
  EXPECT_TRUE(
      make_record({{0, 4}}, 2, 64, 4, false)->gather.steps.empty());  // overlapping elements
  EXPECT_TRUE(make_record({{0, 4}}, -8, 64, 4, false)->gather.steps.empty());
  EXPECT_TRUE(make_record({{0, 4}}, 48, 64, 4, false)
                  ->gather.steps.empty());  // too many loads for one store
}

TEST(Record, ShufflesWhereThereAreNoSuchLanes) {
  const auto bytes = make_record({{0, 1}}, 2, 64, 2, true);
  EXPECT_TRUE(bytes->gather.shuffles);
  EXPECT_EQ(bytes->gather.elements, 16);
  EXPECT_EQ(bytes->gather.steps_per_store, 2);
  ASSERT_EQ(bytes->gather.steps.size(), 2u);
  EXPECT_EQ(bytes->gather.steps[1].load, 16);
  EXPECT_EQ(bytes->gather.steps[1].lanes[7], kNotMine);
  EXPECT_EQ(bytes->gather.steps[1].lanes[9], 2);
  EXPECT_TRUE(bytes->scatter.steps.empty());  // its stores have no masks
  EXPECT_FALSE(make_record({{0, 1}}, 2, 64, 1, true)->gather.shuffles);
  EXPECT_TRUE(make_record({{0, 1}, {4, 4}}, 8, 0, 4, true)->gather.shuffles);
  EXPECT_TRUE(make_record({{0, 4}, {68, 4}}, 80, 0, 4, true)->gather.steps.empty());
  EXPECT_TRUE(make_record({{0, 1}}, 8, 0, 4, true)->gather.steps.empty());  // too many loads
}

TEST(Record, StoresOfAPeriodFollowEachOther) {
  const auto fields = make_record({{0, 4}, {8, 24}, {32, 4}}, 40, 64, 4, false);
  EXPECT_EQ(fields->size, 32);
  EXPECT_EQ(fields->span, 36);
  EXPECT_EQ(fields->gather.elements, 2);  // 2 x 32 bytes fill a vector
  EXPECT_EQ(fields->gather.steps_per_store, 2);
  EXPECT_EQ(fields->scatter.elements, 8);  // 8 x 40 bytes are 5 vectors
  EXPECT_EQ(fields->scatter.steps.size(), 5u);
}

}  // namespace
}  // namespace lacuna
