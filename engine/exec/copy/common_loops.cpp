// SPDX-License-Identifier: BSD-3-Clause
#include "exec/copy/common_loops.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checked.hpp"
#include "exec/executor.hpp"

namespace lacuna {

bool RunLoops::read(const PlanNode& node, int64_t iterations) {
  Digit outermost_first[kMost];
  int n = 0;
  const PlanNode* at = &node;
  for (; at->kind == LayoutNode::Kind::kLoop; at = at->children[0].get()) {
    if (n == kMost - 1) return false;
    outermost_first[n] = {at == &node ? iterations : at->loop.count, at->loop.mem_stride};
    ++n;
  }
  if (at->kind != LayoutNode::Kind::kRun) return false;
  digits[0] = {at->size, 1};
  size = 1;
  while (n > 0) digits[size++] = outermost_first[--n];
  return true;
}

void CommonLoops::push(const Dim& loop) {
  if (loop.count == 1) return;
  if (size_ == 0) {
    if (loop.src_stride == width_ && loop.dst_stride == width_) {
      width_ *= loop.count;
      return;
    }
  } else {
    Dim& below = loops_[size_ - 1];
    if (loop.src_stride == wrapping_mul(below.count, below.src_stride) &&
        loop.dst_stride == wrapping_mul(below.count, below.dst_stride)) {
      below.count *= loop.count;
      return;
    }
  }
  loops_[size_++] = loop;
}

bool CommonLoops::join(const RunLoops& source, const RunLoops& target) {
  int i = 0;
  int j = 0;
  RunLoops::Digit a = source.digits[0];
  RunLoops::Digit b = target.digits[0];
  auto take = [](RunLoops::Digit& digit, int64_t count, const RunLoops& nest, int& at) {
    digit.count /= count;
    digit.stride = wrapping_mul(digit.stride, count);
    while (digit.count == 1 && at + 1 < nest.size) digit = nest.digits[++at];
  };
  take(a, 1, source, i);  // past a run of one byte
  take(b, 1, target, j);
  while (a.count != 1 || b.count != 1) {
    const int64_t count = std::min(a.count, b.count);
    if (std::max(a.count, b.count) % count != 0) return false;
    push({count, a.stride, b.stride});
    take(a, count, source, i);
    take(b, count, target, j);
  }
  return true;
}

// The two loops that the kernel runs, and the size of its tiles.
struct CommonLoops::Choice {
  Kernel kernel;
  int inner = -1;
  int outer = -1;
  int64_t tile = 0;  // iterations of both loops; 0: all
  KernelCall call;   // but for the addresses
};

CommonLoops::Choice CommonLoops::choose(const Plan& plan, int64_t message_bytes) const {
  const Machine& machine = plan.machine();
  const KernelTable& table = plan.kernels();
  Choice choice;
  KernelCall& m = choice.call;
  m.width = width_;
  // The loop with the smallest stride on either side.
  int near_source = 0;
  int near_target = 0;
  for (int i = 1; i < size_; ++i) {
    if (std::abs(loops_[i].src_stride) < std::abs(loops_[near_source].src_stride)) near_source = i;
    if (std::abs(loops_[i].dst_stride) < std::abs(loops_[near_target].dst_stride)) near_target = i;
  }
  const Dim& columns = loops_[near_source];
  const Dim& rows = loops_[near_target];
  const bool crossed = near_source != near_target;
  if (crossed && columns.src_stride == width_ && rows.dst_stride == width_ &&
      width_class(width_) != Width::kAny && table.has(Strategy::kTranspose, width_class(width_))) {
    choice.kernel = find_kernel(table, Strategy::kTranspose, width_);
    choice.inner = near_target;
    choice.outer = near_source;
    const Tiles tiles = transpose_tiles(width_, machine);
    m.tile_rows = tiles.rows;
    m.tile_columns = tiles.columns;
    m.non_temporal = message_bytes >= machine.stream_transpose_bytes;
    m.tiles.four_lines = message_bytes <= tiles.four_lines_bytes;
    m.tiles.diagonals = message_bytes <= tiles.diagonals_bytes;
    return choice;
  }
  m.non_temporal = width_ >= kLongRun && message_bytes >= machine.stream_run_bytes;
  m.prefetch.runs = width_ > kLongRun ? 1 : 0;
  const Strategy strategy = m.non_temporal                        ? Strategy::kNonTemporal
                            : width_ >= machine.fast_memcpy_bytes ? Strategy::kLibrary
                                                                  : Strategy::kStrided;
  choice.kernel = find_kernel(table, strategy, width_);
  // Tiles small enough that both sides use their lines again before those leave the L1.
  constexpr int64_t kTile = 32;
  if (crossed && std::abs(columns.src_stride) < machine.line_bytes &&
      std::abs(rows.dst_stride) < machine.line_bytes && columns.count > kTile / 4 &&
      rows.count > kTile / 4 && message_bytes > machine.l1_bytes / 2) {
    choice.inner = near_target;
    choice.outer = near_source;
    choice.tile = kTile;
    return choice;
  }
  if (size_ >= 1) choice.inner = 0;
  if (size_ >= 2) choice.outer = 1;
  // A kernel's inner loop should have several iterations.
  if (size_ >= 2 && loops_[0].count < 4 && loops_[1].count > loops_[0].count)
    std::swap(choice.inner, choice.outer);
  return choice;
}

void CommonLoops::around(const Choice& choice, int level, const std::byte* source,
                         std::byte* target) const {
  while (level >= 0 && (level == choice.inner || level == choice.outer)) --level;
  if (level >= 0) {
    const Dim& loop = loops_[level];
    for (int64_t i = 0; i < loop.count; ++i) {
      around(choice, level - 1, source, target);
      source = address(source, loop.src_stride);
      target = address(target, loop.dst_stride);
    }
    return;
  }
  move(choice, source, target);
}

void CommonLoops::move(const Choice& choice, const std::byte* source, std::byte* target) const {
  KernelCall m = choice.call;
  m.src = source;
  m.dst = target;
  if (choice.inner >= 0) m.inner = loops_[choice.inner];
  if (choice.outer >= 0) m.outer = loops_[choice.outer];
  if (choice.tile == 0) return choice.kernel.fn(m);
  const Dim outer = m.outer;
  const Dim inner = m.inner;
  for (int64_t i = 0; i < outer.count; i += choice.tile) {
    m.outer.count = std::min(choice.tile, outer.count - i);
    for (int64_t j = 0; j < inner.count; j += choice.tile) {
      m.inner.count = std::min(choice.tile, inner.count - j);
      m.src = address(source, i * outer.src_stride + j * inner.src_stride);
      m.dst = address(target, i * outer.dst_stride + j * inner.dst_stride);
      choice.kernel.fn(m);
    }
  }
}

void CommonLoops::run(const Plan& plan, std::byte* source, std::byte* target,
                      int64_t message_bytes) const {
  if (size_ == 0) {
    std::memcpy(target, source, static_cast<size_t>(width_));
    return;
  }
  around(choose(plan, message_bytes), size_ - 1, source, target);
}

}  // namespace lacuna
