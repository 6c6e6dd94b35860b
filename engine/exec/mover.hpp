// SPDX-License-Identifier: BSD-3-Clause
//
// Mover: walks a plan for one message. Packing and unpacking are the same walk; they differ only in
// which side is the source, and that is decided where a loop becomes a kernel's dimensions. Whole
// iterations go to kernels; slice.cpp cuts partial ones.
#ifndef LACUNA_ENGINE_EXEC_MOVER_HPP_
#define LACUNA_ENGINE_EXEC_MOVER_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/address.hpp"
#include "plan/plan.hpp"

namespace lacuna {

template <bool kPack>
class Mover {
 public:
  // `total_bytes`, of the message, decides whether user memory is taken to be in a cache.
  // `output_bytes` decides whether what is written now will stay in one, and whether its pages are
  // in the TLB. `goes_on`: what follows in the packed stream is moved next.
  Mover(const Machine& machine, int64_t total_bytes, int64_t output_bytes, bool goes_on = false)
      : total_bytes_(total_bytes),
        output_bytes_(output_bytes),
        miss_runs_(machine.miss_runs),
        dram_miss_runs_(machine.dram_miss_runs),
        is_far_(total_bytes >= machine.stream_transpose_bytes),
        goes_on_(goes_on),
        stream_transpose_(output_bytes >= machine.stream_transpose_bytes),
        stream_runs_(output_bytes >= machine.stream_run_bytes) {}
  Mover(const Machine& machine, int64_t total_bytes) : Mover(machine, total_bytes, total_bytes) {}

