// SPDX-License-Identifier: BSD-3-Clause
//
// Slices of the packed stream: finds byte `begin` by divisions in loops and binary searches in
// lists, cuts the iterations at both ends, and gives the whole ones to the Executor. After the
// resumable dataloops of Gropp, Lusk & Swider 1999, section 4, but without a state: every slice is
// independent.
#include <algorithm>
#include <cstring>

#include "exec/exec.hpp"
#include "exec/executor.hpp"
#include "exec/in_order.hpp"
#include "exec/part.hpp"
#include "exec/threads.hpp"

namespace lacuna {
namespace {

template <bool kPack>
class Slicer {
 public:
  explicit Slicer(const Executor<kPack>& mover) : executor_(mover) {}

  // Bytes [begin, end) of one traversal of the node; `mem` is its origin, `packed` where byte
  // `begin` is.
  void slice(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
             std::byte* packed) const {
    if (begin == end) return;
    if (begin == 0 && end == node.size) return executor_.whole(node, mem, packed);
    switch (node.kind) {
      case LayoutNode::Kind::kRun:
        copy(mem + begin, end - begin, packed);
        return;
      case LayoutNode::Kind::kLoop:
        of_loop(node, mem, begin, end, packed);
        return;
      case LayoutNode::Kind::kBlocks:
        of_equal_parts(
            node.children[0]->size, begin, end, packed,
            [&](int64_t i, int64_t b, int64_t e, std::byte* p) {
              cut(*node.children[0], address(mem, node.layout->mem_offsets[static_cast<size_t>(i)]),
                  b, e, p);
            },
            [&](int64_t first, int64_t last, std::byte* p) {
              executor_.entries(node, first, last, mem, p);
            });
        return;
      case LayoutNode::Kind::kRuns:
        of_runs(node, mem, begin, end, packed);
        return;
      case LayoutNode::Kind::kSeq:
        of_sequence(node, mem, begin, end, packed);
        return;
    }
  }

  // Bytes [begin, end) of a child.
  void cut(const PlanNode& part, std::byte* mem, int64_t begin, int64_t end,
           std::byte* packed) const {
    if (part.kind == LayoutNode::Kind::kRun) return copy(mem + begin, end - begin, packed);
    slice(part, mem, begin, end, packed);
  }

  // As `slice`, for a loop with the caller's count (repeated elements).
  void of_loop(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
               std::byte* packed) const {
    of_equal_parts(
        node.children[0]->size, begin, end, packed,
        [&](int64_t i, int64_t b, int64_t e, std::byte* p) {
          cut(*node.children[0], address(mem, i * node.loop.mem_stride), b, e, p);
        },
        [&](int64_t first, int64_t last, std::byte* p) {
          executor_.iterations(node, first, last, mem, p);
        });
  }

 private:
  static void copy(std::byte* mem, int64_t bytes, std::byte* packed) {
    std::memcpy(kPack ? packed : mem, kPack ? mem : packed, static_cast<size_t>(bytes));
  }

  // Equal parts of `size` bytes: calls cut(i, b, e, packed) for bytes [b, e) of a part, and
  // whole(first, last, packed) for whole parts.
  template <typename Cut, typename Whole>
  static void of_equal_parts(int64_t size, int64_t begin, int64_t end, std::byte* packed, Cut cut,
                             Whole whole) {
    int64_t first = begin / size;
    const int64_t head = begin - first * size;
    const int64_t reach = head + (end - begin);
    if (reach <= size) return cut(first, head, reach, packed);  // one part: one division
    const int64_t last = first + reach / size;
    const int64_t tail = reach % size;
    if (head != 0) {
      cut(first, head, size, packed);
      packed += size - head;
      ++first;
    }
    if (first < last) {
      whole(first, last, packed);
      packed += (last - first) * size;
    }
    if (tail != 0) cut(last, 0, tail, packed);
  }

  // The part that holds byte `at`: doubling steps from a guess, then a binary search. O(log parts),
  // and in few cache lines if parts are of similar lengths; a binary search of the whole list would
  // miss at each of some twenty steps.
  static size_t part_near(const std::vector<int64_t>& packed_offsets, double guess, int64_t at) {
    const size_t parts = packed_offsets.size() - 1;
    size_t low = std::min(parts - 1, static_cast<size_t>(guess));
    size_t high = low + 1;
    size_t step = 1;
    while (packed_offsets[low] > at) {  // ends at the first, which is 0
      high = low;
      low -= std::min(step, low);
      step *= 2;
    }
    while (packed_offsets[high] <= at) {  // ends at the last, which is the size
      low = high;
      high += std::min(step, parts - high);
      step *= 2;
    }
    const auto begin = packed_offsets.begin();
    const auto after = std::upper_bound(begin + static_cast<ptrdiff_t>(low) + 1,
                                        begin + static_cast<ptrdiff_t>(high), at);
    return static_cast<size_t>(after - begin) - 1;
  }

  // The average number of parts for each byte.
  static double density(const std::vector<int64_t>& packed_offsets) {
    return static_cast<double>(packed_offsets.size() - 1) /
           static_cast<double>(packed_offsets.back());
  }

