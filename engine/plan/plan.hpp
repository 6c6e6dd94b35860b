// SPDX-License-Identifier: BSD-3-Clause
//
// Plan: a layout with, for each of its loops and lists, the kernel, loop order and block sizes that
// move it as a whole on this machine. Immutable and shared between threads; made in O(nodes); exec/
// follows it. A plan knows nothing of buffers.
//
// A plan has two roots over the same nodes: `single`, one element, and `repeat`, any number of
// elements one extent apart, whose first loop has its count multiplied at run time. Where elements
// continue each other (a resized column, a contiguous struct), that loop is merged with the
// element's own.
#ifndef LACUNA_ENGINE_PLAN_PLAN_HPP_
#define LACUNA_ENGINE_PLAN_PLAN_HPP_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"
#include "layout/layout.hpp"
#include "machine/machine.hpp"
#include "plan/few.hpp"
#include "type/type.hpp"

namespace lacuna {

// Where equal runs are, in bytes; half of what the layout's offsets take of the caches.
using PlacesPtr = std::shared_ptr<const std::vector<int32_t>>;

// Messages from `from` bytes on, of which fewer than `below` are moved at a time; none, unless set.
struct Sizes {
  static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
  int64_t from = kNoEnd;
  int64_t below = kNoEnd;
  bool hold(int64_t message, int64_t now) const { return message >= from && now < below; }
};

// How whole iterations of a loop (entries of a list) are moved: loops around one kernel.
struct Sweep {
  enum class How : uint8_t {
    kEach,       // one by one, each by the child's own means
    kStrided,    // kernel over (outer, inner)
    kTranspose,  // kernel over (outer = columns, inner = rows)
    kListed,     // kernel over (outer, the list)
    kFields,     // kernel over (outer, inner), for elements of several runs
  };
  How how = How::kEach;
  Kernel pack;  // null for kEach
  Kernel unpack;
  std::vector<Loop> around;  // loops outside the kernel, outermost first, in traversal order
  Loop outer{1, 0, 0};
  Loop inner{1, 0, 0};
  int64_t width = 0;                 // bytes of the runs
  const LayoutNode* list = nullptr;  // kListed: whose offsets
  PlacesPtr places;                  // kListed: the same as equal runs of `width`, if that serves
  FieldsPtr fields;                  // kFields
  // Which of the loops above is the node's own, whose count a slice or a repetition replaces;
  // kAround: the first of them.
  enum class Own : uint8_t { kAround, kOuter, kInner, kNone } own = Own::kNone;
  int64_t block_inner =
      0;  // kStrided: iterations of `inner` taken together under all of `outer`; 0: all
  // Whether the innermost of `around` is the kernel's, too (Move::around).
  bool goes_around() const { return !around.empty() && how != How::kTranspose && block_inner == 0; }
  // Messages of so many packed bytes touch more lines than a cache holds: the kernel asks for them
  // ahead.
  Sizes pack_ahead;
  Sizes unpack_ahead;
  int64_t far_bytes = Sizes::kNoEnd;  // from here on by Machine::dram_miss_runs
  int64_t ahead_bytes = 0;
  bool ahead_second = false;            // into the second level
  bool ahead_in_order = false;          // kListed: Move::ahead_in_order, packing
  int64_t masks_below = Sizes::kNoEnd;  // kListed: smaller messages are unpacked under masks
  int64_t tile_rows = 0;                // kTranspose
  int64_t tile_cols = 0;
  int64_t four_lines_bytes = 0;
  int64_t diagonals_bytes = 0;
  // Move::repeats holds for messages of fewer runs than that.
  int64_t repeats_below = std::numeric_limits<int64_t>::max();
  // Move::piece holds for messages of at most so many bytes.
  int64_t most_in_pieces = 0;
  std::string why;  // the rule that chose, for explain

