// SPDX-License-Identifier: BSD-3-Clause
//
// Cover: the lines and pages that loops over a run cover, and the cache sets that these share.
#ifndef LACUNA_ENGINE_PLAN_COVER_HPP_
#define LACUNA_ENGINE_PLAN_COVER_HPP_

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace lacuna {

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// What one part of a layout covers, in units of `unit` bytes (a line, a page).
struct Cover {
  double units = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// The cover of a loop over it: all of them, but not more than there are in between.
Cover repeated(Cover one, const Loop& loop, int64_t unit);

// Of loops over a run of `width` bytes.
Cover nest_cover(int64_t width, std::vector<Loop> loops, int64_t offset, int64_t unit);

// First and second levels choose a line's set by its place in the page, and the second level by
// further bits that are as good as random (physical pages). Lines that all have the same place in
// their pages share one 64th of both. The share of such places that a nest uses.
double set_share(int64_t width, const std::vector<Loop>& loops, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_COVER_HPP_
