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

#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"
#include "layout/layout.hpp"
#include "machine/machine.hpp"
#include "plan/few.hpp"
#include "type/type.hpp"

namespace lacuna {

// Memory offsets of equal runs, in bytes: half the cache space of the layout's 64-bit offsets.
using PlacesPtr = std::shared_ptr<const std::vector<int32_t>>;

// Calls that move fewer than `below` bytes of a message of at least `from` bytes (packed). The
// default holds for none.
struct Sizes {
  static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
  int64_t from = kNoEnd;
  int64_t below = kNoEnd;
  bool hold(int64_t message, int64_t now) const { return message >= from && now < below; }
};

// How whole iterations of a loop (entries of a list) are moved: loops around one kernel.
struct Sweep {
  enum class How : uint8_t {
    kEach,       // the children one by one, each as its own node says
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
  PlacesPtr places;                  // kListed: the list as runs of `width` bytes; may be null
  FieldsPtr fields;                  // kFields
  // Which of the loops above is the node's own: a slice or a repetition replaces its count.
  // kAround: around[0].
  enum class Own : uint8_t { kAround, kOuter, kInner, kNone } own = Own::kNone;
  // kStrided, loop blocking: iterations of `inner` in a block, for all of `outer`; 0: no blocking.
  int64_t block_inner = 0;
  // Whether the innermost loop of `around` runs inside the kernel (Move::around).
  bool goes_around() const { return !around.empty() && how != How::kTranspose && block_inner == 0; }
  // The calls for which the kernel prefetches: what they touch does not fit a cache.
  Sizes pack_ahead;
  Sizes unpack_ahead;
  int64_t far_bytes = Sizes::kNoEnd;    // from here on the distance is Machine::dram_miss_runs
  int64_t ahead_bytes = 0;              // bytes of an iteration to prefetch
  bool ahead_second = false;            // prefetch into the L2
  bool ahead_in_order = false;          // kListed: Move::ahead_in_order, packing
  int64_t masks_below = Sizes::kNoEnd;  // kListed: smaller messages are unpacked under masks
  int64_t tile_rows = 0;                // kTranspose
  int64_t tile_cols = 0;
  int64_t four_lines_bytes = 0;
  int64_t diagonals_bytes = 0;
  // Only messages of fewer runs than this use Move::repeats.
  int64_t repeats_below = std::numeric_limits<int64_t>::max();
  // Only messages of at most so many bytes use Move::piece_off_lines.
  int64_t most_in_pieces = 0;
  std::string why;  // the rule that chose, for explain

  // The kernels' arguments, but for the addresses, the count of the own loop and what depends on
  // the size of the message: prepared, so that a small message costs a copy of this and a call.
  Move pack_move;
  Move unpack_move;
};

struct PlanNode {
  NodePtr layout;  // what it moves; a repeat root has its own loop instead of the layout's
  Loop loop;       // kLoop
  Sweep sweep;
  std::vector<std::shared_ptr<const PlanNode>> children;
  // kEach: FewMoves for each small child, else null. A kernel call takes as long as ten moves.
  std::vector<std::shared_ptr<const FewMoves>> pieces;

  LayoutNode::Kind kind = LayoutNode::Kind::kRun;
  int64_t size = 0;  // of one traversal (a repeat root: of one element)
};
using PlanNodePtr = std::shared_ptr<const PlanNode>;

// What Plan::type() returns: the type, or an outline of it (sizes, bounds, signature). An outline
// saves the memory of long lists, which the layout holds as well.
enum class Keeps : uint8_t { kType, kOutline };

// All of a plan but its FewMoves: what two plans of one type with different FewMoves share.
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
  // Moves small messages.
  const FewMoves& few() const { return few_; }

 private:
  friend Ref<const Plan> make_plan(TypePtr, const KernelTable&, const Machine&, Keeps);
  friend Ref<const Plan> with_compiled_moves(const Plan& plan, CompiledMoves moves);

  FewMoves few_;
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

// Text for people, for `count` elements: the numbers of the type, its layout, the kernels, and
// which rule chose what.
std::string explain(const Plan& plan, int64_t count);

// Tiles of a transpose of elements of `width` bytes.
struct Tiles {
  int64_t rows;              // half the TLB (Byna 2003, section 5.3), at least a line of output
  int64_t columns;           // a page
  int64_t four_lines_bytes;  // messages up to this size: Move::four_lines
  int64_t diagonals_bytes;   // messages up to this size: Move::diagonals
};
Tiles transpose_tiles(int64_t width, const Machine& machine);

// Sets the sweep of a node that has none: how its list, or the loop nest that it begins, is moved.
void select_sweep(PlanNode& node, const KernelTable& kernels, const Machine& machine);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_PLAN_HPP_
