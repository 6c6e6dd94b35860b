// SPDX-License-Identifier: BSD-3-Clause
//
// Cycles: what the kernels cost where all data is in the first-level cache, in cycles of one busy
// core. Measured on a Granite Rapids (2.6 GHz nominal, AVX-512), see docs/internals/cost.md; other
// processors of the last years differ by less than the factor of two that a prediction is allowed.
#ifndef LACUNA_ENGINE_PLAN_CYCLES_HPP_
#define LACUNA_ENGINE_PLAN_CYCLES_HPP_

#include <cstdint>

#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"

namespace lacuna {

// From the call of lacuna_pack to the first kernel and back: checks, the choice of the root.
inline constexpr double kMessageCycles = 24;
// A kernel's call: its move is copied and completed, the jump is to an address in memory.
inline constexpr double kCallCycles = 12;
// A row of a kernel: the inner loop is entered and left.
inline constexpr double kRowCycles = 5;
// A node of the plan that is walked one by one.
inline constexpr double kNodeCycles = 6;
// An entry of a list: its offset is loaded.
inline constexpr double kEntryCycles = 0.5;

// A word of a list of them, four elements side by side (Zen 5, in the first level, 0.18 ns).
inline constexpr double kListedCycles = 0.75;

// The vectors that a table's kernels use.
int64_t vector_bytes(const KernelTable& kernels);

// A call of the C library's copy, without what the bytes take.
double memcpy_cycles(int64_t bytes);

// One run among many of the same length.
double run_cycles(int64_t bytes, int64_t vector_bytes);

// A run in a list of unequal lengths, besides its bytes: the way to the copy for its length.
inline constexpr double kUnequalCycles = 3;
// A branch that was not foreseen. In a list of unequal lengths, where a run is of another kind of
// length than the one before; but a list that is short enough is known by heart after some calls.
inline constexpr double kWrongGuessCycles = 18;
inline constexpr int64_t kEntriesByHeart = 4096;

// The kinds of lengths between which the copy of a run chooses by a branch.
int length_kind(int64_t bytes);

// One element of a transpose.
double transpose_cycles(int64_t width, int64_t vector_bytes);

// One element by the vectors of a table; 0 for an empty table.
double table_cycles(const FieldTable& table, bool is_pack);

// One of `in_row` elements of several fields.
double element_cycles(const Fields& fields, int64_t in_row, bool is_pack, int64_t vector_bytes);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_CYCLES_HPP_
