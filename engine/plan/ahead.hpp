// SPDX-License-Identifier: BSD-3-Clause
//
// Ahead: for which messages a kernel asks for its lines before it comes to them.
#ifndef LACUNA_ENGINE_PLAN_AHEAD_HPP_
#define LACUNA_ENGINE_PLAN_AHEAD_HPP_

#include "plan/plan.hpp"

namespace lacuna {

// Of elements that span `span` bytes at the stride of the sweep's inner loop.
void set_ahead(Sweep& sweep, int64_t span, const KernelTable& kernels, const Machine& machine);
// Of a list of equal runs.
void set_listed_ahead(Sweep& sweep, const KernelTable& kernels, const Machine& machine);
// Of a list of runs of unequal lengths.
void set_unequal_ahead(Sweep& sweep, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_AHEAD_HPP_
