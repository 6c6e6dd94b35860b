// SPDX-License-Identifier: BSD-3-Clause
//
// Which way to move a small record is the fastest: vector tables, permutes, words, or a loop for
// each of its runs.
#ifndef LACUNA_ENGINE_PLAN_STRATEGY_RECORD_WAYS_HPP_
#define LACUNA_ENGINE_PLAN_STRATEGY_RECORD_WAYS_HPP_

#include <cstdint>
#include <vector>

#include "kernels/record/record.hpp"
#include "plan/strategy/strategy.hpp"

namespace lacuna::strategy {

// The record, with those tables and moves that are faster than its runs one by one. Null: loops of
// runs are better. `extent`: from record to record in memory; `listed`: the runs are entries of a
// list; `row`: count of the innermost loop that became part of the record (1: none).
RecordPtr worthwhile_record(std::vector<RecordRun> runs, int64_t extent, bool listed, int64_t row,
                            const Host& host);

}  // namespace lacuna::strategy

#endif  // LACUNA_ENGINE_PLAN_STRATEGY_RECORD_WAYS_HPP_
