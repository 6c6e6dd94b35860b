// SPDX-License-Identifier: BSD-3-Clause
//
// Splits a message into slices of its packed stream for threads: a few for each thread, so that a
// late helper costs little.
#include <algorithm>
#include <cstdlib>

#include "exec/part.hpp"
#include "exec/threads.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

constexpr int64_t kPartsForEach = 4;

int64_t granule_of(const PlanNode& root, int64_t part_bytes, int64_t line_bytes) {
  for (const PlanNode* node = &root; node->kind == Kind::kLoop || node->kind == Kind::kBlocks;
       node = node->children[0].get()) {
    int64_t step = node->children[0]->size;
    const int64_t stride = std::abs(node->loop.mem_stride);
    if (node->kind == Kind::kLoop && stride > 0 && stride < line_bytes)
      step *= (line_bytes + stride - 1) / stride;
    if (step <= part_bytes) return step;
  }
  return line_bytes;
}

template <bool kPack>
struct Split {
  const Plan& plan;
  std::byte* mem;
  int64_t count;
  int64_t begin;
  int64_t end;
  std::byte* packed;
  int64_t part_bytes;

  // The stream is cut at multiples of part_bytes; [begin, end) may begin and end inside parts.
  int64_t first() const { return begin / part_bytes; }
  int64_t parts() const { return (end + part_bytes - 1) / part_bytes - first(); }

  static void move(void* context, int64_t part) {
    const Split& split = *static_cast<const Split*>(context);
    const int64_t at = (split.first() + part) * split.part_bytes;
    const int64_t from = std::max(split.begin, at);
    const int64_t to = std::min(split.end, at + split.part_bytes);
    move_part<kPack>(split.plan, split.mem, split.count, from, to,
                     split.packed + (from - split.begin), split.end - split.begin);
  }
};

}  // namespace

int64_t slice_granule(const Plan& plan, int64_t count, int64_t part_bytes) noexcept {
  return granule_of(plan.root(count), part_bytes, plan.machine().line_bytes);
}

template <bool kPack>
bool move_in_parts(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
                   std::byte* packed) noexcept {
  if (plan.is_empty()) return false;
  const int64_t bytes = end - begin;
  const int64_t threads = std::min(thread_limit(), bytes / plan.machine().parallel_bytes);
  if (threads < 2) return false;
  const int64_t line_bytes = plan.machine().line_bytes;
  int64_t part_bytes = std::max(line_bytes, bytes / (threads * kPartsForEach));
  const int64_t granule = slice_granule(plan, count, part_bytes);
  part_bytes = (part_bytes + granule - 1) / granule * granule;
  Split<kPack> split{plan, mem, count, begin, end, packed, part_bytes};
  return run_with_help(threads - 1, split.parts(), &Split<kPack>::move, &split);
}

template bool move_in_parts<true>(const Plan&, std::byte*, int64_t, int64_t, int64_t,
                                  std::byte*) noexcept;
template bool move_in_parts<false>(const Plan&, std::byte*, int64_t, int64_t, int64_t,
                                   std::byte*) noexcept;

}  // namespace lacuna
