// SPDX-License-Identifier: BSD-3-Clause
//
// The accesses of a plan: which bytes moving a message reads and writes, in which order. exec's
// Executor follows the plan, with kernels that record accesses and move nothing.
#ifndef LACUNA_COSTS_MISSES_ACCESSES_HPP_
#define LACUNA_COSTS_MISSES_ACCESSES_HPP_

#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna::costs {

// Receives the accesses, each within one line of 64 bytes.
class Accesses {
 public:
  virtual ~Accesses() = default;
  virtual void read(const std::byte* at, int64_t bytes) = 0;
  virtual void write(std::byte* at, int64_t bytes) = 0;
  // A non-temporal store.
  virtual void write_non_temporal(std::byte* at, int64_t bytes) = 0;
};

// The plan that this CPU's kernels would get on `host`, with recording kernels in their place.
PlanPtr make_recording_plan(const TypePtr& type, const Machine& host);

// Reports all accesses of packing (or unpacking) `count` elements; `mem` and `packed` are not
// touched. Real kernels may read and write vectors of several runs: fewer accesses, but hardly
// another order of lines. `plan`: from make_recording_plan().
void follow(const Plan& plan, bool is_pack, std::byte* mem, int64_t count, std::byte* packed,
            Accesses& accesses);

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MISSES_ACCESSES_HPP_
