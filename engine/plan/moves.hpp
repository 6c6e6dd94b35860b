// SPDX-License-Identifier: BSD-3-Clause
//
// Prepares the Move of a sweep's kernels: all but the addresses and what depends on the count.
#ifndef LACUNA_ENGINE_PLAN_MOVES_HPP_
#define LACUNA_ENGINE_PLAN_MOVES_HPP_

#include "plan/plan.hpp"

namespace lacuna {

// Whether runs are moved under masks: the kernels can, and it is fast on this CPU.
inline bool moves_by_masks(const KernelTable& kernels, const Machine& machine) {
  return kernels.masks && machine.fast_masked_moves;
}

void prepare_moves(Sweep& sweep, const KernelTable& kernels, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_MOVES_HPP_
