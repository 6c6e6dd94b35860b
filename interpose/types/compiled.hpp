// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels that the program's compiler (lacuna-cc) has made for types whose handles it has lost
// sight of. The program registers them where it commits the type (lacuna_interposed_register), and
// the type takes them when it is learned, if it has the structure that they are for. So nothing
// depends on when a handle is freed or used again: what is registered for a type that is gone fits
// only one that is equal to it, and goes with the record of the type that has taken it.
#ifndef LACUNA_INTERPOSE_TYPES_COMPILED_HPP_
#define LACUNA_INTERPOSE_TYPES_COMPILED_HPP_

#include <cstdint>

#include "interpose/report/report.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// A plan by what is registered for the handle; null: nothing, or it does not fit or pay. May throw
// std::bad_alloc.
PlanPtr plan_with_registered(uintptr_t handle, const Type& decoded, const PlanPtr& plan);

void count_compiled_move() noexcept;
CompiledCounts compiled_counts() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_COMPILED_HPP_
