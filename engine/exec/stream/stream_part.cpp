// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the parts of a stream, and how groups lie in their buffers. Times behind the sizes:
// docs/experiments/2026-11-26-kernel-choices.md.
#include "exec/stream/stream_part.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/address.hpp"
#include "exec/executor.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

// How many iterations of `node` share a line, if one iteration visits more lines than stay in the
// L1 until the next one; else 0.
int64_t sharing(const PlanNode& node, const Machine& machine) {
  if (node.kind != Kind::kLoop || node.children[0]->kind != Kind::kLoop) return 0;
  const int64_t line = machine.line_bytes;
  const int64_t stride = std::abs(node.loop.mem_stride);
  const Loop& inner = node.children[0]->loop;
  if (stride == 0 || stride >= line || std::abs(inner.mem_stride) < line) return 0;
  if (inner.count <= machine.l1_bytes / line / 8) return 0;
  return (line + stride - 1) / stride;
}

// How many iterations of `each` packed bytes make a group of at most `most_bytes`; 0: no groups.
int64_t group_iterations(const PlanNode& node, int64_t each, const Machine& machine,
                         int64_t most_bytes) {
  const int64_t together = sharing(node, machine);
  return together == 0 ? 0 : most_bytes / (together * each) * together;
}

// The distance of iterations of `each` bytes in a group's buffer. Columns that are a multiple of 32
// lines long would share few L1 sets, and columns that begin inside lines would split stores: both
// are padded to an odd number of lines (docs/experiments/2026-11-26-slices-and-streams.md).
// Otherwise one after the other, so that a piece may cross the end of a column.
int64_t pitch_of(const PlanNode& loop, int64_t each, int64_t line) {
  constexpr int64_t kLeastPadded = 1024;
  constexpr int64_t kMeetingLines = 32;  // 136 and 144 lines are faster unpadded
  const bool is_apart = each % line == 0 && each / line % kMeetingLines != 0;
  if (is_apart || each < kLeastPadded || !Executor<true>::moves_apart(loop)) return each;
  return ((each + line - 1) / line | 1) * line;
}

// The entry that holds byte `at` of a sequence or list; `packed` has one offset more than entries.
size_t entry_of(const std::vector<int64_t>& packed, int64_t at) {
  const auto after = std::upper_bound(packed.begin(), packed.end(), at);
  return std::min(static_cast<size_t>(after - packed.begin()), packed.size() - 1) - 1;
}

// How many iterations of the loop lie before its first line boundary.
int64_t before_line(const std::byte* mem, int64_t stride, int64_t line) {
  if (stride <= 0) return 0;
  const int64_t over = static_cast<int64_t>(reinterpret_cast<uintptr_t>(mem)) & (line - 1);
  return over == 0 ? 0 : (line - over + stride - 1) / stride;
}

}  // namespace

// The group's lines and its packed form fit into the L2 with room to spare.
int64_t most_group_bytes(const Machine& machine) noexcept {
  return std::min<int64_t>(machine.l2_bytes / 4, 1 << 20);
}

// Larger in random order: a group then does not share lines with the one before, nor use what the
// hardware prefetcher fetched beyond it.
int64_t most_sought_group_bytes(const Machine& machine, int64_t keep_bytes) noexcept {
  const int64_t share = std::min(machine.l3_bytes / 16, keep_bytes / 4);
  return std::max(most_group_bytes(machine), std::min(kMostGroupBytes, share));
}

// The padding is at most an eighth.
int64_t group_buffer_bytes(int64_t most_bytes) noexcept { return most_bytes + most_bytes / 8; }

StreamPart stream_part(const Plan& plan, std::byte* mem, int64_t count, int64_t at,
                       int64_t most_bytes) noexcept {
  const PlanNode* node = &plan.root(count);
  const int64_t line = plan.machine().line_bytes;
  mem = address(mem, plan.offset());
  // The range of the traversal of `node` that holds `at`.
  int64_t begin = 0;
  int64_t end = count * plan.size();
  const auto no_group = [&](std::byte* run) { return StreamPart{begin, end, end, nullptr, run}; };
  if (!plan.is_empty() && plan.is_run(count)) return no_group(mem);
  if (!plan.is_disjoint(count)) return no_group(nullptr);  // a held group would come late
  for (;;) {
    switch (node->kind) {
      case Kind::kLoop: {
        const int64_t size = node->children[0]->size;
        const int64_t i = (at - begin) / size;
        const int64_t its = group_iterations(*node, size, plan.machine(), most_bytes);
        if (its > 0) {
          const int64_t head = before_line(mem, node->loop.mem_stride, line);
          const int64_t first = i < head ? 0 : head + (i - head) / its * its;
          const int64_t last = i < head ? head : first + its;
          return {
              begin + first * size, std::min(begin + last * size, end), end, node, mem, first, size,
              its * size,           pitch_of(*node, size, line)};
        }
        if (size < kLeastPartBytes) return no_group(nullptr);
        begin += i * size;
        end = begin + size;
        mem = address(mem, i * node->loop.mem_stride);
        node = node->children[0].get();
        break;
      }
      case Kind::kBlocks: {
        const int64_t size = node->children[0]->size;
        if (size < kLeastPartBytes) return no_group(nullptr);
        const int64_t i = (at - begin) / size;
        begin += i * size;
        end = begin + size;
        mem = address(mem, node->layout->mem_offsets[static_cast<size_t>(i)]);
        node = node->children[0].get();
        break;
      }
      case Kind::kRuns: {
        const std::vector<int64_t>& packed = node->layout->packed_offsets;
        if (node->size / static_cast<int64_t>(packed.size()) < kLeastPartBytes)
          return no_group(nullptr);
        const size_t i = entry_of(packed, at - begin);
        end = begin + packed[i + 1];
        begin += packed[i];
        return no_group(address(mem, node->layout->mem_offsets[i]));
      }
      case Kind::kSeq: {
        const std::vector<int64_t>& packed = node->layout->packed_offsets;
        const size_t i = entry_of(packed, at - begin);
        begin += packed[i];
        mem = address(mem, node->layout->mem_offsets[i]);
        node = node->children[i].get();
        end = begin + node->size;
        break;
      }
      case Kind::kRun:
        return no_group(mem);
    }
  }
}

int64_t parts_end(const Plan& plan, std::byte* mem, int64_t count, int64_t part_end, int64_t end,
                  int64_t most_bytes) noexcept {
  while (part_end < end) {
    const StreamPart next = stream_part(plan, mem, count, part_end, most_bytes);
    if (next.loop != nullptr) break;
    part_end = next.end;
  }
  return part_end;
}

}  // namespace lacuna
