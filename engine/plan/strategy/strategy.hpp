// SPDX-License-Identifier: BSD-3-Clause
//
// The strategies of each shape: functions that recognise the shape in a nest of loops, and
// functions that choose the regimes of a step of that shape. Each file of this folder holds one
// shape.
#ifndef LACUNA_ENGINE_PLAN_STRATEGY_STRATEGY_HPP_
#define LACUNA_ENGINE_PLAN_STRATEGY_STRATEGY_HPP_

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "plan/plan.hpp"

namespace lacuna::strategy {

// Loops directly inside each other, outermost first, and what they repeat.
struct Nest {
  std::vector<Loop> loops;
  const PlanNode* leaf = nullptr;
  const Step* below = nullptr;  // of the nest without the outermost loop
};

// What strategies depend on, beside the layout. `is_open`: of a plan's root for many elements.
struct Host {
  const KernelTable& kernels;
  const Machine& machine;
  bool is_open = false;

  // Whether runs are moved under masks: the kernels can, and it is fast on this CPU.
  bool has_masks() const { return kernels.masks && machine.fast_masked_moves; }
  // Moves of 32 bytes are faster where wider ones cross lines.
  bool has_narrow_moves() const { return machine.vector_bytes < machine.line_bytes; }
  MoveWidth move() const { return {64, static_cast<uint8_t>(has_narrow_moves() ? 32 : 64), false}; }
};

// Each returns false, and changes nothing, if the nest is not of its shape. strided.cpp takes all.
bool select_transpose(Step& step, Nest& nest, const Host& host);
bool select_record(Step& step, Nest& nest, const Host& host);
bool select_list(Step& step, Nest& nest, const Host& host);
void select_strided(Step& step, Nest& nest, const Host& host);
// One run.
void select_run(Step& step, const Host& host);

// The sentences for explain, made when asked for. Not for kParts.
std::string why_transpose(const Step& step, const Machine& machine);
std::string why_record(const Step& step);
std::string why_list(const Step& step);
std::string why_strided(const Step& step, const Machine& machine);

// A single run that no table serves is moved as strided runs, in one direction or both.
struct PrefetchRule;
Regimes strided_regimes(const Step& step, const PrefetchRule& prefetch, Direction way,
                        const Host& host);

// Makes loops[index] the kernel's outer dimension. The node's own loop is loops[0].
void place_outer(Step& step, Nest& nest, size_t index);
void place_rest(Step& step, Nest& nest);
// The kernel's argument, but for the addresses, the hints, and the count of the open loop.
void prepare_calls(Step& step);

// In the sentences for explain.
inline std::string text(int64_t value) { return std::to_string(value); }

// What one traversal of the innermost loop touches, and how many of its iterations stay in the TLB
// and the L1 until the next traversal uses the same lines again; 0: all (Byna 2003, section 5.3).
struct Traversal {
  int64_t pages;
  int64_t lines;
  int64_t cached_iterations;
};
Traversal traversal_of(const Loop& inner, int64_t width, const Machine& machine);

}  // namespace lacuna::strategy

#endif  // LACUNA_ENGINE_PLAN_STRATEGY_STRATEGY_HPP_
