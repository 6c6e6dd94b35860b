// SPDX-License-Identifier: BSD-3-Clause
#include "plan/strategy/record_ways.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "plan/cost/cycles.hpp"

namespace lacuna::strategy {
namespace {

// What was timed for each threshold: docs/experiments/2026-11-26-short-runs-and-records.md and
// 2026-11-27-plan-thresholds.md.

// Cycles of a run in a pass over one field, at best: a table must beat that. (cycles.hpp has the
// mean.) Measured on a Granite Rapids with data in the L1. Two stores of up to 16 bytes a cycle.
double pass_cycles(int64_t bytes) {
  if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16) return 0.5;
  if (bytes <= 32) return 1.4;
  if (bytes <= 96) return 1 + 0.5 * static_cast<double>((bytes + 15) / 16);
  return 2 + static_cast<double>(bytes) / 32;
}

// The same with data in the L2, where storing whole lines gains more than permutes cost. The kernel
// uses a table of such runs only beyond the L1.
double far_pack_cycles(int64_t bytes) {
  if (bytes == 16) return 1.2;
  if (bytes > 48 && bytes <= 64) return 4;
  return pass_cycles(bytes);
}

// How many moves of 16, 8, 4, 2 and 1 bytes the runs take.
int words_of(std::span<const RecordRun> runs) {
  int words = 0;
  for (const RecordRun& run : runs)
    words +=
        static_cast<int>(run.bytes / 16) + std::popcount(static_cast<uint64_t>(run.bytes % 16));
  return words;
}

// Cycles of a record moved by words, to compare with a table of shuffles (measured on Zen 3).
// `of_several`: of each word, if there are several.
double word_cycles(std::span<const RecordRun> runs, double of_several) {
  const int words = words_of(runs);
  return words == 1 ? 0.9 : of_several * words;
}

// Cycles of a permute for each window of a record: a table is better below that.
constexpr double kPermutedPack = 2.0;
constexpr double kPermutedUnpack = 1.3;
// The largest power of two that may divide an extent, and the largest extent without permutes:
// beyond, records fall into few L1 sets, and only loops of runs have a remedy for conflict misses.
constexpr int64_t kMostExtent = 256;
// The largest extent for permutes.
constexpr int64_t kMostPermutedExtent = 2112;
// Rows of so few runs are faster as part of a record than as a loop. Half as many if a run takes
// two moves.
constexpr int64_t kShortRow = 6;
// Rows of longer runs are as fast as loops.
constexpr int64_t kShortRun = 16;
// Longer runs are faster in loops than by a table.
constexpr int64_t kMostTabledRun = 64;

// A pass for each field goes over a block of records that stays in the L1. A block of records wider
// than this has too few.
constexpr int64_t kMostPassedSpan = 2048;

// Records of more words than words.hpp has functions for are moved by a list of words, of at most
// so many.
constexpr int64_t kMostListed = 128;

bool is_slower(const RecordTable& table, bool is_pack, double most) {
  return table.steps.empty() || table_cycles(table, is_pack) > most;
}

// What moves a record without a table: permutes, words or a list of words. Large records have words
// beside permutes, which are slower beyond the L1 (tables.inl.hpp).
void set_moves(Record& fields, const KernelTable& kernels, const Machine& machine) {
  constexpr int64_t kLine = 64;
  if (fields.runs.size() == 1) return;
  if (kernels.elements && machine.fast_byte_permutes)
    fields.permutes = make_permutes(fields.runs, fields.extent);
  const bool has_moves = fields.permutes.pack != nullptr;
  if (kernels.words && machine.fast_words && (!has_moves || fields.extent >= kLine))
    fields.words = make_words(fields.runs, fields.extent);
  if (fields.words == nullptr && kernels.words) fields.list = MoveList(fields.runs, kMostListed);
}

// Sets the least row of single runs for which the table pays: the runs before its first period and
// after its last are moved without it, which costs `ends` cycles.
void set_least(RecordTable& table, double by_table, double ends, double by_moves) {
  constexpr double kWorse = 1.07;
  if (table.steps.empty() || table.shuffles) return;
  const double gain = by_moves - kWorse * by_table;
  if (gain <= 0) {
    table = {};
  } else {
    table.least = std::max(table.least, static_cast<int64_t>(ends / gain));
  }
}

// Drops the tables that are slower than loops of runs.
void choose_tables(Record& fields, const Machine& machine) {
  constexpr double kEndOfLoad = 12;
  constexpr double kEndsUnpacked = 26;
  double by_runs = 0;
  for (const RecordRun& run : fields.runs) by_runs += pass_cycles(run.bytes);
  double most = fields.runs.size() == 1 ? far_pack_cycles(fields.runs[0].bytes) : by_runs;
  if (fields.gather.shuffles && machine.word_cycles > 0) {
    most = word_cycles(fields.runs, machine.word_cycles);
    if (goes_by_list(fields, INT64_MAX))
      most = std::min(most, kListedCycles * static_cast<double>(fields.list.size()));
  }
  if (table_cycles(fields.gather, true) > most) fields.gather = {};
  if (table_cycles(fields.scatter, false) > by_runs) fields.scatter = {};
  if (fields.runs.size() > 1) return;
  const double loads = static_cast<double>(fields.gather.steps_per_store);
  set_least(fields.gather, table_cycles(fields.gather, true), kEndOfLoad * loads, most);
  set_least(fields.scatter, table_cycles(fields.scatter, false), kEndsUnpacked, by_runs);
}

void choose_permutes(Record& fields, size_t words, const Machine& machine) {
  // One or two words are faster than a permute.
  if (fields.permutes.pack == nullptr || !machine.fast_permutes_beyond_l1 || words <= 2) return;
  const double windows = static_cast<double>(fields.permutes.windows);
  fields.gather_permuted = is_slower(fields.gather, true, kPermutedPack * windows);
  fields.scatter_permuted = is_slower(fields.scatter, false, kPermutedUnpack * windows);
}

// Whether such records are faster than loops of runs. `row`: see worthwhile_record.
bool is_better(const Record& fields, size_t words, int64_t row) {
  int64_t longest = 0;
  for (const RecordRun& run : fields.runs) longest = std::max(longest, run.bytes);
  const int64_t extent = fields.extent;
  // Longer rows need tables in both directions: the other direction would have a pass for each run.
  const bool packs = !fields.gather.steps.empty();
  const bool unpacks = !fields.scatter.steps.empty();
  if ((row <= kShortRow ? packs || unpacks : packs && unpacks) &&
      (row == 1 || longest <= kMostTabledRun))
    return true;
  if (row == 1) return false;
  if (fields.gather_permuted) {
    return extent <= kMostPermutedExtent && extent >= -kMostPermutedExtent &&
           (extent & -extent) <= kMostExtent;
  }
  const size_t runs = fields.runs.size();
  const bool is_short =
      words == runs ? row <= kShortRow : row <= kShortRow / 2 && words <= 2 * runs;
  return is_short && longest <= kShortRun && extent <= kMostExtent && extent >= -kMostExtent;
}

}  // namespace

RecordPtr worthwhile_record(std::vector<RecordRun> runs, int64_t extent, bool listed, int64_t row,
                            const Host& host) {
  const KernelTable& kernels = host.kernels;
  const Machine& machine = host.machine;
  const bool served = runs.size() > 1 || runs[0].bytes <= machine.permuted_run_bytes;
  auto fields =
      make_record(std::move(runs), extent, served ? kernels.table_bytes : 0, kernels.table_lane,
                  kernels.shuffles && (served || kernels.table_bytes == 0));
  const auto words = static_cast<size_t>(words_of(fields->runs));
  fields->scatter.prefetches = !machine.follows_masked_stores;
  set_moves(*fields, kernels, machine);
  choose_tables(*fields, machine);
  choose_permutes(*fields, words, machine);
  const bool is_listed = listed && (fields->permutes.pack != nullptr || fields->words != nullptr ||
                                    fields->span <= kMostPassedSpan);
  return is_listed || is_better(*fields, words, row) ? fields : nullptr;
}

}  // namespace lacuna::strategy
