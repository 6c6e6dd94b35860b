// SPDX-License-Identifier: BSD-3-Clause
//
// For which messages a kernel prefetches in software, and how far ahead.
#ifndef LACUNA_ENGINE_PLAN_AHEAD_HPP_
#define LACUNA_ENGINE_PLAN_AHEAD_HPP_

#include "plan/plan.hpp"

namespace lacuna {

// For runs or records of `span` bytes at the stride of the sweep's inner loop.
void set_ahead(Sweep& sweep, int64_t span, const KernelTable& kernels, const Machine& machine);
// For a list of equal runs.
void set_listed_ahead(Sweep& sweep, const KernelTable& kernels, const Machine& machine);
// For a list of runs of unequal lengths.
void set_unequal_ahead(Sweep& sweep, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_AHEAD_HPP_
