// SPDX-License-Identifier: BSD-3-Clause
//
// Records: small structs, or short rows of runs, that repeat. By vector tables, permutes, words, or
// a pass for each run. What was timed: docs/experiments/2026-11-26-short-runs-and-records.md.
#include <algorithm>
#include <utility>

#include "plan/strategy/prefetch.hpp"
#include "plan/strategy/record_ways.hpp"
#include "plan/strategy/strategy.hpp"

namespace lacuna::strategy {
namespace {

using Kind = LayoutNode::Kind;

// A run, a list of runs, or a list of equal runs.
bool has_runs(const PlanNode& leaf) {
  return leaf.kind == Kind::kRun || leaf.kind == Kind::kRuns ||
         (leaf.kind == Kind::kBlocks && leaf.children[0]->kind == Kind::kRun);
}

// The runs of one iteration of loops[first], in packed order; false if they are too many.
bool runs_of(const Nest& nest, size_t first, std::vector<RecordRun>& runs) {
  constexpr int64_t kMostFields = 32;
  const PlanNode& leaf = *nest.leaf;
  int64_t entries =
      leaf.kind == Kind::kRun ? 1 : static_cast<int64_t>(leaf.layout->mem_offsets.size());
  for (size_t i = first + 1; i < nest.loops.size(); ++i) {
    if (nest.loops[i].count > kMostFields / entries) return false;
    entries *= nest.loops[i].count;
  }
  if (entries > kMostFields) return false;
  const LayoutNode& layout = *leaf.layout;
  if (leaf.kind == Kind::kRun) {
    runs = {{0, leaf.size}};
  } else {
    for (size_t i = 0; i < layout.mem_offsets.size(); ++i) {
      const int64_t bytes = leaf.kind == Kind::kBlocks
                                ? leaf.children[0]->size
                                : layout.packed_offsets[i + 1] - layout.packed_offsets[i];
      runs.push_back({layout.mem_offsets[i], bytes});
    }
  }
  for (size_t i = nest.loops.size(); i-- > first + 1;) {
    const size_t n = runs.size();
    for (int64_t k = 1; k < nest.loops[i].count; ++k) {
      for (size_t j = 0; j < n; ++j)
        runs.push_back({runs[j].mem_offset + k * nest.loops[i].mem_stride, runs[j].bytes});
    }
  }
  return true;
}

class RecordRule final : public Rule {
 public:
  RecordRule(const Step& step, const PrefetchRule& prefetch, Direction way, const Host& host)
      : record_(*step.record),
        way_(way),
        host_(host),
        size_(step, host.is_open),
        prefetch_(prefetch) {
    if (record_.is_run()) strided_ = strided_regimes(step, prefetch, way, host);
  }

  void cut(Cuts& messages, Cuts& outputs) const override {
    prefetch_.cut(way_, messages, outputs);
    for (const Regime& regime : strided_) {
      messages.add(regime.message_below);
      outputs.add(regime.output_below);
    }
    if (record_.permutes.pack != nullptr) messages.add(host_.machine.stream_transpose_bytes);
    if (!table().steps.empty()) size_.cut_at_row(table().least, messages);
    if (!record_.list.empty())
      for (const int64_t row : {kListedRowOfLonger, kListedRow})
        size_.cut_at_row(row + 1, messages);
    if (span() > 0) size_.cut_at_runs(kNearBytes / span() + 1, messages);
  }

  Choice choose(int64_t message, int64_t output) const override {
    Choice choice{strategy(message), record_.size, {}};
    if (choice.strategy == Strategy::kStrided) {
      const auto regime = std::find_if(strided_.begin(), strided_.end(), [&](const Regime& one) {
        return one.holds(message, output);
      });
      return {regime->kernel.strategy, record_.size, regime->hints};
    }
    if (choice.strategy == at(Strategy::kGatherTable)) choice.width = record_.lane;
    choice.hints.prefetch = prefetch_.at(way_, message, output, host_.machine);
    choice.hints.move = host_.move();
    choice.hints.move.masked = host_.has_masks();
    return choice;
  }

  // Of a single run that no vectors serve: it is moved as runs at a stride.
  bool is_strided() const { return !strided_.empty() && table().steps.empty(); }
  Regimes strided() && { return std::move(strided_); }

 private:
  static constexpr int64_t kNearBytes = 32768;  // what any L1 holds

  bool is_pack() const { return way_ == Direction::kPack; }
  // Memory and packed bytes of each record.
  int64_t span() const { return record_.extent + record_.size; }
  const RecordTable& table() const { return is_pack() ? record_.gather : record_.scatter; }

  // The strategy of this direction for one that packs.
  Strategy at(Strategy packing) const {
    if (is_pack()) return packing;
    switch (packing) {
      case Strategy::kGatherTable:
        return Strategy::kScatterTable;
      case Strategy::kGatherPermuted:
        return Strategy::kScatterPermuted;
      case Strategy::kGatherWords:
        return Strategy::kScatterWords;
      case Strategy::kGatherMoveList:
        return Strategy::kScatterMoveList;
      default:
        return Strategy::kScatterRecord;
    }
  }

  Strategy strategy(int64_t message) const {
    const bool has_table = !table().steps.empty() && size_.in_row(message) >= table().least;
    if (table().shuffles && has_table) return Strategy::kGatherShuffled;
    const bool is_near = size_.runs(message) * span() <= kNearBytes;
    if (is_permuted(message, is_near)) return at(Strategy::kGatherPermuted);
    // A single run of 16 bytes or more is faster by moves while all is in the L1.
    const bool is_near_run = is_pack() && is_near && record_.runs.size() == 1 && record_.size >= 16;
    if (has_table && !is_near_run) return at(Strategy::kGatherTable);
    if (record_.words != nullptr) return at(Strategy::kGatherWords);
    if (goes_by_list(record_, size_.in_row(message))) return at(Strategy::kGatherMoveList);
    if (!strided_.empty()) return Strategy::kStrided;
    return at(Strategy::kGatherRecord);
  }

