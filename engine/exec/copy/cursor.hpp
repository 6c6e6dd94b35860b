// SPDX-License-Identifier: BSD-3-Clause
//
// Cursor: iterates over the runs of a message in packed order, without the heap. For long runs;
// kernels move short ones.
#ifndef LACUNA_ENGINE_EXEC_COPY_CURSOR_HPP_
#define LACUNA_ENGINE_EXEC_COPY_CURSOR_HPP_

#include <cstddef>
#include <cstdint>

#include "exec/executor.hpp"
#include "plan/plan.hpp"

namespace lacuna {

class Cursor {
 public:
  // At the first run of `count` >= 1 elements of a type that is not empty.
  Cursor(const Plan& plan, std::byte* mem, int64_t count) {
    const PlanNode& root = plan.root(count);
    mem = address(mem, plan.offset());
    if (count == 1) {
      descend(root, mem);
    } else if (push(root, mem, count * root.loop.count)) {
      descend(*root.children[0], mem);
    }
  }

  // False at the end, and where the type is nested deeper than the cursor can follow.
  bool valid() const { return left_ > 0; }
  // The rest of the current run.
  std::byte* at() const { return at_; }
  int64_t left() const { return left_; }

  // Advances by 0 < bytes <= left().
  void advance(int64_t bytes) {
    at_ += bytes;
    left_ -= bytes;
    if (left_ == 0) next();
  }

 private:
  // Types in normal form are seldom nested deeper than three or four.
  static constexpr int kDepth = 16;

  struct Level {
    const PlanNode* node;
    std::byte* mem;
    int64_t index;
    int64_t count;
  };

  bool push(const PlanNode& node, std::byte* mem, int64_t count) {
    if (depth_ == kDepth) return false;
    levels_[depth_++] = {&node, mem, 0, count};
    return true;
  }

  static int64_t parts(const PlanNode& node) {
    return node.kind == LayoutNode::Kind::kLoop
               ? node.loop.count
               : static_cast<int64_t>(node.layout->mem_offsets.size());
  }

  // Goes to the first run of the node.
  void descend(const PlanNode& node, std::byte* mem) {
    const PlanNode* down = &node;
    while (down->kind != LayoutNode::Kind::kRun) {
      if (!push(*down, mem, parts(*down))) return;  // left_ is 0
      if (down->kind == LayoutNode::Kind::kRuns) return listed_run(levels_[depth_ - 1]);
      down = down->children[0].get();  // the first part's offset is 0
    }
    at_ = mem;
    left_ = down->size;
  }

  void listed_run(const Level& level) {
    const LayoutNode& list = *level.node->layout;
    const size_t i = static_cast<size_t>(level.index);
    at_ = address(level.mem, list.mem_offsets[i]);
    left_ = list.packed_offsets[i + 1] - list.packed_offsets[i];
  }

  void next() {
    while (depth_ > 0) {
      Level& level = levels_[depth_ - 1];
      if (++level.index == level.count) {
        --depth_;
        continue;
      }
      const PlanNode& node = *level.node;
      const size_t i = static_cast<size_t>(level.index);
      switch (node.kind) {
        case LayoutNode::Kind::kRun:
          break;
        case LayoutNode::Kind::kLoop:
          level.mem = address(level.mem, node.loop.mem_stride);
          return descend(*node.children[0], level.mem);
        case LayoutNode::Kind::kBlocks:
          return descend(*node.children[0], address(level.mem, node.layout->mem_offsets[i]));
        case LayoutNode::Kind::kRuns:
          return listed_run(level);
        case LayoutNode::Kind::kSeq:
          return descend(*node.children[i], address(level.mem, node.layout->mem_offsets[i]));
      }
    }
  }

  std::byte* at_ = nullptr;
  int64_t left_ = 0;
  int depth_ = 0;
  Level levels_[kDepth];
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_COPY_CURSOR_HPP_
