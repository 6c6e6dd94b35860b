// SPDX-License-Identifier: BSD-3-Clause
//
// Demand: what moving a message by its plan asks of any machine: cycles of the kernels, lines and
// pages of the memory and in which order they come. cost.cpp turns it into time with the numbers of
// one machine.
#ifndef LACUNA_ENGINE_PLAN_DEMAND_HPP_
#define LACUNA_ENGINE_PLAN_DEMAND_HPP_

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace lacuna {

enum class Direction : uint8_t { kPack, kUnpack };

// Lines that are new to a message, each `stride` bytes after the one before. line_bytes: side by
// side; 0: anywhere. Irregular: so many in the mean, from which no next one can be guessed.
struct LineStream {
  double lines = 0;
  int64_t stride = 0;
  bool irregular = false;
};

// Of the side that has the gaps; the packed side is one stream of lines side by side.
struct Demand {
  double cycles = 0;
  std::vector<LineStream> streams;
  double lines = 0;   // all of the streams'
  double again = 0;   // accesses that come back to a line after others came in between
  double pages = 0;   // with data
  double crowd = 0;   // lines' worth of cache that they take: more where they share few cache sets
  double turns = 0;   // to another page than that of the line before
  int64_t begin = 0;  // the bytes of memory between first and last data byte
  int64_t end = 0;

  void add(const Demand& other, double times);
};

// O(nodes of the plan + entries of its lists).
Demand demand_of(const Plan& plan, int64_t count, Direction direction);

// A copy without gaps.
Demand dense_demand(int64_t bytes, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_DEMAND_HPP_