  // The kernels' moves, but for the addresses, the count of the own loop and what depends on the
  // size of the message: a small message is a copy of this and a call.
  Move pack_move;
  Move unpack_move;
};

struct PlanNode {
  NodePtr layout;  // what it moves; a repeat root has its own loop instead of the layout's
  Loop loop;       // kLoop
  Sweep sweep;
  std::vector<std::shared_ptr<const PlanNode>> children;
  // kEach: what moves a traversal of each child, where it is small; else null. A call of a kernel
  // takes as long as ten moves.
  std::vector<std::shared_ptr<const FewMoves>> pieces;

  LayoutNode::Kind kind = LayoutNode::Kind::kRun;
  int64_t size = 0;  // of one traversal (a repeat root: of one element)
};
using PlanNodePtr = std::shared_ptr<const PlanNode>;

// What type() of a plan is. The outline has the numbers alone (sizes, bounds, signature): of a type
// with long lists, which the layout has too, nothing else stays.
enum class Keeps : uint8_t { kType, kOutline };

// All of a plan but its few moves: what plans of one type with other moves have in common.
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
  // No two bytes of `count` elements are at one place: they may be written in any order. False also
  // where that was not found out (layout/disjoint.hpp).
  bool is_disjoint(int64_t count) const { return count <= most_disjoint_; }
  int64_t most_disjoint() const { return most_disjoint_; }
  // Mean length of the runs a plain traversal copies; 0 for an empty type.
  double mean_run_bytes() const;
  const Machine& machine() const { return *machine_; }
  // Those it was made with.
  const KernelTable& kernels() const { return *kernels_; }
  // What copies a run of at least kNearRun bytes within the first level; null: memcpy.
  auto copy_near() const { return machine_->slow_memcpy_in_l1 ? kernels_->copy_near : nullptr; }

  // No bytes; there are no roots.
  bool is_empty() const { return single_ == nullptr; }
  // What moves `count` elements.
  const PlanNode& root(int64_t count) const { return count == 1 ? *single_ : *repeat_; }
  // Of the root's own loop; 1 if it is no loop.
  int64_t iterations(int64_t count) const {
    const PlanNode& node = root(count);
    return node.kind == LayoutNode::Kind::kLoop ? count * node.loop.count : 1;
  }
  int64_t offset() const { return layout_.element.offset; }
  // About the memory of it and of its type.
  int64_t memory_bytes() const { return memory_bytes_; }
  // Small messages go by this.
  const FewMoves& few() const { return few_; }

 private:
  friend Ref<const Plan> make_plan(TypePtr, const KernelTable&, const Machine&, Keeps);
  friend Ref<const Plan> with_compiled_moves(const Plan& plan, CompiledMoves moves);

  FewMoves few_;
};
using PlanPtr = Ref<const Plan>;

// The kernels to plan with: the best this host runs, or those LACUNA_ISA names.
const KernelTable& default_kernels();

// O(nodes of the type + entries of its index lists). Always a new one; cache.hpp knows those that
// were made.
PlanPtr make_plan(TypePtr type, const KernelTable& kernels = default_kernels(),
                  const Machine& host = machine(), Keeps keeps = Keeps::kType);

// The same plan, by whose functions small messages go, where that pays; null: it does not. The
// functions are the program's, which must not be unloaded while the plan lives.
PlanPtr with_compiled_moves(const Plan& plan, CompiledMoves moves);

// Text for people: numbers of the type, layout, kernels, and which rule chose what, for `count`
// elements (explain.cpp).
std::string explain(const Plan& plan, int64_t count);

// Tiles of a transpose of elements of `width` bytes: source rows taken together, half the TLB where
// each is on a page of its own (Byna 2003, section 5.3) and at least one line of output; and a page
// of columns; and the largest messages of which four lines of a column are written at a time, and
// whose tiles are taken along diagonals.
struct Tiles {
  int64_t rows;
  int64_t columns;
  int64_t four_lines_bytes;
  int64_t diagonals_bytes;
};
Tiles transpose_tiles(int64_t width, const Machine& machine);

// Chooses how the nest that starts with `node`'s loop, or the list that it is, is moved: its sweep,
// which is a new one (select.cpp).
void select_sweep(PlanNode& node, const KernelTable& kernels, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_PLAN_HPP_
