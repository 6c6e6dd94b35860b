// SPDX-License-Identifier: BSD-3-Clause
//
// Makes the tables of record.hpp. A period is the least number of elements whose packed bytes
// (packing) or extents (unpacking) fill whole vectors, so that stores follow each other without
// overlap.
#include "kernels/record/record.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

namespace lacuna {
namespace {

constexpr int64_t kLine = 64;
constexpr size_t kMostSteps = 96;

// The widest lane, up to 4 bytes, that divides all lengths, offsets and the extent.
int64_t widest_lane(std::span<const RecordRun> runs, int64_t extent) {
  int64_t common = std::gcd(int64_t{4}, extent);
  for (const RecordRun& run : runs) common = std::gcd(common, std::gcd(run.mem_offset, run.bytes));
  return common;
}

TableStep new_step(int64_t load, int64_t store, bool shuffles) {
  TableStep step;
  step.load = load;
  step.store = store;
  if (shuffles) std::fill(std::begin(step.lanes), std::end(step.lanes), kNotMine);
  return step;
}

// Lane `to` of the stored vector is lane `from` of the loaded one.
void fill(TableStep& step, int64_t lane, int64_t to, int64_t from, bool shuffles) {
  uint8_t* at = step.lanes + to * lane;
  if (shuffles) {
    *at = static_cast<uint8_t>(from);
    return;
  }
  std::fill_n(at, lane, uint8_t{0xFF});
  // 16, 32 or 64 lanes are numbered by 4, 5 or 6 bits; those above stay set.
  const int64_t lanes = kLine / lane;
  at[0] = static_cast<uint8_t>((0xFF & ~(lanes - 1)) | from);
}

// The memory offsets of lanes, in packed order.
class Lanes {
 public:
  Lanes(std::span<const RecordRun> runs, int64_t extent, int64_t lane)
      : runs_(runs), extent_(extent), lane_(lane) {}

  int64_t next() {
    const int64_t at = element_ + runs_[run_].mem_offset + in_run_;
    in_run_ += lane_;
    if (in_run_ == runs_[run_].bytes) {
      in_run_ = 0;
      if (++run_ == runs_.size()) {
        run_ = 0;
        element_ += extent_;
      }
    }
    return at;
  }

 private:
  std::span<const RecordRun> runs_;
  int64_t extent_;
  int64_t lane_;
  int64_t element_ = 0;  // its offset
  size_t run_ = 0;
  int64_t in_run_ = 0;
};

// How many loads the stored vector needs that needs most.
int64_t most_loads(Lanes from, int64_t vectors, int64_t lanes, int64_t vector_bytes) {
  int64_t most = 0;
  for (int64_t v = 0; v < vectors; ++v) {
    int64_t loads = 0;
    int64_t end = 0;
    for (int64_t i = 0; i < lanes; ++i) {
      const int64_t at = from.next();
      if (loads > 0 && at < end) continue;
      ++loads;
      end = at + vector_bytes;
    }
    most = std::max(most, loads);
  }
  return most;
}

// Each stored vector is made from loads that begin at the first lane not yet found.
bool make_gather(std::span<const RecordRun> runs, int64_t extent, int64_t size, int64_t lane,
                 int64_t vector_bytes, RecordTable& table) {
  const bool shuffles = vector_bytes == kShuffleBytes;
  table.shuffles = shuffles;
  table.elements = vector_bytes / std::gcd(vector_bytes, size);
  table.least = !shuffles ? table.elements : table.elements == 1 ? 8 : 128;
  const int64_t vectors = table.elements * size / vector_bytes;
  const int64_t lanes = vector_bytes / lane;
  if (vectors > static_cast<int64_t>(kMostSteps)) return false;
  Lanes from(runs, extent, lane);
  const int64_t loads = most_loads(from, vectors, lanes, vector_bytes);
  const auto steps = static_cast<size_t>(vectors * loads);
  if (loads > kMostLoads || steps > kMostSteps) return false;
  table.steps_per_store = loads;
  table.steps.reserve(steps);
  for (int64_t v = 0; v < vectors; ++v) {
    const int64_t store = v * vector_bytes;
    const auto end = static_cast<size_t>((v + 1) * loads);
    const size_t begin = end - static_cast<size_t>(loads);
    for (int64_t to = 0; to < lanes; ++to) {
      const int64_t at = from.next();
      if (table.steps.size() == begin || at >= table.steps.back().load + vector_bytes)
        table.steps.push_back(new_step(at, store, shuffles));
      fill(table.steps.back(), lane, to, (at - table.steps.back().load) / lane, shuffles);
    }
    const int64_t last = table.steps.back().load;
    table.reach = std::max(table.reach, last + vector_bytes);
    // The same number for all, so that the kernel's loop has no branch: a step without lanes.
    while (table.steps.size() < end) table.steps.push_back(new_step(last, store, shuffles));
  }
  return true;
}

// Each vector of memory that has data takes it from one load: runs are in memory order, so its
// lanes are neighbours in the packed stream.
bool make_scatter(std::span<const RecordRun> runs, int64_t extent, int64_t size, int64_t lane,
                  int64_t vector_bytes, RecordTable& table) {
  table.elements = table.least = vector_bytes / std::gcd(vector_bytes, extent);
  table.steps_per_store = 1;
  const auto vectors = static_cast<size_t>(table.elements * extent / vector_bytes);
  if (vectors > kMostSteps) return false;
  table.steps.reserve(vectors);
  Lanes to(runs, extent, lane);
  for (int64_t packed = 0; packed < table.elements * size; packed += lane) {
    const int64_t at = to.next();
    const int64_t window = at / vector_bytes * vector_bytes;
    if (table.steps.empty() || table.steps.back().store != window)
      table.steps.push_back(new_step(packed, window, false));
    TableStep& step = table.steps.back();
    fill(step, lane, (at - window) / lane, (packed - step.load) / lane, false);
    table.reach = step.load + vector_bytes;
  }
  return true;
}

}  // namespace

bool suits_tables(std::span<const RecordRun> runs, int64_t extent) {
  int64_t end = 0;
  for (const RecordRun& run : runs) {
    if (run.bytes <= 0 || run.mem_offset < end || run.mem_offset - end >= kLine) return false;
    end = run.mem_offset + run.bytes;
  }
  return !runs.empty() && runs[0].mem_offset == 0 && extent >= end && extent - end < kLine;
}

std::shared_ptr<Record> make_record(std::vector<RecordRun> runs, int64_t extent,
                                    int64_t vector_bytes, int64_t least_lane, bool shuffles) {
  auto made = std::make_shared<Record>();
  made->extent = extent;
  for (const RecordRun& run : runs) {
    made->size += run.bytes;
    made->span = std::max(made->span, run.mem_offset + run.bytes);
  }
  made->lane = widest_lane(runs, extent);
  if (!suits_tables(runs, extent)) {
    // no tables
  } else if (vector_bytes != 0 && made->lane >= least_lane) {
    if (!make_gather(runs, extent, made->size, made->lane, vector_bytes, made->gather) ||
        !make_scatter(runs, extent, made->size, made->lane, vector_bytes, made->scatter)) {
      made->gather = {};
      made->scatter = {};
    }
  } else if (shuffles && !make_gather(runs, extent, made->size, 1, kShuffleBytes, made->gather)) {
    made->gather = {};
  }
  made->runs = std::move(runs);
  return made;
}

}  // namespace lacuna
