// SPDX-License-Identifier: BSD-3-Clause
//
// Record: the runs of a small record that repeats (a struct in an array, a short run at a small
// stride), and the tables by which whole vectors are packed or unpacked: which vectors to load, and
// which of their lanes goes where. Made with the plan, used by gather_fields and scatter_fields.
#ifndef LACUNA_ENGINE_KERNELS_RECORD_RECORD_HPP_
#define LACUNA_ENGINE_KERNELS_RECORD_RECORD_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/record/move_list.hpp"
#include "kernels/record/permutes.hpp"
#include "kernels/record/words.hpp"

namespace lacuna {

struct RecordRun {
  int64_t mem_offset = 0;  // from the element's first byte
  int64_t bytes = 0;
};

// One vector to load, and where its lanes go. Offsets count from the period's first byte.
struct TableStep {
  int64_t load = 0;
  int64_t store = 0;
  // For each lane (4, 2 or 1 bytes) of the stored vector: the low bits are the number of the loaded
  // lane, the high bits of each byte are set if this step fills the lane (masks are made from sign
  // bits). In a table of shuffles: for each byte the number of the loaded byte, or kNotMine.
  alignas(64) uint8_t lanes[64] = {};
};
inline constexpr uint8_t kNotMine = 0x80;

// The steps of one period: `elements` elements, after which the same steps repeat.
struct RecordTable {
  int64_t elements = 0;
  int64_t steps_per_store = 0;  // packing: loads that make one stored vector
  int64_t reach = 0;            // bytes from a period's first byte to the end of its farthest load
  bool shuffles = false;        // the steps shuffle bytes of 16-byte vectors
  bool prefetches = false;      // unpacking: prefetch the destination
  // Rows of fewer elements are moved without the table: those below a period; with shuffles, those
  // of which most elements would be moved one by one, before the first period and after the last. A
  // plan may set more.
  int64_t least = 0;
  std::vector<TableStep> steps;
};

struct Record {
  std::vector<RecordRun> runs;  // in packed order
  int64_t extent = 0;           // memory distance between elements
  int64_t size = 0;             // packed bytes of an element
  int64_t span = 0;             // from an element's first byte to the end of its last field
  int64_t lane = 0;             // bytes of the tables' lanes
  RecordTable gather;           // without steps: `words`, `list`, or a pass for each field
  RecordTable scatter;
  Permutes permutes;
  // Messages that are not in DRAM are moved by `permutes`, even if there is a table.
  bool gather_permuted = false;
  bool scatter_permuted = false;
  RecordWordsPtr words;
  MoveList list;  // for records without `words`

  // A record of one run, at its beginning, is a loop of runs, too.
  bool is_run() const { return runs.size() == 1 && runs[0].mem_offset == 0; }
};
using RecordPtr = std::shared_ptr<const Record>;

// Whether rows of `in_row` records are moved by the list, not by a pass for each field: short rows,
// since a pass has a start, and wide records, since each pass visits their lines again. Measured:
// docs/experiments/2026-11-26-kernel-choices.md.
inline constexpr int64_t kListedRow = 32;          // records: the longest row, if most runs are one
inline constexpr int64_t kListedRowOfLonger = 12;  // move; if they are longer
inline bool goes_by_list(const Record& fields, int64_t in_row) {
  constexpr int64_t kWide = 128;
  constexpr int64_t kMany = 8;
  if (fields.list.empty()) return false;
  const auto runs = static_cast<int64_t>(fields.runs.size());
  if (4 * fields.list.size() > 5 * runs) return in_row <= kListedRowOfLonger;
  return in_row <= kListedRow ||
         (runs >= kMany && (fields.extent >= kWide || fields.extent <= -kWide));
}

// The vectors of a table of shuffles. All instruction sets have them. For packing alone: shuffles
// have no masked stores.
inline constexpr int64_t kShuffleBytes = 16;

// Whether there may be tables: fields are in memory order, and no gap is a line or more (vectors
// would read lines without data).
bool suits_tables(std::span<const RecordRun> runs, int64_t extent);

// Makes the tables for vectors of `vector_bytes` (64; 0: no such tables), with lanes as wide as the
// pattern allows. No table if lanes are narrower than `least_lane`, the runs do not suit them, or a
// stored vector needs more than kMostLoads loads. If lanes are too narrow or `vector_bytes` is 0: a
// table of shuffles, if `shuffles`. Cost: O(bytes of a period), a few KiB at most.
inline constexpr int64_t kMostLoads = 4;
std::shared_ptr<Record> make_record(std::vector<RecordRun> runs, int64_t extent,
                                    int64_t vector_bytes, int64_t least_lane, bool shuffles);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_RECORD_RECORD_HPP_
