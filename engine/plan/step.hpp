// SPDX-License-Identifier: BSD-3-Clause
//
// Step: how one loop nest or list of a plan is moved. A step has loops around one kernel; which
// kernel, and with which hints, follows from the size of the message: its regimes, which
// plan/strategy/ chooses when the plan is made. exec/ only looks them up.
#ifndef LACUNA_ENGINE_PLAN_STEP_HPP_
#define LACUNA_ENGINE_PLAN_STEP_HPP_

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/record/record.hpp"
#include "layout/layout.hpp"

namespace lacuna {

enum class Direction : uint8_t { kPack, kUnpack };

// Memory offsets of equal runs, in bytes: half the cache space of the layout's 64-bit offsets.
using PlacesPtr = std::shared_ptr<const std::vector<int32_t>>;

// The kernel and the hints for a range of sizes, in packed bytes: of the message, which says in
// which cache user memory is taken to be, and of what is written now (a slice, or all), which says
// whether it stays in a cache and how many pages it has.
struct Regime {
  static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
  int64_t message_below = kNoEnd;
  int64_t output_below = kNoEnd;
  Kernel kernel;
  Hints hints;

  bool holds(int64_t message, int64_t output) const {
    return message < message_below && output < output_below;
  }
};
// The first that holds counts; the last always holds.
using Regimes = std::vector<Regime>;

struct Step {
  enum class Shape : uint8_t {
    kParts,      // the children one by one, each by its own step
    kStrided,    // the kernel runs over (outer, inner)
    kTranspose,  // over (outer = columns, inner = rows)
    kList,       // over (outer, the list)
    kRecord,     // over (outer, inner), of small structs
  };
  Shape shape = Shape::kParts;
  std::vector<Loop> around;  // loops outside the kernel, outermost first, in traversal order
  Loop outer{1, 0, 0};
  Loop inner{1, 0, 0};
  int64_t width = 0;                 // bytes of the runs, or packed bytes of a record
  const LayoutNode* list = nullptr;  // kList: whose offsets
  PlacesPtr places;                  // kList: the list as runs of `width` bytes; may be null
  RecordPtr record;                  // kRecord
  // Which of the loops above is the node's own: a slice or a repetition replaces its count.
  // kAround: around[0].
  enum class OpenLoop : uint8_t { kAround, kOuter, kInner, kNone };
  OpenLoop open_loop = OpenLoop::kNone;
  // kStrided, loop blocking: iterations of `inner` in a block, for all of `outer`; 0: no blocking.
  int64_t block_inner = 0;

  // Not for kParts. The calls lack addresses, hints, and the count of the open loop: prepared, so
  // that a small message costs a copy of one and a call.
  Regimes pack;
  Regimes unpack;
  KernelCall pack_call;
  KernelCall unpack_call;

  // Whether the innermost loop of `around` runs inside the kernel (KernelCall::around).
  bool goes_around() const {
    return !around.empty() && shape != Shape::kTranspose && block_inner == 0;
  }
  Regimes& regimes(Direction way) { return way == Direction::kPack ? pack : unpack; }
  const Regimes& regimes(Direction way) const { return way == Direction::kPack ? pack : unpack; }
  const Regime& regime(Direction way, int64_t message, int64_t output) const {
    const Regime* at = regimes(way).data();
    while (!at->holds(message, output)) ++at;
    return *at;
  }
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_STEP_HPP_
