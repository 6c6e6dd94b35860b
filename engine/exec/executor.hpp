// SPDX-License-Identifier: BSD-3-Clause
//
// Executor: walks a plan for one message. Packing and unpacking are the same walk; they differ only
// in which side is the source, and that is decided where a loop becomes a kernel's dimensions.
// Whole iterations go to kernels; slice.cpp cuts partial ones.
#ifndef LACUNA_ENGINE_EXEC_EXECUTOR_HPP_
#define LACUNA_ENGINE_EXEC_EXECUTOR_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/address.hpp"
#include "plan/plan.hpp"

namespace lacuna {

template <bool kPack>
class Executor {
 public:
  // `total_bytes`, of the message, decides whether user memory is taken to be in a cache.
  // `output_bytes` decides whether what is written now will stay in one, and whether its pages are
  // in the TLB. `goes_on`: what follows in the packed stream is moved next.
  Executor(int64_t total_bytes, int64_t output_bytes, bool goes_on = false)
      : total_bytes_(total_bytes), output_bytes_(output_bytes), goes_on_(goes_on) {}
  explicit Executor(int64_t total_bytes) : Executor(total_bytes, total_bytes) {}

  // `count` elements that are not one run; `mem` is the address of the plan's begin (origin +
  // offset).
  void message(const Plan& plan, std::byte* mem, int64_t count, std::byte* packed) const {
    const PlanNode& root = plan.root(count);
    const int64_t its = plan.iterations(count);
    if (root.step.shape != Step::Shape::kParts) {
      run(root.step, its, mem, packed);
    } else if (count == 1) {
      whole(root, mem, packed);
    } else {
      iterations(root, 0, its, mem, packed);
    }
  }

  // One traversal of the node; `mem` and `packed` are its origins.
  void whole(const PlanNode& node, std::byte* mem, std::byte* packed) const {
    switch (node.kind) {
      case LayoutNode::Kind::kRun:
        run(node.step, 1, mem, packed);
        return;
      case LayoutNode::Kind::kLoop:
        iterations(node, 0, node.loop.count, mem, packed);
        return;
      case LayoutNode::Kind::kBlocks:
      case LayoutNode::Kind::kRuns:
        entries(node, 0, static_cast<int64_t>(node.layout->mem_offsets.size()), mem, packed);
        return;
      case LayoutNode::Kind::kSeq:
        for (size_t i = 0; i < node.children.size(); ++i) {
          piece(node, i, address(mem, node.layout->mem_offsets[i]),
                packed + node.layout->packed_offsets[i]);
        }
        return;
    }
  }

  // Iterations [first, last) of a loop; `mem` is the loop's origin, `packed` where the first of
  // them goes.
  void iterations(const PlanNode& node, int64_t first, int64_t last, std::byte* mem,
                  std::byte* packed) const {
    mem = address(mem, first * node.loop.mem_stride);
    if (node.step.shape != Step::Shape::kParts) return run(node.step, last - first, mem, packed);
    for (int64_t i = first; i < last; ++i) {
      piece(node, 0, mem, packed);
      mem = address(mem, node.loop.mem_stride);
      packed += node.loop.packed_stride;
    }
  }

  // Whether iterations of the loop can be packed at any distance from each other.
  static bool moves_apart(const PlanNode& node) {
    const Step& step = node.step;
    return (step.shape == Step::Shape::kTranspose || step.shape == Step::Shape::kStrided) &&
           step.open_loop == Step::OpenLoop::kOuter && step.around.empty();
  }

  // As iterations, but with the iterations `pitch` bytes apart in `packed`: the loop's packed
  // stride, or any distance if moves_apart.
  void iterations_apart(const PlanNode& node, int64_t first, int64_t last, std::byte* mem,
                        std::byte* packed, int64_t pitch) const {
    if (pitch == node.loop.packed_stride) return iterations(node, first, last, mem, packed);
    kernel_call(node.step, last - first, address(mem, first * node.loop.mem_stride), packed, pitch);
  }

  // Whether such iterations can be packed some rows at a time.
  static bool moves_rows(const PlanNode& node) {
    return kPack && moves_apart(node) && node.step.shape == Step::Shape::kTranspose;
  }

  // As iterations_apart, but only rows [begin, end) of each iteration.
  void rows_apart(const PlanNode& node, int64_t first, int64_t last, int64_t begin, int64_t end,
                  std::byte* mem, std::byte* packed, int64_t pitch) const {
    const Step& step = node.step;
    kernel_call(step, last - first,
                address(mem, first * node.loop.mem_stride + begin * step.inner.mem_stride),
                packed + begin * step.width, pitch, end - begin);
  }

  // Entries [first, last) of a list; origins as for iterations.
  void entries(const PlanNode& node, int64_t first, int64_t last, std::byte* mem,
               std::byte* packed) const {
    const LayoutNode& list = *node.layout;
    if (node.step.shape == Step::Shape::kList) {
      const Step& step = node.step;
      const bool uneven = !list.packed_offsets.empty();
      if (step.places != nullptr) {
        // A run's packed offset gives the number of units before it.
        if (uneven) {
          first = list.packed_offsets[static_cast<size_t>(first)] / step.width;
          last = list.packed_offsets[static_cast<size_t>(last)] / step.width;
        }
        return units(node, first, last, mem, packed);
      }
      // `packed` is where entry `first` goes; listed packed offsets count from entry 0.
      if (uneven) packed -= list.packed_offsets[static_cast<size_t>(first)];
      KernelCall m = kPack ? step.pack_call : step.unpack_call;
      place(m, mem, packed);
      m.inner.count = last - first;
      if (goes_on_) m.list.following = static_cast<int64_t>(list.mem_offsets.size()) - last;
      m.list.offsets += first;
      if (uneven) m.list.packed_offsets += first;
      set_hints(step, m)(m);
      return;
    }
    if (const SmallMoves* const small = node.pieces[0].get()) {
      small->run_listed<kPack>(mem, list.mem_offsets.data() + first, last - first, packed);
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      whole(*node.children[0], address(mem, list.mem_offsets[static_cast<size_t>(i)]), packed);
      packed += node.children[0]->size;
    }
  }