  static size_t part_at(const std::vector<int64_t>& packed_offsets, int64_t at) {
    return part_near(packed_offsets, static_cast<double>(at) * density(packed_offsets), at);
  }

  // Runs that were cut into units of one length: a division finds those of the slice. A search in
  // the runs' packed offsets would miss the cache at each step (slices of 8 KiB take up to 1.5
  // times as long; docs/experiments/2026-11-26-kernel-choices.md).
  void of_units(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
                std::byte* packed) const {
    of_equal_parts(
        node.step.width, begin, end, packed,
        [&](int64_t i, int64_t b, int64_t e, std::byte* p) {
          copy(address(mem, (*node.step.places)[static_cast<size_t>(i)] + b), e - b, p);
        },
        [&](int64_t first, int64_t last, std::byte* p) {
          executor_.units(node, first, last, mem, p);
        });
  }

  void of_runs(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
               std::byte* packed) const {
    if (Executor<kPack>::has_units(node)) return of_units(node, mem, begin, end, packed);
    const LayoutNode& list = *node.layout;
    size_t i = part_at(list.packed_offsets, begin);
    if (begin > list.packed_offsets[i]) {
      const int64_t stop = std::min(end, list.packed_offsets[i + 1]);
      copy(address(mem, list.mem_offsets[i] + begin - list.packed_offsets[i]), stop - begin,
           packed);
      packed += stop - begin;
      begin = stop;
      ++i;
    }
    if (begin == end) return;
    const double beyond = static_cast<double>(end - begin) * density(list.packed_offsets);
    const size_t last = part_near(list.packed_offsets, static_cast<double>(i) + beyond, end - 1);
    const bool cut = end < list.packed_offsets[last + 1];
    const size_t whole_end = cut ? last : last + 1;
    if (i < whole_end) {
      executor_.entries(node, static_cast<int64_t>(i), static_cast<int64_t>(whole_end), mem,
                        packed);
      packed += list.packed_offsets[whole_end] - begin;
    }
    if (cut) copy(address(mem, list.mem_offsets[last]), end - list.packed_offsets[last], packed);
  }

  void of_sequence(const PlanNode& node, std::byte* mem, int64_t begin, int64_t end,
                   std::byte* packed) const {
    const LayoutNode& seq = *node.layout;
    for (size_t i = part_at(seq.packed_offsets, begin); begin < end; ++i) {
      const int64_t stop = std::min(end, seq.packed_offsets[i + 1]);
      slice(*node.children[i], address(mem, seq.mem_offsets[i]), begin - seq.packed_offsets[i],
            stop - seq.packed_offsets[i], packed);
      packed += stop - begin;
      begin = stop;
    }
  }

  const Executor<kPack>& executor_;
};

// Inlined: a call would take more stack.
template <bool kPack>
[[gnu::always_inline]] inline void move_slice(const Plan& plan, std::byte* mem, int64_t count,
                                              int64_t begin, int64_t end, std::byte* packed,
                                              int64_t message_bytes, bool goes_on) {
  if (begin >= end || plan.is_empty()) return;
  if (!kPack && !plan.is_disjoint(count)) [[unlikely]]
    return unpack_in_order(plan, mem, count, begin, end, packed);
  mem = address(mem, plan.offset());
  if (plan.is_contiguous()) {
    std::memcpy(kPack ? packed : mem + begin, kPack ? mem + begin : packed,
                static_cast<size_t>(end - begin));
    return;
  }
  const Executor<kPack> mover(count * plan.size(), message_bytes, goes_on);
  const Slicer<kPack> slicer(mover);
  if (count == 1) {
    slicer.slice(plan.root(count), mem, begin, end, packed);
  } else {
    slicer.of_loop(plan.root(count), mem, begin, end, packed);
  }
}

}  // namespace

template <bool kPack>
void move_part(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
               std::byte* packed, int64_t message_bytes, bool goes_on) noexcept {
  move_slice<kPack>(plan, mem, count, begin, end, packed, message_bytes, goes_on);
}

template void move_part<true>(const Plan&, std::byte*, int64_t, int64_t, int64_t, std::byte*,
                              int64_t, bool) noexcept;
template void move_part<false>(const Plan&, std::byte*, int64_t, int64_t, int64_t, std::byte*,
                               int64_t, bool) noexcept;

void pack_slice(const Plan& plan, const void* mem, int64_t count, int64_t begin, int64_t end,
                void* packed) noexcept {
  std::byte* from = address(mem, 0);
  std::byte* to = address(packed, 0);
  if (shared_out<true>(plan, from, count, begin, end, to)) return;
  move_slice<true>(plan, from, count, begin, end, to, end - begin, false);
}

void unpack_slice(const Plan& plan, const void* packed, int64_t count, int64_t begin, int64_t end,
                  void* mem, bool goes_on) noexcept {
  std::byte* to = address(mem, 0);
  std::byte* from = address(packed, 0);
  if (plan.is_disjoint(count) && shared_out<false>(plan, to, count, begin, end, from)) return;
  move_slice<false>(plan, to, count, begin, end, from, end - begin, goes_on);
}

}  // namespace lacuna