  // By permutes: in the caches where they are faster than the table; without one, unless words are
  // faster beyond the L1, where a record has a line or more of its own.
  bool is_permuted(int64_t message, bool is_near) const {
    if (table().shuffles) return false;
    const bool is_far = message >= host_.machine.stream_transpose_bytes;
    if (!is_far && (is_pack() ? record_.gather_permuted : record_.scatter_permuted)) return true;
    return record_.permutes.pack != nullptr && table().steps.empty() &&
           (record_.words == nullptr || is_near);
  }

  const Record& record_;
  Direction way_;
  const Host& host_;
  CallSize size_;
  const PrefetchRule& prefetch_;
  Regimes strided_;  // of a record of a single run: as runs at a stride
};

Regimes record_regimes(const Step& step, const PrefetchRule& prefetch, Direction way,
                       const Host& host) {
  RecordRule rule(step, prefetch, way, host);
  return rule.is_strided() ? std::move(rule).strided() : make_regimes(rule, host.kernels);
}

}  // namespace

std::string why_record(const Step& step) {
  const Record& found = *step.record;
  const int64_t in_row = step.open_loop == Step::OpenLoop::kInner ? INT64_MAX : step.inner.count;
  const bool single = found.runs.size() == 1;
  const auto way = [&](const RecordTable& table, bool is_permuted, const std::string& by_table) {
    const bool has_moves = found.permutes.pack != nullptr;
    const std::string otherwise =
        !table.steps.empty()     ? by_table
        : found.words != nullptr ? std::string(has_moves ? "words" : "words, element by element")
        : goes_by_list(found, in_row) ? "a list of words, four elements at a time"
        : single                      ? "a loop of runs"
                                      : "a pass per field";
    if (!is_permuted && (!has_moves || !table.steps.empty())) return otherwise;
    const bool is_all = table.steps.empty() && found.words == nullptr;
    return "one permute for each element" + (is_all ? "" : ", beyond the L1 by " + otherwise);
  };
  return (single ? "runs of " + text(found.size) + " bytes at a stride of "
                 : "elements of " + text(static_cast<int64_t>(found.runs.size())) + " fields, " +
                       text(found.size) + " bytes in ") +
         text(found.extent) + ": packed by " +
         way(found.gather, found.gather_permuted,
             (found.gather.shuffles ? "shuffles, each vector from " : "vectors, each from ") +
                 text(found.gather.steps_per_store) + " loads") +
         ", unpacked by " + way(found.scatter, found.scatter_permuted, "masked vector stores");
}

// Records of a few small runs: moved by vector tables where these are faster, else run by run. A
// record is an iteration of the innermost loop, or of an outer one whose inner loops are short.
bool select_record(Step& step, Nest& nest, const Host& host) {
  constexpr int64_t kShortLoop = 16;
  constexpr int64_t kMostSize = 1024;
  // Iterations of the innermost loop over a list, above which the loop is not part of the record.
  constexpr int64_t kShortListedRow = 3;
  if (nest.loops.empty() || !has_runs(*nest.leaf)) return false;
  size_t at = nest.loops.size() - 1;
  // The loop of a repeat root has count 1 here; its real count is not known.
  const auto is_long = [](const Loop& loop) { return loop.count >= 4 || loop.count == 1; };
  for (size_t i = at; i > 0 && nest.loops[i].count < kShortLoop; --i) {
    if (is_long(nest.loops[i - 1])) at = i - 1;
  }
  RecordPtr found;
  for (; at < nest.loops.size(); ++at) {
    std::vector<RecordRun> runs;
    const bool is_list = nest.leaf->kind != Kind::kRun;
    const RecordRun single{0, nest.leaf->size};
    if (!is_list && at + 1 == nest.loops.size() &&
        !suits_tables({&single, 1}, nest.loops[at].mem_stride))
      continue;  // nothing but a table serves single runs
    if (at + 1 < nest.loops.size() &&
        (!is_long(nest.loops[at]) || (is_list && nest.loops.back().count > kShortListedRow)))
      continue;
    if (!runs_of(nest, at, runs)) continue;
    int64_t size = 0;
    for (const RecordRun& run : runs) size += run.bytes;
    if (size > kMostSize) continue;
    const bool listed = is_list && at + 1 == nest.loops.size();
    const int64_t row = at + 1 < nest.loops.size() ? nest.loops.back().count : 1;
    found = worthwhile_record(std::move(runs), nest.loops[at].mem_stride, listed, row, host);
    // A row that is too short for both tables stays a loop of runs.
    if (found != nullptr && found->runs.size() == 1 && nest.loops[at].count > 1 && at > 0 &&
        nest.loops[at].count < found->gather.least && nest.loops[at].count < found->scatter.least)
      found = nullptr;
    if (found != nullptr) break;
  }
  if (found == nullptr) return false;
  step.shape = Step::Shape::kRecord;
  step.record = found;
  step.width = found->size;
  nest.loops.resize(at + 1);
  step.inner = nest.loops.back();
  nest.loops.pop_back();
  if (nest.loops.empty()) {
    step.open_loop = Step::OpenLoop::kInner;
  } else {
    place_outer(step, nest, nest.loops.size() - 1);
    place_rest(step, nest);
  }
  const PrefetchRule prefetch = prefetch_strided(step, found->span, host);
  step.pack = record_regimes(step, prefetch, Direction::kPack, host);
  step.unpack = record_regimes(step, prefetch, Direction::kUnpack, host);
  return true;
}

}  // namespace lacuna::strategy
