// SPDX-License-Identifier: BSD-3-Clause
#include "exec/copy/copy.hpp"

#include <algorithm>
#include <cstring>

#include "exec/copy/common_loops.hpp"
#include "exec/copy/cursor.hpp"
#include "exec/exec.hpp"
#include "exec/part.hpp"
#include "kernels/scratch.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

// Runs must be this long to repay a step of a cursor.
constexpr double kCursorRunBytes = 256;
// Runs must be this long to repay the search for a slice, which goes down all levels of the plan.
constexpr double kSliceRunBytes = 4096;
// Bytes of the stream in the buffer: half of the smallest L1 in use; the rest is for both sides.
constexpr int64_t kStageBytes = 16384;
static_assert(kStageBytes <= static_cast<int64_t>(kScratchBytes));
// The same on the stack, for small copies and if no scratch buffer is left. Threads of programs may
// have little stack, so functions with large frames are not inlined.
constexpr int64_t kSmallStageBytes = 512;

struct Side {
  const Plan& plan;
  std::byte* mem;
  int64_t count;

  bool is_run() const { return plan.is_run(count); }
  const PlanNode& root() const { return plan.root(count); }
  int64_t iterations() const { return plan.iterations(count); }
  std::byte* origin() const { return address(mem, plan.offset()); }
};

[[gnu::noinline]] bool join(const Side& source, const Side& target, CommonLoops* common) {
  RunLoops from;
  RunLoops to;
  return from.read(source.root(), source.iterations()) &&
         to.read(target.root(), target.iterations()) && common->join(from, to);
}

bool alike(const Side& a, const Side& b) {
  return a.count == b.count && (a.count == 1 || a.plan.extent() == b.plan.extent()) &&
         equal(*a.plan.layout().element.node, *b.plan.layout().element.node);
}

[[gnu::noinline]] bool join(const PlanNode& node, int64_t count, CommonLoops* common) {
  RunLoops nest;
  return nest.read(node, count) && common->join(nest, nest);
}

// joins(): whether their loops have common counts.
template <typename Joins>
CopyWay choose(const Side& source, const Side& target, Joins joins) {
  if (source.count == 0 || target.count == 0 || source.plan.is_empty() || target.plan.is_empty())
    return CopyWay::kNothing;
  if (target.is_run()) return CopyWay::kPack;
  if (source.is_run()) return CopyWay::kUnpack;
  if (!target.plan.is_disjoint(target.count)) return CopyWay::kStaged;
  if (joins()) return CopyWay::kJoint;
  if (alike(source, target)) return CopyWay::kAlike;
  const double from = source.plan.mean_run_bytes();
  const double to = target.plan.mean_run_bytes();
  if (std::min(from, to) >= kCursorRunBytes) return CopyWay::kCursors;
  if (std::max(from, to) < kSliceRunBytes) return CopyWay::kStaged;
  return from < to ? CopyWay::kTarget : CopyWay::kSource;
}

// Copies between two sides of one layout.
class Twin {
 public:
  Twin(const Plan& plan, int64_t message_bytes) : plan_(plan), message_bytes_(message_bytes) {}

  void whole(const PlanNode& node, std::byte* source, std::byte* target) const {
    iterations(node, node.loop.count, source, target);
  }

  // The node with that many iterations of its own loop, if it has one.
  void iterations(const PlanNode& node, int64_t count, std::byte* source, std::byte* target) const {
    switch (node.kind) {
      case Kind::kRun:
        std::memcpy(target, source, static_cast<size_t>(node.size));
        return;
      case Kind::kLoop:
        if (loops(node, count, source, target)) return;
        for (int64_t i = 0; i < count; ++i) {
          whole(*node.children[0], source, target);
          source = address(source, node.loop.mem_stride);
          target = address(target, node.loop.mem_stride);
        }
        return;
      case Kind::kBlocks:
        return blocks(node, source, target);
      case Kind::kRuns: {
        const LayoutNode& list = *node.layout;
        for (size_t i = 0; i < list.mem_offsets.size(); ++i) {
          std::memcpy(address(target, list.mem_offsets[i]), address(source, list.mem_offsets[i]),
                      static_cast<size_t>(list.packed_offsets[i + 1] - list.packed_offsets[i]));
        }
        return;
      }
      case Kind::kSeq:
        for (size_t i = 0; i < node.children.size(); ++i) {
          const int64_t at = node.layout->mem_offsets[i];
          whole(*node.children[i], address(source, at), address(target, at));
        }
        return;
    }
  }

 private:
  // False where the node is not loops over one run.
  [[gnu::noinline]] bool loops(const PlanNode& node, int64_t count, std::byte* source,
                               std::byte* target) const {
    CommonLoops common;
    if (!join(node, count, &common)) return false;
    common.run(plan_, source, target, message_bytes_);
    return true;
  }

  void blocks(const PlanNode& node, std::byte* source, std::byte* target) const {
    const PlanNode& child = *node.children[0];
    if (child.kind == Kind::kRun) {
      switch (child.size) {
        case 4:
          return runs<4>(node, source, target);
        case 8:
          return runs<8>(node, source, target);
        case 16:
          return runs<16>(node, source, target);
        default:
          break;
      }
    }
    for (const int64_t at : node.layout->mem_offsets)
      whole(child, address(source, at), address(target, at));
  }

