// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/record/move_list.hpp"

#include <iterator>
#include <limits>

#include "kernels/record/record.hpp"

namespace lacuna {
namespace {

constexpr int64_t kWidths[] = {16, 8, 4, 2, 1};

// The index of the narrowest width that holds `bytes`, 1 to 16.
size_t holding(int64_t bytes) {
  size_t width = std::size(kWidths) - 1;
  while (kWidths[width] < bytes) --width;
  return width;
}

// The index of the widest width that fits into `bytes`.
size_t held(int64_t bytes) {
  size_t width = 0;
  while (kWidths[width] > bytes) ++width;
  return width;
}

}  // namespace

MoveList::MoveList(std::span<const RecordRun> runs, int64_t most) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  std::array<std::vector<Offsets>, std::size(kWidths)> by_width;
  int64_t moves = 0;
  int64_t packed = 0;
  for (const RecordRun& run : runs) {
    if (run.mem_offset < -kMost || run.mem_offset > kMost - run.bytes) return;
    const auto add = [&](size_t width, int64_t at) {
      by_width[width].push_back(
          {static_cast<int32_t>(run.mem_offset + at), static_cast<int32_t>(packed + at)});
      ++moves;
    };
    const size_t widest = held(run.bytes);
    if (run.bytes / kWidths[widest] > most - moves) return;
    int64_t done = 0;
    for (; done + kWidths[widest] <= run.bytes; done += kWidths[widest]) add(widest, done);
    if (done != run.bytes) {
      const size_t last = holding(run.bytes - done);
      add(last, run.bytes - kWidths[last]);
    }
    packed += run.bytes;
  }
  if (moves > most) return;
  for (const auto& list : by_width) moves_.insert(moves_.end(), list.begin(), list.end());
  const Offsets* end = moves_.data();
  for (size_t i = 0; i < by_width.size(); ++i) end_[i] = end += by_width[i].size();
}

}  // namespace lacuna
