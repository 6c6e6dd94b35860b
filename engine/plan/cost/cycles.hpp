// SPDX-License-Identifier: BSD-3-Clause
//
// Cycles: what the kernels take with all data in the L1, in cycles of one busy core. Measured on a
// Granite Rapids (2.6 GHz nominal, AVX-512), see docs/internals/cost.md. Other recent CPUs differ
// by less than the factor of two that a prediction is allowed.
#ifndef LACUNA_ENGINE_PLAN_COST_CYCLES_HPP_
#define LACUNA_ENGINE_PLAN_COST_CYCLES_HPP_

#include <cstdint>

#include "kernels/kernel.hpp"
#include "kernels/record/record.hpp"

namespace lacuna {

// lacuna_pack without its kernels: checks, the choice of the root.
inline constexpr double kMessageCycles = 24;
// A kernel call: its Move is copied and completed; the call is indirect.
inline constexpr double kCallCycles = 12;
// A row of a kernel: entry and exit of the inner loop.
inline constexpr double kRowCycles = 5;
// A node of the plan whose children are moved one by one (Step::Shape::kParts).
inline constexpr double kNodeCycles = 6;
// An entry of a list: a load of its offset.
inline constexpr double kEntryCycles = 0.5;

// A word of a MoveList, when four elements are moved together
// (docs/experiments/2026-11-29-cycles-of-records.md).
inline constexpr double kListedCycles = 0.75;

// Bytes of the vectors that a table's kernels use; 0 for the reference.
int64_t vector_bytes(const KernelTable& kernels);

// A call of memcpy, without moving the bytes.
double memcpy_cycles(int64_t bytes);

// One run among many of the same length.
double run_cycles(int64_t bytes, int64_t vector_bytes);

// A run in a list of unequal lengths: the choice of the copy for its length.
inline constexpr double kUnequalCycles = 3;
// A mispredicted branch: in a list of unequal lengths, a run whose length_kind differs from the one
// before. The branch predictor learns lists of up to kEntriesByHeart entries.
inline constexpr double kWrongGuessCycles = 18;
inline constexpr int64_t kEntriesByHeart = 4096;

// The class of lengths, 0 to 6, for which the copy of a run has one branch.
int length_kind(int64_t bytes);

// One element of a transpose.
double transpose_cycles(int64_t width, int64_t vector_bytes);

// One record by the vectors of a table; 0 for an empty table.
double table_cycles(const RecordTable& table, bool is_pack);

// One of `in_row` records, by the way that the kernel takes for so many.
double element_cycles(const Record& fields, int64_t in_row, bool is_pack, int64_t vector_bytes);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_COST_CYCLES_HPP_
