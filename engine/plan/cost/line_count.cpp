// SPDX-License-Identifier: BSD-3-Clause
#include "plan/cost/line_count.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

namespace lacuna {
namespace {

// One run of `width` bytes: the mean over the alignments that the strides around it give.
LineCount run_line_count(int64_t width, const std::vector<Loop>& loops, int64_t offset,
                         int64_t unit) {
  int64_t step = unit;
  for (const Loop& loop : loops) step = std::gcd(step, std::abs(loop.mem_stride));
  const int64_t first = ((offset % step) + step) % step;
  int64_t sum = 0;
  int64_t places = 0;
  for (int64_t at = first; at < unit; at += step, ++places) sum += (at + width - 1) / unit + 1;
  return {static_cast<double>(sum) / static_cast<double>(places), offset, offset + width};
}

}  // namespace

LineCount repeated(LineCount one, const Loop& loop, int64_t unit) {
  const int64_t way = (loop.count - 1) * loop.mem_stride;
  one.begin += std::min<int64_t>(way, 0);
  one.end += std::max<int64_t>(way, 0);
  const double between =
      static_cast<double>(floor_div(one.end - 1, unit) - floor_div(one.begin, unit) + 1);
  one.units = std::min(one.units * static_cast<double>(loop.count), between);
  return one;
}

LineCount nest_line_count(int64_t width, std::vector<Loop> loops, int64_t offset, int64_t unit) {
  // Loops with short strides first: their iterations interleave with those of the loops inside.
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return std::abs(a.mem_stride) < std::abs(b.mem_stride);
  });
  LineCount count = run_line_count(width, loops, offset, unit);
  for (const Loop& loop : loops) count = repeated(count, loop, unit);
  return count;
}

double set_share(int64_t width, const std::vector<Loop>& loops, const Machine& machine) {
  const int64_t line = machine.line_bytes;
  const int64_t sets = std::clamp<int64_t>(machine.page_bytes / line, 1, 64);
  const uint64_t all = sets == 64 ? ~uint64_t{0} : (uint64_t{1} << sets) - 1;
  const int64_t run = std::min(sets, (width + line - 1) / line);
  uint64_t used = run == 64 ? all : (uint64_t{1} << run) - 1;
  for (const Loop& loop : loops) {
    const uint64_t inner = used;
    for (int64_t k = 1; k < std::min(loop.count, 4 * sets) && used != all; ++k) {
      const int64_t by = ((floor_div(k * loop.mem_stride, line) % sets) + sets) % sets;
      used |= by == 0 ? inner : ((inner << by) | (inner >> (sets - by))) & all;
    }
  }
  return std::popcount(used) / static_cast<double>(sets);
}

}  // namespace lacuna
