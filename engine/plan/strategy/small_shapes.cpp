// SPDX-License-Identifier: BSD-3-Clause
//
// Which elements SmallMoves moves, by what kind of moves, and up to how many elements.
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/record/permutes.hpp"
#include "kernels/record/record.hpp"
#include "kernels/small/small_moves.hpp"
#include "machine/machine.hpp"

namespace lacuna {
namespace {

// What was timed for each limit: docs/experiments/2026-11-27-plan-thresholds.md.

// Moves of a list. Above that a kernel is faster, in spite of its fixed cost.
constexpr int64_t kMostMoves = 64;
// Up to so many runs in rows are faster as a list.
constexpr int64_t kLeastInRows = 32;
// Elements moved by permutes, and elements of at least kWideBytes packed bytes, for which tables
// are slower.
constexpr int64_t kMostPermuted = 80;
constexpr int64_t kMostPermutedWide = 128;
constexpr int64_t kWideBytes = 20;
// Equal moves at one stride.
constexpr int64_t kMostRegular = 128;
// Runs of several words at one stride: bytes of a run, and words in all.
constexpr int64_t kMostRun = 64;
constexpr int64_t kMostWords = 104;
// Moves of 32 bytes, in all.
constexpr int64_t kMostHalfLines = 208;
constexpr int64_t kWidestMove = 16;
// Longer single runs are left to memcpy.
constexpr int64_t kMostSingleRun = 64;

// The runs of one element, in packed order.
std::vector<RecordRun> runs_of(const Layout& layout) {
  std::vector<RecordRun> runs;
  for_each_run({0, layout.element.node}, [&](int64_t mem, int64_t /*packed*/, int64_t bytes) {
    runs.push_back({mem, bytes});
  });
  return runs;
}

}  // namespace

SmallMoves::SmallMoves(const Layout& layout, const KernelTable& kernels, const Machine& machine) {
  if (layout.element.empty()) return;
  const LayoutNode& node = *layout.element.node;
  if (node.leaf_runs > kMostRegular) return;
  const bool permutes = kernels.elements && machine.fast_byte_permutes;
  if (find_stride(node)) {
    if (permutes && regular_moves_ > 1) find_permutes(layout);
  } else if (kernels.half_line_moves && find_wide_runs(node, permutes)) {
    // done
  } else if (node.leaf_runs <= kLeastInRows || !find_rows(node)) {
    if (list_moves(layout) && permutes && words_.size() > 1) find_permutes(layout);
    if (permuted_.pack == nullptr && !find_runs(node) && words_.empty()) return;
  }
  extent_ = layout.extent;
  size_ = node.size;
  choose<true>();
  choose<false>();
}

void SmallMoves::set_row(const LayoutNode& row, int64_t words, int64_t most) {
  const bool is_loop = row.kind == LayoutNode::Kind::kLoop;
  words_of_run_ = words;
  regular_width_ = is_loop ? row.child().size : row.size;
  regular_moves_ = is_loop ? row.loop.count : 1;
  stride_ = is_loop ? row.loop.mem_stride : 0;
  most_elements_ = most / (regular_moves_ * words);
}

void SmallMoves::set_rows(const Loop& rows) {
  rows_ = rows.count;
  row_stride_ = rows.mem_stride;
  most_elements_ /= rows_;
}

bool SmallMoves::find_stride(const LayoutNode& node) {
  const LayoutNode& run = node.kind == LayoutNode::Kind::kLoop ? node.child() : node;
  if (run.kind != LayoutNode::Kind::kRun || width_class(run.size) == Width::kAny) return false;
  set_row(node, 1, kMostRegular);
  return true;
}

bool SmallMoves::find_rows(const LayoutNode& node) {
  // Longer runs are faster by a kernel.
  constexpr int64_t kMostRunInRows = 31;
  if (node.kind != LayoutNode::Kind::kLoop || node.child().kind != LayoutNode::Kind::kLoop)
    return false;
  const LayoutNode& row = node.child();
  if (row.child().kind != LayoutNode::Kind::kRun || row.child().size > kMostRunInRows) return false;
  if (!find_stride(row) && !find_runs(row)) return false;
  set_rows(node.loop);
  return true;
}

bool SmallMoves::find_runs(const LayoutNode& node) {
  constexpr int64_t kLeastRun = 5;
  if (node.kind != LayoutNode::Kind::kLoop) return false;
  const LayoutNode& run = node.child();
  if (run.kind != LayoutNode::Kind::kRun || run.size < kLeastRun || run.size > kMostRun)
    return false;
  const int64_t word = run.size > 16 ? 16 : run.size > 8 ? 8 : 4;
  const int64_t words = (run.size + word - 1) / word;
  if (node.loop.count * words > kMostWords) return false;
  set_row(node, words, kMostWords);
  words_ = {};
  return true;
}

bool SmallMoves::find_wide_runs(const LayoutNode& node, bool has_permutes) {
  constexpr int64_t kWord = 32;
  constexpr int64_t kMostWideRun = 512;
  const auto is_loop = [](const LayoutNode& at) { return at.kind == LayoutNode::Kind::kLoop; };
  const bool has_rows = is_loop(node) && is_loop(node.child());
  const LayoutNode& row = has_rows ? node.child() : node;
  const LayoutNode& run = is_loop(row) ? row.child() : row;
  // A run that one permute can move is left to permutes.
  const int64_t least = has_permutes && !is_loop(node) ? Element::kBytes + 1 : kWord;
  if (run.kind != LayoutNode::Kind::kRun || run.size < least || run.size > kMostWideRun)
    return false;
  const int64_t words = (run.size + kWord - 1) / kWord;
  if (node.leaf_runs * words > kMostHalfLines) return false;
  is_wide_ = true;
  set_row(row, words, kMostHalfLines);
  if (has_rows) set_rows(node.loop);
  return true;
}

bool SmallMoves::list_moves(const Layout& layout) {
  const LayoutNode& node = *layout.element.node;
  if (node.leaf_runs > kMostMoves || node.size > kMostMoves * kWidestMove) return false;
  if (node.leaf_runs == 1 && node.size > kMostSingleRun) return false;
  words_ = MoveList(runs_of(layout), kMostMoves);
  if (words_.empty()) return false;
  most_elements_ = kMostMoves / words_.size();
  return true;
}

void SmallMoves::find_permutes(const Layout& layout) {
  permuted_ = make_permutes(runs_of(layout), layout.extent);
  if (permuted_.pack == nullptr) return;
  most_elements_ = layout.element.node->size >= kWideBytes ? kMostPermutedWide : kMostPermuted;
}

}  // namespace lacuna
