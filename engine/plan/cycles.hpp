// SPDX-License-Identifier: BSD-3-Clause
//
// Cycles: what the kernels cost where all data is in the first-level cache, in cycles of one busy
// core. Measured on a Granite Rapids (2.6 GHz nominal, AVX-512), see docs/cost.md; other
// processors of the last years differ by less than the factor of two that a prediction is allowed.
#ifndef LACUNA_ENGINE_PLAN_CYCLES_HPP_
#define LACUNA_ENGINE_PLAN_CYCLES_HPP_

#include <cstdint>

#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"

namespace lacuna {

// From the call of lacuna_pack to the first kernel and back: checks, the choice of the root.
inline constexpr double kMessageCycles = 16;
// A kernel's call: its move is copied and completed, the jump is to an address in memory.
inline constexpr double kCallCycles = 12;
// A row of a kernel: the inner loop is entered and left.
inline constexpr double kRowCycles = 5;
// A node of the plan that is walked one by one.
inline constexpr double kNodeCycles = 6;
// An entry of a list: its offset is loaded.
inline constexpr double kEntryCycles = 0.5;

// The vectors that a table's kernels use.
int64_t vector_bytes(const KernelTable& kernels);

// A call of the C library's copy, without what the bytes take.
double memcpy_cycles(int64_t bytes);

// One run among many of the same length.
double run_cycles(int64_t bytes, int64_t vector_bytes);

// One run in a list of unequal lengths: the branches on the length are not foreseen.
double listed_run_cycles(int64_t bytes, int64_t vector_bytes);

// One element of a transpose.
double transpose_cycles(int64_t width, int64_t vector_bytes);

// One element of several fields.
double element_cycles(const Fields& fields, bool is_pack, int64_t vector_bytes);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_CYCLES_HPP_
