// SPDX-License-Identifier: BSD-3-Clause
#include "plan/worthwhile.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "plan/cycles.hpp"

namespace lacuna {
namespace {

// Cycles of a run in a pass over one field, at its best: tables must beat that (cycles.hpp has what
// a run takes on the whole). Measured on a 2.6 GHz Granite Rapids, L1-resident
// (docs/experiments/2026-11-26-short-runs-and-records.md). Stores of up to 16 bytes go at two a
// cycle.
double pass_cycles(int64_t bytes) {
  if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16) return 0.5;
  if (bytes <= 32) return 1.4;
  if (bytes <= 96) return 1 + 0.5 * static_cast<double>((bytes + 15) / 16);
  return 2 + static_cast<double>(bytes) / 32;
}

// The same out of the second level, where a line stored whole is worth more than moves that need
// not wait for a permute; the kernel has both (16 bytes at 32: 2.23 against 2.50 us for 64 KiB; 52
// at 56 8.1 against 9.4 for 208 KiB; 24 at 48 no difference).
double far_pack_cycles(int64_t bytes) {
  if (bytes == 16) return 1.2;
  if (bytes > 48 && bytes <= 64) return 4;
  return pass_cycles(bytes);
}

// Moves of 16, 8, 4, 2 and 1 bytes that they take.
int words_of(std::span<const Field> runs) {
  int words = 0;
  for (const Field& run : runs)
    words +=
        static_cast<int>(run.bytes / 16) + std::popcount(static_cast<uint64_t>(run.bytes % 16));
  return words;
}

// The same by what a word of several takes, to be held against shuffles (Zen 3, a run of one move
// 0.9 to 1, 12 and 24 bytes 2.9 and 2.7, a struct of 4, 24 and 4 bytes by words 4.4 to 5).
double word_cycles(std::span<const Field> runs, double of_several) {
  const int words = words_of(runs);
  return words == 1 ? 0.9 : of_several * words;
}

// What table_cycles must not exceed for a table to be better than a permute for each window of an
// element.
constexpr double kPermutedPack = 2.0;
constexpr double kPermutedUnpack = 1.3;
// What is farther apart meets in few places of the first level, and only loops of runs have a way
// for that (Zen 5, two runs of 16 bytes at 24, by those over by permutes: at 256 1.5 and 1.6 for
// 1024 elements, at 1024 0.8 and 0.3, at 4096 0.4 and 0.8).
constexpr int64_t kMostExtent = 256;
// The same, not at such multiples: at 1000 1.5 and 1.5, at 2112 1.3 and 1.4, at 5000 0.76 and 0.62.
constexpr int64_t kMostPermutedExtent = 2112;
// A loop over a row of so few runs costs more than one over all elements for each of its runs. Zen
// 5, 1000 elements, us, by such loops and so: 2 by 3 floats of 4^3 11.0 and 1.0, 3 by 3 by 2 16.4
// and 3.3, unpacked 11.1 and 3.6; rows of 8 doubles 1.8 and 2.9. Of runs that take two moves half
// as many, of more none (with AVX2's kernels 3 of 7 bytes 1.5 and 2.5).
constexpr int64_t kShortRow = 6;
// Longer runs are as quick in rows (4 of 32 bytes 0.9 us and, so, 1.5).
constexpr int64_t kShortRun = 16;
// Two of 128 bytes of 272 unpacked 2.4 and, by a table, 4.0 us.
constexpr int64_t kMostTabledRun = 64;

// Passes for each field go over blocks that stay in the first level: of wider elements these are
// too few (lists of 20 doubles in 12 KiB, 77 ns each and, by the list, 6).
constexpr int64_t kMostPassedSpan = 2048;

// Elements of more words than there are functions for go by a list of them, in place of a pass for
// each field. Zen 5, us, by passes and so: 5000 lists of 20 floats in random order 32 and 23, 1000
// of 20 doubles 4.8 and 3.5, 2000 of 8 far apart 6.7 and 4.5; two of 17 fields in each of 90 rows
// 5.8 and 1.3; of six longer runs (11 words) 3.0 and 3.1, of 12 doubles each 9.0 and 9.4.
constexpr int64_t kMostListed = 128;

bool is_slower(const FieldTable& table, bool is_pack, double most) {
  return table.steps.empty() || table_cycles(table, is_pack) > most;
}

// What moves an element where no table does: permutes, words, a list of them. Where there are
// permutes, words for what those do worse out of the first level (fields.inl.hpp).
void set_moves(Fields& fields, const KernelTable& kernels, const Machine& machine) {
  constexpr int64_t kLine = 64;
  if (fields.fields.size() == 1) return;
  if (kernels.elements && machine.fast_byte_permutes)
    fields.moves = make_element(fields.fields, fields.extent);
  const bool has_moves = fields.moves.pack != nullptr;
  if (kernels.words && machine.fast_words && (!has_moves || fields.extent >= kLine))
    fields.words = make_words(fields.fields, fields.extent);
  if (fields.words == nullptr && kernels.words) fields.list = WordList(fields.fields, kMostListed);
}

// Of single runs: from how many in a row on a table pays for what lies before its first period and
// after its last. Zen 5, 1000 rows of 12 doubles packed 10.9 us by the table and 2.3, of 32 ints at
// 3 11.7 and 5.4, of 40 shorts 16.7 and 6.3; 100 of 4 bytes at 9 packed 23 and 14.5 ns, 64 at 5
// unpacked 13 and 11.5, 150 of 2 bytes at 5 packed 15 and 20, of single bytes at 2 8.5 and 20.
void set_least(FieldTable& table, double by_table, double ends, double by_moves) {
  constexpr double kWorse = 1.07;
  if (table.steps.empty() || table.shuffles) return;
  const double gain = by_moves - kWorse * by_table;
  if (gain <= 0) {
    table = {};
  } else {
    table.least = std::max(table.least, static_cast<int64_t>(ends / gain));
  }
}

// Keeps the tables that beat loops of runs.
void choose_tables(Fields& fields, const Machine& machine) {
  constexpr double kEndOfLoad = 12;
  constexpr double kEndsUnpacked = 26;
  double by_runs = 0;
  for (const Field& run : fields.fields) by_runs += pass_cycles(run.bytes);
  double most = fields.fields.size() == 1 ? far_pack_cycles(fields.fields[0].bytes) : by_runs;
  if (fields.gather.shuffles && machine.word_cycles > 0) {
    most = word_cycles(fields.fields, machine.word_cycles);
    if (goes_by_list(fields, INT64_MAX))
      most = std::min(most, kListedCycles * static_cast<double>(fields.list.size()));
  }
  if (table_cycles(fields.gather, true) > most) fields.gather = {};
  if (table_cycles(fields.scatter, false) > by_runs) fields.scatter = {};
  if (fields.fields.size() > 1) return;
  const double loads = static_cast<double>(fields.gather.steps_per_store);
  set_least(fields.gather, table_cycles(fields.gather, true), kEndOfLoad * loads, most);
  set_least(fields.scatter, table_cycles(fields.scatter, false), kEndsUnpacked, by_runs);
}

void choose_permutes(Fields& fields, size_t words, const Machine& machine) {
  // Two words are quicker (16 and 8 bytes of 272, 200 of them, 71 and 119 ns).
  if (fields.moves.pack == nullptr || !machine.fast_permutes_beyond_l1 || words <= 2) return;
  const double windows = static_cast<double>(fields.moves.windows);
  fields.gather_permuted = is_slower(fields.gather, true, kPermutedPack * windows);
  fields.scatter_permuted = is_slower(fields.scatter, false, kPermutedUnpack * windows);
}

// Whether such elements are better than a loop over each of their runs; `row`: of how many runs is
// the innermost of those loops.
bool is_better(const Fields& fields, size_t words, int64_t row) {
  int64_t longest = 0;
  for (const Field& run : fields.fields) longest = std::max(longest, run.bytes);
  const int64_t extent = fields.extent;
  // Longer rows only where tables serve both ways: the other way would have a pass for each run.
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
  const size_t runs = fields.fields.size();
  const bool is_short =
      words == runs ? row <= kShortRow : row <= kShortRow / 2 && words <= 2 * runs;
  return is_short && longest <= kShortRun && extent <= kMostExtent && extent >= -kMostExtent;
}

}  // namespace

FieldsPtr worthwhile_fields(std::vector<Field> runs, int64_t extent, bool listed, int64_t row,
                            const KernelTable& kernels, const Machine& machine) {
  const bool served = runs.size() > 1 || runs[0].bytes <= machine.permuted_run_bytes;
  auto fields =
      make_fields(std::move(runs), extent, served ? kernels.field_bytes : 0, kernels.field_lane,
                  kernels.shuffles && (served || kernels.field_bytes == 0));
  const auto words = static_cast<size_t>(words_of(fields->fields));
  fields->scatter.prefetches = !machine.follows_masked_stores;
  set_moves(*fields, kernels, machine);
  choose_tables(*fields, machine);
  choose_permutes(*fields, words, machine);
  const bool is_listed = listed && (fields->moves.pack != nullptr || fields->words != nullptr ||
                                    fields->span <= kMostPassedSpan);
  return is_listed || is_better(*fields, words, row) ? fields : nullptr;
}

}  // namespace lacuna
