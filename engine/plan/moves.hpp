// SPDX-License-Identifier: BSD-3-Clause
//
// Moves: what the kernels of a sweep that was chosen are asked for (Move), but for the addresses
// and what depends on the count.
#ifndef LACUNA_ENGINE_PLAN_MOVES_HPP_
#define LACUNA_ENGINE_PLAN_MOVES_HPP_

#include "plan/plan.hpp"

namespace lacuna {

// Whether runs are moved under masks: the kernels have such moves, and the CPU is quick at them.
inline bool moves_by_masks(const KernelTable& kernels, const Machine& machine) {
  return kernels.masks && machine.fast_masked_moves;
}

void prepare_moves(Sweep& sweep, const KernelTable& kernels, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_MOVES_HPP_