  // `count` elements that are not one run; `mem` is the address of the plan's begin (origin +
  // offset).
  void message(const Plan& plan, std::byte* mem, int64_t count, std::byte* packed) const {
    const PlanNode& root = plan.root(count);
    const int64_t its = plan.iterations(count);
    if (root.sweep.how != Sweep::How::kEach) {
      run(root.sweep, its, mem, packed);
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
        run(node.sweep, 1, mem, packed);
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
    if (node.sweep.how != Sweep::How::kEach) return run(node.sweep, last - first, mem, packed);
    for (int64_t i = first; i < last; ++i) {
      piece(node, 0, mem, packed);
      mem = address(mem, node.loop.mem_stride);
      packed += node.loop.packed_stride;
    }
  }

  // Whether iterations of the loop can be packed at any distance from each other.
  static bool moves_apart(const PlanNode& node) {
    const Sweep& sweep = node.sweep;
    return (sweep.how == Sweep::How::kTranspose || sweep.how == Sweep::How::kStrided) &&
           sweep.own == Sweep::Own::kOuter && sweep.around.empty();
  }

  // As iterations, but with the iterations `pitch` bytes apart in `packed`: the loop's packed
  // stride, or any distance if moves_apart.
  void iterations_apart(const PlanNode& node, int64_t first, int64_t last, std::byte* mem,
                        std::byte* packed, int64_t pitch) const {
    if (pitch == node.loop.packed_stride) return iterations(node, first, last, mem, packed);
    kernel_call(node.sweep, last - first, address(mem, first * node.loop.mem_stride), packed,
                pitch);
  }

  // Whether such iterations can be packed some rows at a time.
  static bool moves_rows(const PlanNode& node) {
    return kPack && moves_apart(node) && node.sweep.how == Sweep::How::kTranspose;
  }

  // As iterations_apart, but only rows [begin, end) of each iteration.
  void rows_apart(const PlanNode& node, int64_t first, int64_t last, int64_t begin, int64_t end,
                  std::byte* mem, std::byte* packed, int64_t pitch) const {
    const Sweep& sweep = node.sweep;
    kernel_call(sweep, last - first,
                address(mem, first * node.loop.mem_stride + begin * sweep.inner.mem_stride),
                packed + begin * sweep.width, pitch, end - begin);
  }

  // Entries [first, last) of a list; origins as for iterations.
  void entries(const PlanNode& node, int64_t first, int64_t last, std::byte* mem,
               std::byte* packed) const {
    const LayoutNode& list = *node.layout;
    if (node.sweep.how == Sweep::How::kListed) {
      const Sweep& sweep = node.sweep;
      const bool uneven = !list.packed_offsets.empty();
      if (sweep.places != nullptr) {
        // A run's packed offset gives the number of units before it.
        if (uneven) {
          first = list.packed_offsets[static_cast<size_t>(first)] / sweep.width;
          last = list.packed_offsets[static_cast<size_t>(last)] / sweep.width;
        }
        return units(node, first, last, mem, packed);
      }
      // `packed` is where entry `first` goes; listed packed offsets count from entry 0.
      if (uneven) packed -= list.packed_offsets[static_cast<size_t>(first)];
      Move m = prepared(sweep);
      place(m, mem, packed);
      m.inner.count = last - first;
      if (goes_on_) m.following = static_cast<int64_t>(list.mem_offsets.size()) - last;
      m.offsets += first;
      if (uneven) m.packed_offsets += first;
      kernel(sweep)(m);
      return;
    }
    if (const FewMoves* const few = node.pieces[0].get()) {
      few->run_listed<kPack>(mem, list.mem_offsets.data() + first, last - first, packed);
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      whole(*node.children[0], address(mem, list.mem_offsets[static_cast<size_t>(i)]), packed);
      packed += node.children[0]->size;
    }
  }

  // Whether the list's runs were cut into units of sweep.width bytes, each at one of sweep.places.
  static bool has_units(const PlanNode& node) {
    return node.sweep.how == Sweep::How::kListed && node.sweep.places != nullptr;
  }

  // Units [first, last) of such a list.
  void units(const PlanNode& node, int64_t first, int64_t last, std::byte* mem,
             std::byte* packed) const {
    Move m = prepared(node.sweep);
    place(m, mem, packed);
    m.inner.count = last - first;
    if (goes_on_) m.following = static_cast<int64_t>(node.sweep.places->size()) - last;
    m.places += first;
    kernel(node.sweep)(m);
  }

  // The sweep with `count` iterations of its own loop.
  void run(const Sweep& sweep, int64_t count, std::byte* mem, std::byte* packed) const {
    if (sweep.around.empty()) return kernel_call(sweep, count, mem, packed);
    // Made once for all calls: making it takes as long as a call for a few short rows.
    Move m = ready(sweep, count, 0, 0);
    around(sweep, 0, count, mem, packed, m);
  }

 private:
  // One traversal of a child of a node whose children are moved one by one.
  void piece(const PlanNode& node, size_t child, std::byte* mem, std::byte* packed) const {
    if (const FewMoves* const few = node.pieces[child].get()) {
      few->run<kPack>(mem, 1, packed);
    } else {
      whole(*node.children[child], mem, packed);
    }
  }

  static void place(Move& m, std::byte* mem, std::byte* packed) {
    m.src = kPack ? mem : packed;
    m.dst = kPack ? packed : mem;
  }

  Move prepared(const Sweep& sweep) const {
    Move m = kPack ? sweep.pack_move : sweep.unpack_move;
    if ((kPack ? sweep.pack_ahead : sweep.unpack_ahead).hold(total_bytes_, output_bytes_))
      m.ahead = total_bytes_ < sweep.far_bytes ? miss_runs_ : dram_miss_runs_;
    if (!kPack && total_bytes_ >= sweep.masks_below) m.masks = false;
    return m;
  }

  static KernelFn kernel(const Sweep& sweep) { return kPack ? sweep.pack.fn : sweep.unpack.fn; }

  void around(const Sweep& sweep, size_t level, int64_t count, std::byte* mem, std::byte* packed,
              Move& m) const {
    if (level == sweep.around.size()) {
      place(m, mem, packed);
      return call(sweep, m);
    }
    const Loop& loop = sweep.around[level];
    const bool own = sweep.own == Sweep::Own::kAround && level == 0;
    const int64_t n = own ? count : loop.count;
    if (level + 1 == sweep.around.size() && sweep.goes_around()) {
      m.around = kPack ? Dim{n, loop.mem_stride, loop.packed_stride}
                       : Dim{n, loop.packed_stride, loop.mem_stride};
      return around(sweep, level + 1, count, mem, packed, m);
    }
    for (int64_t i = 0; i < n; ++i) {
      around(sweep, level + 1, count, mem, packed, m);
      mem = address(mem, loop.mem_stride);
      packed += loop.packed_stride;
    }
  }

  // `pitch`, if not 0, replaces the packed stride of the own loop, which is then the outer one.
  // `rows`, if not 0, replaces the count of the inner loop (packing).
  void kernel_call(const Sweep& sweep, int64_t count, std::byte* mem, std::byte* packed,
                   int64_t pitch = 0, int64_t rows = 0) const {
    Move m = ready(sweep, count, pitch, rows);
    place(m, mem, packed);
    call(sweep, m);
  }

  // The move, without the addresses.
  Move ready(const Sweep& sweep, int64_t count, int64_t pitch, int64_t rows) const {
    Move m = prepared(sweep);
    // A part of a large message is written as the whole would be.
    if (m.repeats > 1 && total_bytes_ / sweep.width >= sweep.repeats_below) m.repeats = 1;
    if (m.piece_off_lines > 0 && total_bytes_ > sweep.most_in_pieces) m.piece_off_lines = 0;
    const bool transposes = sweep.how == Sweep::How::kTranspose;
    const bool swapped = transposes && !kPack;
    if (sweep.own == Sweep::Own::kOuter) {
      Dim& own = swapped ? m.inner : m.outer;
      own.count = count;
      if (pitch != 0) (kPack ? own.dst_stride : own.src_stride) = pitch;
    }
    if (rows != 0) m.inner.count = rows;
    if (sweep.own == Sweep::Own::kInner) (swapped ? m.outer : m.inner).count = count;
    m.stream = transposes ? stream_transpose_ : stream_runs_;
    m.far = is_far_;
    m.four_lines = total_bytes_ <= sweep.four_lines_bytes;
    m.diagonals = total_bytes_ <= sweep.diagonals_bytes;
    return m;
  }

  // Calls the kernel, in blocks of the inner dimension if the plan has those.
  static void call(const Sweep& sweep, const Move& m) {
    if (sweep.block_inner == 0 || m.outer.count == 1) {
      kernel(sweep)(m);
      return;
    }
    const Dim all = m.inner;
    for (int64_t j = 0; j < all.count; j += sweep.block_inner) {
      Move block = m;
      block.src += j * all.src_stride;
      block.dst += j * all.dst_stride;
      block.inner.count = std::min(sweep.block_inner, all.count - j);
      kernel(sweep)(block);
    }
  }

  int64_t total_bytes_;
  int64_t output_bytes_;
  int64_t miss_runs_;
  int64_t dram_miss_runs_;
  bool is_far_;
  bool goes_on_;
  bool stream_transpose_;
  bool stream_runs_;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_MOVER_HPP_
