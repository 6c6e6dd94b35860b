// SPDX-License-Identifier: BSD-3-Clause
//
// The accesses of a plan: which bytes moving a message reads and writes, in which order. The plan
// is followed by what follows it anyway (exec's Mover), with kernels that note instead of moving.
#ifndef LACUNA_COSTS_MISSES_ACCESSES_HPP_
#define LACUNA_COSTS_MISSES_ACCESSES_HPP_

#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna::costs {

// Bytes within one line of 64.
class Accesses {
 public:
  virtual ~Accesses() = default;
  virtual void read(const std::byte* at, int64_t bytes) = 0;
  virtual void write(std::byte* at, int64_t bytes) = 0;
  // By a non-temporal store, past the caches.
  virtual void write_past(std::byte* at, int64_t bytes) = 0;
};

// A plan as it is made on `host` with this processor's kernels, that can be followed.
PlanPtr make_noting_plan(const TypePtr& type, const Machine& host);

// All accesses of packing (or unpacking) `count` elements; `mem` and `packed` are not touched.
// Kernels read and write vectors of several runs, which changes the number of accesses, but hardly
// the order in which lines come. `plan`: of make_noting_plan().
void follow(const Plan& plan, bool is_pack, std::byte* mem, int64_t count, std::byte* packed,
            Accesses& accesses);

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MISSES_ACCESSES_HPP_
