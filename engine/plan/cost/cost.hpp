// SPDX-License-Identifier: BSD-3-Clause
//
// Cost: a prediction of how long a plan takes to move a message on its machine, and of what bounds
// it. The formula and its sources: docs/internals/cost.md.
#ifndef LACUNA_ENGINE_PLAN_COST_COST_HPP_
#define LACUNA_ENGINE_PLAN_COST_COST_HPP_

#include <array>
#include <cstdint>
#include <string>

#include "plan/cost/footprint.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// Warm: the same two buffers are used repeatedly. Cold: neither is in a cache.
enum class Warmth : uint8_t { kWarm, kCold };

enum class Bound : uint8_t { kNone, kInstructions, kL1, kL2, kL3, kMemory, kTlb };
const char* bound_name(Bound bound);

struct Cost {
  double ns = 0;  // of one call, in one thread
  Bound bound = Bound::kNone;
  double instructions_ns = 0;              // of the kernels, with all data in the L1
  std::array<double, kLevels> level_ns{};  // moving the lines that come from each level
  double tlb_ns = 0;
  double start_ns = 0;  // the call, and with cold data the latency of the first line
  double lines_mem = 0;
  double lines_packed = 0;
  double pages = 0;  // on the side with gaps
  // Misses of each cache level, and of the TLB's first and second level.
  std::array<double, kLevels - 1> level_misses{};
  std::array<double, 2> tlb_misses{};

  double traffic_ns() const;
};

// Messages have a cost if their packed bytes and the offsets of their data are at most this, so
// that differences of offsets fit 64 bits.
inline constexpr int64_t kMostCostBytes = int64_t{1} << 60;
bool has_cost(const Plan& plan, int64_t count);

// Requires has_cost.
Cost predict(const Plan& plan, int64_t count, Direction direction, Warmth warmth);
// A memcpy of as many bytes.
Cost predict_memcpy(int64_t bytes, const Machine& machine, Warmth warmth);

// One JSON object: packing, unpacking and memcpy, each warm and cold.
std::string cost_json(const Plan& plan, int64_t count);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_COST_COST_HPP_
