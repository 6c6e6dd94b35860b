// SPDX-License-Identifier: BSD-3-Clause
//
// Cost: how long a plan takes to move a message on its machine, and what bounds it. The formula and
// where it is from: docs/internals/cost.md.
#ifndef LACUNA_ENGINE_PLAN_COST_HPP_
#define LACUNA_ENGINE_PLAN_COST_HPP_

#include <array>
#include <cstdint>
#include <string>

#include "plan/demand.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// Warm: the same two buffers again and again. Cold: neither is in a cache.
enum class Warmth : uint8_t { kWarm, kCold };

enum class Bound : uint8_t { kNone, kInstructions, kL1, kL2, kL3, kMemory, kTlb };
const char* bound_name(Bound bound);

struct Cost {
  double ns = 0;  // of one call, in one thread
  Bound bound = Bound::kNone;
  double instructions_ns = 0;              // of the kernels, with all data in the first level
  std::array<double, kLevels> level_ns{};  // moving the lines that come from each level
  double tlb_ns = 0;
  double start_ns = 0;  // before the first byte: the call, and the first line's way from memory
  double lines_mem = 0;
  double lines_packed = 0;
  double pages = 0;  // of the memory
  // Lines that a cache level has not got, and pages that the TLB's first and second level have not.
  std::array<double, kLevels - 1> level_misses{};
  std::array<double, 2> tlb_misses{};

  double traffic_ns() const;
};

// Costs are reckoned of messages of at most this many bytes, whose data lies less than this from
// where the first element begins, so that a place and the distance to another fit 64 bits.
inline constexpr int64_t kMostCostBytes = int64_t{1} << 60;
bool has_cost(const Plan& plan, int64_t count);

// Only of what has one.
Cost predict(const Plan& plan, int64_t count, Direction direction, Warmth warmth);
// A copy of as many bytes without gaps by the C library.
Cost predict_memcpy(int64_t bytes, const Machine& machine, Warmth warmth);

// All of it for both directions and states of the caches, with memcpy's: one JSON object.
std::string cost_json(const Plan& plan, int64_t count);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_COST_HPP_
