// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels that lacuna-cc has compiled into the program, for types whose handles the compiler could
// not follow to the calls. The program registers them where it commits the type
// (lacuna_interposed_register). When the type is analysed, it uses them if it has the structure
// that they are for. So it does not matter when a handle is freed or used again: what was
// registered for a type that is gone fits only an equal type.
#ifndef LACUNA_INTERPOSE_TYPES_COMPILED_HPP_
#define LACUNA_INTERPOSE_TYPES_COMPILED_HPP_

#include <cstdint>

#include "interpose/report/report.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// The plan with the kernels that are registered for the handle. Null: there are none, or they do
// not fit or do not pay. May throw std::bad_alloc.
PlanPtr plan_with_registered(uintptr_t handle, const Type& decoded, const PlanPtr& plan);

void count_compiled_move() noexcept;
CompiledCounts compiled_counts() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_COMPILED_HPP_