  template <size_t kWidth>
  static void runs(const PlanNode& node, std::byte* source, std::byte* target) {
    for (const int64_t at : node.layout->mem_offsets)
      std::memcpy(address(target, at), address(source, at), kWidth);
  }

  const Plan& plan_;
  int64_t message_bytes_;
};

// The next three return how many bytes they moved: a cursor cannot follow every type to its end.

[[gnu::noinline]] int64_t by_cursors(const Side& source, const Side& target) {
  Cursor from(source.plan, source.mem, source.count);
  Cursor to(target.plan, target.mem, target.count);
  int64_t done = 0;
  while (from.valid() && to.valid()) {
    const int64_t bytes = std::min(from.left(), to.left());
    std::memcpy(to.at(), from.at(), static_cast<size_t>(bytes));
    from.advance(bytes);
    to.advance(bytes);
    done += bytes;
  }
  return done;
}

[[gnu::noinline]] int64_t by_target(const Side& source, const Side& target, int64_t total) {
  int64_t done = 0;
  for (Cursor to(target.plan, target.mem, target.count); to.valid(); to.advance(to.left())) {
    move_part<true>(source.plan, source.mem, source.count, done, done + to.left(), to.at(), total);
    done += to.left();
  }
  return done;
}

[[gnu::noinline]] int64_t by_source(const Side& source, const Side& target, int64_t total) {
  int64_t done = 0;
  for (Cursor from(source.plan, source.mem, source.count); from.valid();
       from.advance(from.left())) {
    move_part<false>(target.plan, target.mem, target.count, done, done + from.left(), from.at(),
                     total);
    done += from.left();
  }
  return done;
}

void staged(const Side& source, const Side& target, int64_t begin, int64_t total, std::byte* stage,
            int64_t stage_bytes) {
  while (begin < total) {
    const int64_t end = std::min(total, begin + stage_bytes);
    // Cached stores on both sides: the slices are small, and so are their runs.
    move_part<true>(source.plan, source.mem, source.count, begin, end, stage, end - begin);
    move_part<false>(target.plan, target.mem, target.count, begin, end, stage, end - begin);
    begin = end;
  }
}

[[gnu::noinline]] void staged_small(const Side& source, const Side& target, int64_t begin,
                                    int64_t total) {
  alignas(64) std::byte stage[kSmallStageBytes];
  staged(source, target, begin, total, stage, kSmallStageBytes);
}

[[gnu::noinline]] void staged(const Side& source, const Side& target, int64_t begin,
                              int64_t total) {
  if (total - begin > kSmallStageBytes) {
    const Scratch scratch;
    if (scratch.data() != nullptr)
      return staged(source, target, begin, total, scratch.data(), kStageBytes);
  }
  staged_small(source, target, begin, total);
}

[[gnu::noinline]] bool by_common_loops(const Side& source, const Side& target, int64_t total) {
  CommonLoops common;
  if (!join(source, target, &common)) return false;
  common.run(source.plan, source.origin(), target.origin(), total);
  return true;
}

}  // namespace

std::string_view copy_way_name(CopyWay way) {
  static constexpr std::string_view kNames[] = {"nothing", "pack",   "unpack", "joint", "alike",
                                                "cursors", "target", "source", "staged"};
  return kNames[static_cast<size_t>(way)];
}

CopyWay copy_way(const Plan& source, int64_t source_count, const Plan& target,
                 int64_t target_count) noexcept {
  const Side from{source, nullptr, source_count};
  const Side to{target, nullptr, target_count};
  CommonLoops common;
  return choose(from, to, [&] { return join(from, to, &common); });
}

void copy(const Plan& source_plan, const void* source_mem, int64_t source_count,
          const Plan& target_plan, void* target_mem, int64_t target_count) noexcept {
  const Side source{source_plan, address(source_mem, 0), source_count};
  const Side target{target_plan, address(target_mem, 0), target_count};
  const int64_t total = source_count * source_plan.size();
  int64_t done = total;
  // Common loops move as soon as they are found.
  switch (choose(source, target, [&] { return by_common_loops(source, target, total); })) {
    case CopyWay::kNothing:
    case CopyWay::kJoint:
      break;
    case CopyWay::kPack:
      pack(source.plan, source.mem, source.count, target.origin());
      break;
    case CopyWay::kUnpack:
      unpack(target.plan, source.origin(), target.count, target.mem);
      break;
    case CopyWay::kAlike:
      Twin(source.plan, total)
          .iterations(source.root(), source.iterations(), source.origin(), target.origin());
      break;
    case CopyWay::kCursors:
      done = by_cursors(source, target);
      break;
    case CopyWay::kTarget:
      done = by_target(source, target, total);
      break;
    case CopyWay::kSource:
      done = by_source(source, target, total);
      break;
    case CopyWay::kStaged:
      done = 0;
      break;
  }
  if (done < total) staged(source, target, done, total);
}

}  // namespace lacuna
