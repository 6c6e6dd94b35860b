// SPDX-License-Identifier: BSD-3-Clause
//
// Which tables for elements of a few small fields are quicker than moves.
#ifndef LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_
#define LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_

#include <cstdint>
#include <vector>

#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"

namespace lacuna {

// The tables that are worth following; null where none is and the runs are not a list.
FieldsPtr worthwhile_fields(std::vector<Field> runs, int64_t extent, bool listed,
                            const KernelTable& kernels);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_
