// SPDX-License-Identifier: BSD-3-Clause
//
// Footprint: what moving a message by its plan needs on any machine: the kernels' cycles, the lines
// and pages of memory, and the order in which they are touched. cost.cpp turns it into time with
// the numbers of one machine.
#ifndef LACUNA_ENGINE_PLAN_COST_FOOTPRINT_HPP_
#define LACUNA_ENGINE_PLAN_COST_FOOTPRINT_HPP_

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace lacuna {

// Lines that a message touches for the first time, each `stride` bytes after the one before.
// line_bytes: adjacent; 0: random order. Irregular: the stride is a mean; no prefetcher follows.
struct LineStream {
  double lines = 0;
  int64_t stride = 0;
  bool irregular = false;
};

// The side with gaps. The packed side is one stream of adjacent lines.
struct Footprint {
  double cycles = 0;
  std::vector<LineStream> streams;
  double lines = 0;   // in all streams
  double again = 0;   // accesses to a line that was touched before, with others in between
  double pages = 0;   // with data
  double crowd = 0;   // lines of cache needed: more than `lines` where they use few cache sets
  double turns = 0;   // accesses to another page than the access before
  int64_t begin = 0;  // [begin, end): the memory from the first to the last data byte
  int64_t end = 0;

  void add(const Footprint& other, double times);
};

// O(nodes of the plan + entries of its lists).
Footprint footprint_of(const Plan& plan, int64_t count, Direction direction);

// A memcpy.
Footprint dense_footprint(int64_t bytes, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_COST_FOOTPRINT_HPP_
