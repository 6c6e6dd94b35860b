// SPDX-License-Identifier: BSD-3-Clause
//
// Which way to move a small record is the fastest: vector tables, permutes, words, or a loop for
// each of its runs.
#ifndef LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_
#define LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_

#include <cstdint>
#include <vector>

#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"
#include "machine/machine.hpp"

namespace lacuna {

// The record, with those tables and moves that are faster than its runs one by one. Null: loops of
// runs are better. `extent`: from record to record in memory; `listed`: the runs are entries of a
// list; `row`: count of the innermost loop that became part of the record (1: none).
FieldsPtr worthwhile_fields(std::vector<Field> runs, int64_t extent, bool listed, int64_t row,
                            const KernelTable& kernels, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_WORTHWHILE_HPP_
