// SPDX-License-Identifier: BSD-3-Clause
#include "plan/few.hpp"

#include <array>
#include <limits>

namespace lacuna {
namespace {

// About where the fixed costs of the kernels are paid back.
constexpr int64_t kMostMoves = 32;
// A single run of more is left to the C library's memcpy.
constexpr int64_t kMostSingleRun = 64;

constexpr int64_t kWidths[] = {16, 8, 4, 2, 1};

// The narrowest of the widths that holds `bytes`, 1 to 16.
size_t holding(int64_t bytes) {
  size_t width = std::size(kWidths) - 1;
  while (kWidths[width] < bytes) --width;
  return width;
}

// The widest of the widths that `bytes` hold.
size_t held(int64_t bytes) {
  size_t width = 0;
  while (kWidths[width] > bytes) ++width;
  return width;
}

}  // namespace

FewMoves::FewMoves(const Layout& layout) {
  if (layout.element.empty()) return;
  const LayoutNode& node = *layout.element.node;
  if (node.leaf_runs > kMostMoves || node.size > kMostMoves * kWidths[0]) return;
  if (node.leaf_runs == 1 && node.size > kMostSingleRun) return;
  std::array<std::vector<Offsets>, std::size(kWidths)> by_width;
  int64_t moves = 0;
  bool fits = true;
  for_each_run({0, layout.element.node}, [&](int64_t mem, int64_t packed, int64_t bytes) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    fits = fits && mem >= -kMost && mem <= kMost - bytes;
    if (!fits) return;
    const auto add = [&](size_t width, int64_t at) {
      by_width[width].push_back(
          {static_cast<int32_t>(mem + at), static_cast<int32_t>(packed + at)});
      ++moves;
    };
    const size_t widest = held(bytes);
    int64_t done = 0;
    for (; done + kWidths[widest] <= bytes; done += kWidths[widest]) add(widest, done);
    if (done == bytes) return;
    const size_t last = holding(bytes - done);
    add(last, bytes - kWidths[last]);
  });
  if (!fits || moves > kMostMoves) return;
  for (const auto& list : by_width) moves_.insert(moves_.end(), list.begin(), list.end());
  const Offsets* end = moves_.data();
  for (size_t i = 0; i < by_width.size(); ++i) end_[i] = end += by_width[i].size();
  const bool is_loop = node.kind == LayoutNode::Kind::kLoop;
  const LayoutNode& child = is_loop ? node.child() : node;
  const int64_t count = is_loop ? node.loop.count : 1;
  if (child.kind == LayoutNode::Kind::kRun && moves == count && child.size >= 4) {
    regular_width_ = child.size;
    regular_moves_ = count;
    stride_ = is_loop ? node.loop.mem_stride : 0;
  }
  most_elements_ = kMostMoves / moves;
  extent_ = layout.extent;
  size_ = node.size;
}

}  // namespace lacuna
