// SPDX-License-Identifier: BSD-3-Clause
//
// Which tables for elements of a few small fields are quicker than moves.
#ifndef LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_
#define LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_

#include <cstdint>
#include <vector>

#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"
#include "machine/machine.hpp"

namespace lacuna {

// The tables that are worth following, or none of them where the runs are better moved as an
// element's all the same: a list, or loops whose innermost has so few in a `row`. Null where loops
// are better.
FieldsPtr worthwhile_fields(std::vector<Field> runs, int64_t extent, bool listed, int64_t row,
                            const KernelTable& kernels, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_