  // Whether the list's runs were cut into units of step.width bytes, each at one of step.places.
  static bool has_units(const PlanNode& node) {
    return node.step.shape == Step::Shape::kList && node.step.places != nullptr;
  }

  // Units [first, last) of such a list.
  void units(const PlanNode& node, int64_t first, int64_t last, std::byte* mem,
             std::byte* packed) const {
    KernelCall m = kPack ? node.step.pack_call : node.step.unpack_call;
    place(m, mem, packed);
    m.inner.count = last - first;
    if (goes_on_) m.list.following = static_cast<int64_t>(node.step.places->size()) - last;
    m.list.places += first;
    set_hints(node.step, m)(m);
  }

  // The step with `count` iterations of its own loop.
  void run(const Step& step, int64_t count, std::byte* mem, std::byte* packed) const {
    if (step.around.empty()) return kernel_call(step, count, mem, packed);
    // Made once for all calls: making it takes as long as a call for a few short rows.
    KernelCall m = call_for(step, count, 0, 0);
    around(step, set_hints(step, m), 0, count, mem, packed, m);
  }

 private:
  // One traversal of a child of a node whose children are moved one by one.
  void piece(const PlanNode& node, size_t child, std::byte* mem, std::byte* packed) const {
    if (const SmallMoves* const small = node.pieces[child].get()) {
      small->run<kPack>(mem, 1, packed);
    } else {
      whole(*node.children[child], mem, packed);
    }
  }

  static void place(KernelCall& m, std::byte* mem, std::byte* packed) {
    m.src = kPack ? mem : packed;
    m.dst = kPack ? packed : mem;
  }

  // Sets the hints that the plan has for such a message, and returns its kernel.
  KernelFn set_hints(const Step& step, KernelCall& m) const {
    const Regime& regime =
        step.regime(kPack ? Direction::kPack : Direction::kUnpack, total_bytes_, output_bytes_);
    static_cast<Hints&>(m) = regime.hints;
    return regime.kernel.fn;
  }

  void around(const Step& step, KernelFn kernel, size_t level, int64_t count, std::byte* mem,
              std::byte* packed, KernelCall& m) const {
    if (level == step.around.size()) {
      place(m, mem, packed);
      return call(step, kernel, m);
    }
    const Loop& loop = step.around[level];
    const bool own = step.open_loop == Step::OpenLoop::kAround && level == 0;
    const int64_t n = own ? count : loop.count;
    if (level + 1 == step.around.size() && step.goes_around()) {
      m.around = kPack ? Dim{n, loop.mem_stride, loop.packed_stride}
                       : Dim{n, loop.packed_stride, loop.mem_stride};
      return around(step, kernel, level + 1, count, mem, packed, m);
    }
    for (int64_t i = 0; i < n; ++i) {
      around(step, kernel, level + 1, count, mem, packed, m);
      mem = address(mem, loop.mem_stride);
      packed += loop.packed_stride;
    }
  }

  // `pitch`, if not 0, replaces the packed stride of the own loop, which is then the outer one.
  // `rows`, if not 0, replaces the count of the inner loop (packing).
  void kernel_call(const Step& step, int64_t count, std::byte* mem, std::byte* packed,
                   int64_t pitch = 0, int64_t rows = 0) const {
    KernelCall m = call_for(step, count, pitch, rows);
    place(m, mem, packed);
    call(step, set_hints(step, m), m);
  }

  // Without the addresses and the hints.
  KernelCall call_for(const Step& step, int64_t count, int64_t pitch, int64_t rows) const {
    KernelCall m = kPack ? step.pack_call : step.unpack_call;
    const bool swapped = step.shape == Step::Shape::kTranspose && !kPack;
    if (step.open_loop == Step::OpenLoop::kOuter) {
      Dim& own = swapped ? m.inner : m.outer;
      own.count = count;
      if (pitch != 0) (kPack ? own.dst_stride : own.src_stride) = pitch;
    }
    if (rows != 0) m.inner.count = rows;
    if (step.open_loop == Step::OpenLoop::kInner) (swapped ? m.outer : m.inner).count = count;
    return m;
  }

  // Calls the kernel, in blocks of the inner dimension if the plan has those.
  static void call(const Step& step, KernelFn kernel, const KernelCall& m) {
    if (step.block_inner == 0 || m.outer.count == 1) return kernel(m);
    const Dim all = m.inner;
    for (int64_t j = 0; j < all.count; j += step.block_inner) {
      KernelCall block = m;
      block.src += j * all.src_stride;
      block.dst += j * all.dst_stride;
      block.inner.count = std::min(step.block_inner, all.count - j);
      kernel(block);
    }
  }

  int64_t total_bytes_;
  int64_t output_bytes_;
  bool goes_on_;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_EXECUTOR_HPP_
