// SPDX-License-Identifier: BSD-3-Clause
//
// LineCount: how many lines (or pages) loops over a run touch, and which share of the cache sets.
#ifndef LACUNA_ENGINE_PLAN_COST_LINE_COUNT_HPP_
#define LACUNA_ENGINE_PLAN_COST_LINE_COUNT_HPP_

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace lacuna {

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// What a part of a layout touches: the number of units (lines or pages, estimated) and the bytes
// [begin, end) of memory that it spans.
struct LineCount {
  double units = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// The units of a loop over `one`: its units times the count, at most the units of the whole span.
LineCount repeated(LineCount one, const Loop& loop, int64_t unit);

// The units of loops over a run of `width` bytes at `offset`, in units of `unit` bytes.
LineCount nest_line_count(int64_t width, std::vector<Loop> loops, int64_t offset, int64_t unit);

// The share of the L1's and L2's sets that the lines of a nest use, in (0, 1]. Both choose a set by
// the line's offset in its page, the L2 also by bits of the physical page, which are random. Lines
// at one offset in their pages use 1/64 of both.
double set_share(int64_t width, const std::vector<Loop>& loops, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_COST_LINE_COUNT_HPP_
