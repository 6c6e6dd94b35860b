// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses the step of a loop nest or list: the first shape that it is. The strategies of each shape
// are in strategy/, after Byna, Gropp, Sun & Thakur 2003, section 5.4: the packing function that
// serves the pattern.
#include <utility>

#include "plan/plan.hpp"
#include "plan/strategy/strategy.hpp"

namespace lacuna {
namespace strategy {
namespace {

using Kind = LayoutNode::Kind;

Nest unfold(const PlanNode& node) {
  constexpr size_t kUsual = 4;
  Nest nest;
  const PlanNode* at = &node;
  if (at->kind == Kind::kLoop) {
    nest.loops.reserve(kUsual);
    nest.below = &at->children[0]->step;
  }
  while (at->kind == Kind::kLoop) {
    nest.loops.push_back(at->loop);
    at = at->children[0].get();
  }
  nest.leaf = at;
  return nest;
}

Dim pack_dim(const Loop& loop) { return {loop.count, loop.mem_stride, loop.packed_stride}; }

Dim reversed(const Dim& dim) { return {dim.count, dim.dst_stride, dim.src_stride}; }

}  // namespace

void place_outer(Step& step, Nest& nest, size_t index) {
  step.outer = nest.loops[index];
  nest.loops.erase(nest.loops.begin() + static_cast<ptrdiff_t>(index));
  if (index == 0) step.open_loop = Step::OpenLoop::kOuter;
}

void place_rest(Step& step, Nest& nest) {
  step.around = std::move(nest.loops);
  if (step.open_loop == Step::OpenLoop::kNone) step.open_loop = Step::OpenLoop::kAround;
}

void prepare_calls(Step& step) {
  KernelCall& pack = step.pack_call;
  KernelCall& unpack = step.unpack_call;
  pack.width = step.width;
  pack.outer = pack_dim(step.outer);
  pack.inner = pack_dim(step.inner);
  if (step.list != nullptr) {
    pack.inner = {static_cast<int64_t>(step.list->mem_offsets.size()), 0, 0};
    pack.list.offsets = step.list->mem_offsets.data();
    if (!step.list->packed_offsets.empty())
      pack.list.packed_offsets = step.list->packed_offsets.data();
    if (step.places != nullptr) {
      pack.inner.count = static_cast<int64_t>(step.places->size());
      pack.list.places = step.places->data();
    }
  }
  pack.record = step.record.get();
  unpack = pack;
  unpack.outer = reversed(pack.outer);
  unpack.inner = reversed(pack.inner);
  // The inner dimension of a transpose is the one that is dense in the destination.
  if (step.shape == Step::Shape::kTranspose) std::swap(unpack.outer, unpack.inner);
}

}  // namespace strategy

void select_step(PlanNode& node, const KernelTable& kernels, const Machine& machine, bool is_open) {
  const strategy::Host host{kernels, machine, is_open};
  Step& step = node.step;
  strategy::Nest nest = strategy::unfold(node);
  const bool is_run = nest.leaf->kind == LayoutNode::Kind::kRun;
  if (is_run) step.width = nest.leaf->size;
  if (is_run && nest.loops.empty()) {
    select_run(step, host);
  } else if ((is_run && select_transpose(step, nest, host)) || select_record(step, nest, host) ||
             select_list(step, nest, host)) {
    // done
  } else if (is_run) {
    select_strided(step, nest, host);
  } else {
    return;
  }
  strategy::prepare_calls(step);
}

std::string why(const Step& step, const Machine& machine) {
  switch (step.shape) {
    case Step::Shape::kParts:
      break;
    case Step::Shape::kStrided:
      return strategy::why_strided(step, machine);
    case Step::Shape::kTranspose:
      return strategy::why_transpose(step, machine);
    case Step::Shape::kList:
      return strategy::why_list(step);
    case Step::Shape::kRecord:
      return strategy::why_record(step);
  }
  return "parts of different shapes, each moved by its own kernel";
}

}  // namespace lacuna
