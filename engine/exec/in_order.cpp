// SPDX-License-Identifier: BSD-3-Clause
#include "exec/in_order.hpp"

#include <algorithm>
#include <cstring>

#include "base/address.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

void move(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
          const std::byte* packed);

// The same for a loop, with any count, or a list of equal blocks.
void move_equal(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
                const std::byte* packed) {
  const PlanNode& child = *node.children[0];
  for (int64_t i = begin / child.size; i * child.size < end; ++i) {
    const int64_t at = node.kind == Kind::kLoop ? i * node.loop.mem_stride
                                                : node.layout->mem_offsets[static_cast<size_t>(i)];
    const int64_t from = std::max(begin - i * child.size, int64_t{0});
    const int64_t to = std::min(end - i * child.size, child.size);
    move(child, address(mem, at), from, to, packed);
    packed += to - from;
  }
}

void move_unequal(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
                  const std::byte* packed) {
  const std::vector<int64_t>& starts = node.layout->packed_offsets;
  const auto after = std::upper_bound(starts.begin(), starts.end(), begin);
  for (auto i = static_cast<size_t>(after - starts.begin()) - 1; begin < end; ++i) {
    const int64_t stop = std::min(end, starts[i + 1]);
    std::byte* const at = address(mem, node.layout->mem_offsets[i]);
    if (node.kind == Kind::kSeq) {
      move(*node.children[i], at, begin - starts[i], stop - starts[i], packed);
    } else {
      std::memcpy(at + (begin - starts[i]), packed, static_cast<size_t>(stop - begin));
    }
    packed += stop - begin;
    begin = stop;
  }
}

// Bytes [begin, end) of one traversal of the node.
void move(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
          const std::byte* packed) {
  switch (node.kind) {
    case Kind::kRun:
      std::memcpy(mem + begin, packed, static_cast<size_t>(end - begin));
      return;
    case Kind::kLoop:
    case Kind::kBlocks:
      return move_equal(node, mem, begin, end, packed);
    case Kind::kRuns:
    case Kind::kSeq:
      return move_unequal(node, mem, begin, end, packed);
  }
}

}  // namespace

void unpack_in_order(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
                     const std::byte* packed) noexcept {
  mem = address(mem, plan.offset());
  if (count == 1) {
    move(plan.root(count), mem, begin, end, packed);
  } else {
    move_equal(plan.root(count), mem, begin, end, packed);
  }
}

}  // namespace lacuna
