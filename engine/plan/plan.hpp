// SPDX-License-Identifier: BSD-3-Clause
//
// Plan: a layout, with the kernel, the loop order and the block sizes chosen for each of its loops
// and lists on this machine. Immutable and shared between threads; exec/ follows it.
//
// A plan has two roots over the same nodes: `single` moves one element, `repeat` any number of
// elements one extent apart. The count of `repeat`'s first loop is multiplied at run time. Where
// elements continue each other (a resized column, a contiguous struct), that loop is merged with
// the element's own.
#ifndef LACUNA_ENGINE_PLAN_PLAN_HPP_
#define LACUNA_ENGINE_PLAN_PLAN_HPP_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/small/small_moves.hpp"
#include "layout/layout.hpp"
#include "machine/machine.hpp"
#include "plan/step.hpp"
#include "type/type.hpp"

namespace lacuna {

struct PlanNode {
  NodePtr layout;  // what it moves; a repeat root has its own loop instead of the layout's
  Loop loop;       // kLoop
  Step step;       // not set: a run that a loop or list repeats, which is never moved alone
  std::vector<std::shared_ptr<const PlanNode>> children;
  // kParts: SmallMoves for each small child, else null. A kernel call takes as long as ten moves.
  std::vector<std::shared_ptr<const SmallMoves>> pieces;

  LayoutNode::Kind kind = LayoutNode::Kind::kRun;
  int64_t size = 0;  // of one traversal (a repeat root: of one element)
};
using PlanNodePtr = std::shared_ptr<const PlanNode>;

// What Plan::type() returns: the type, or an outline of it (sizes, bounds, signature). An outline
// saves the memory of long lists, which the layout holds as well.
enum class Keeps : uint8_t { kType, kOutline };

// All of a plan but its SmallMoves: what two plans of one type with different SmallMoves share.
class PlanParts {
 protected:
  TypePtr type_;
  Layout layout_;
  const Machine* machine_ = nullptr;
  const KernelTable* kernels_ = nullptr;
  PlanNodePtr single_;
  PlanNodePtr repeat_;
  int64_t size_ = 0;
  int64_t memory_bytes_ = 0;
  int64_t most_disjoint_ = std::numeric_limits<int64_t>::max();
  bool contiguous_ = false;
};

class Plan : public RefCounted, private PlanParts {
 public:
  int64_t size() const { return size_; }
  int64_t extent() const { return layout_.extent; }
  const Layout& layout() const { return layout_; }
  const Type& type() const { return *type_; }
  // One run, and elements continue each other: the packed stream is the memory.
  bool is_contiguous() const { return contiguous_; }
  // `count` elements of a type that is not empty are one run.
  bool is_run(int64_t count) const {
    return contiguous_ || (count == 1 && single_->kind == LayoutNode::Kind::kRun);
  }
  // No byte of memory belongs to `count` elements twice, so they may be written in any order. False
  // also where that is not known (layout/disjoint.hpp).
  bool is_disjoint(int64_t count) const { return count <= most_disjoint_; }
  int64_t most_disjoint() const { return most_disjoint_; }
  // Mean length of the runs a plain traversal copies; 0 for an empty type.
  double mean_run_bytes() const;
  const Machine& machine() const { return *machine_; }
  const KernelTable& kernels() const { return *kernels_; }
  // Copies a run of at least kNearRun bytes that is in the L1; null: memcpy does.
  auto copy_near() const { return machine_->slow_memcpy_in_l1 ? kernels_->copy_near : nullptr; }

  // An empty type has no roots.
  bool is_empty() const { return single_ == nullptr; }
  const PlanNode& root(int64_t count) const { return count == 1 ? *single_ : *repeat_; }
  // Iterations of the root's own loop; 1 if it is no loop.
  int64_t iterations(int64_t count) const {
    const PlanNode& node = root(count);
    return node.kind == LayoutNode::Kind::kLoop ? count * node.loop.count : 1;
  }
  int64_t offset() const { return layout_.element.offset; }
  // The memory of the plan and its type, approximately.
  int64_t memory_bytes() const { return memory_bytes_; }
  // The step whose kernel moves `count` elements; null: small moves, one run, parts of different
  // shapes, or nothing to move.
  const Step* kernel_step(int64_t count) const {
    if (count <= 0 || is_empty() || is_run(count) || count <= small_moves_.most_elements() ||
        root(count).step.shape == Step::Shape::kParts)
      return nullptr;
    return &root(count).step;
  }
  // Moves small messages.
  const SmallMoves& small_moves() const { return small_moves_; }

 private:
  friend Ref<const Plan> make_plan(TypePtr, const KernelTable&, const Machine&, Keeps);
  friend Ref<const Plan> with_compiled_moves(const Plan& plan, CompiledMoves moves);
  friend Ref<const Plan> with_regime(const Plan& plan, int64_t count, Direction way,
                                     const Kernel& kernel, const Hints& hints);

  SmallMoves small_moves_;
};
using PlanPtr = Ref<const Plan>;

// The kernels to plan with: the best this host runs, or those LACUNA_ISA names.
const KernelTable& default_kernels();

// O(nodes of the type + entries of its index lists). Always a new plan; cache.hpp returns those
// that exist.
PlanPtr make_plan(TypePtr type, const KernelTable& kernels = default_kernels(),
                  const Machine& host = machine(), Keeps keeps = Keeps::kType);

// The same plan, whose small messages are moved by the program's own functions; null where that is
// not faster. The program must not be unloaded while the plan lives.
PlanPtr with_compiled_moves(const Plan& plan, CompiledMoves moves);

// The same plan for `count` elements, which must have a kernel_step(), moved in one direction by
// this kernel and these hints whatever the size. For benchmarks of strategies. The kernel must be
// of the step's shape, and able to move it.
PlanPtr with_regime(const Plan& plan, int64_t count, Direction way, const Kernel& kernel,
                    const Hints& hints);

// Text for people, for `count` elements: the numbers of the type, its layout, the kernels, and
// which rule chose what.
std::string explain(const Plan& plan, int64_t count);

// Which rule chose the shape of a step and the order of its loops: a sentence for explain.
std::string why(const Step& step, const Machine& machine);

// By which kernels, with which hints, so many elements are moved: one line, for logs.
std::string kernels_text(const Plan& plan, int64_t count);

// Tiles of a transpose of elements of `width` bytes.
struct Tiles {
  int64_t rows;              // half the TLB (Byna 2003, section 5.3), at least a line of output
  int64_t columns;           // a page
  int64_t four_lines_bytes;  // messages up to this size: TileOrder::four_lines
  int64_t diagonals_bytes;   // messages up to this size: TileOrder::diagonals
};
Tiles transpose_tiles(int64_t width, const Machine& machine);

// Sets the step of a node that has none: how its list, or the loop nest that it begins, is moved.
// `is_open`: a root for any number of elements, whose own loop has its count from the message.
void select_step(PlanNode& node, const KernelTable& kernels, const Machine& machine, bool is_open);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_PLAN_HPP_
