// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the parts of a stream, and says how groups lie in buffers.
#include "exec/stream_part.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/address.hpp"
#include "exec/mover.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

// Iterations of `node` that share lines with each other, where one of them visits more lines than
// stay in the first level until the next comes; 0: there are none such.
int64_t sharing(const PlanNode& node, const Machine& machine) {
  if (node.kind != Kind::kLoop || node.children[0]->kind != Kind::kLoop) return 0;
  const int64_t line = machine.line_bytes;
  const int64_t stride = std::abs(node.loop.mem_stride);
  const Loop& inner = node.children[0]->loop;
  if (stride == 0 || stride >= line || std::abs(inner.mem_stride) < line) return 0;
  if (inner.count <= machine.l1_bytes / line / 8) return 0;
  return (line + stride - 1) / stride;
}

// How many of `each` packed bytes are a group of at most `most_bytes`; 0: they have none.
int64_t group_iterations(const PlanNode& node, int64_t each, const Machine& machine,
                         int64_t most_bytes) {
  const int64_t together = sharing(node, machine);
  return together == 0 ? 0 : most_bytes / (together * each) * together;
}

// Where iterations of `each` bytes lie in a buffer: columns a power of two apart would all lie in
// the same few places of the first level, which cost 3 to 4 times the whole transpose (1024^2
// doubles in groups of 256 KiB, Zen 5: 686 us, and 205 at an odd number of lines); so would columns
// that begin inside lines be cut (1001^2: in order 1.18 and 0.64 of the whole). Else one after the
// other: a piece that goes over the end of a column is together then.
int64_t pitch_of(const PlanNode& loop, int64_t each, int64_t line) {
  constexpr int64_t kLeastPadded = 1024;
  constexpr int64_t kMeetingLines = 32;  // 1088^2 and 1152^2, of 136 and 144 lines, gain by 1.3
  const bool is_apart = each % line == 0 && each / line % kMeetingLines != 0;
  if (is_apart || each < kLeastPadded || !Mover<true>::moves_apart(loop)) return each;
  return ((each + line - 1) / line | 1) * line;
}

// The part that holds byte `at` of a sequence or a list, which has one offset more than parts.
size_t part_at(const std::vector<int64_t>& packed, int64_t at) {
  const auto after = std::upper_bound(packed.begin(), packed.end(), at);
  return std::min(static_cast<size_t>(after - packed.begin()), packed.size() - 1) - 1;
}

// How many iterations from the loop's first on begin in its line.
int64_t before_line(const std::byte* mem, int64_t stride, int64_t line) {
  if (stride <= 0) return 0;
  const int64_t over = static_cast<int64_t>(reinterpret_cast<uintptr_t>(mem)) & (line - 1);
  return over == 0 ? 0 : (line - over + stride - 1) / stride;
}

}  // namespace

// The group's lines and its packed form, both in the second level with room to spare. Of 1024^2
// doubles, pieces of 8 KiB, times the whole, packed and unpacked (Granite Rapids, 2 MiB of second
// level): groups of 128 KiB 1.9 and 8, 256 KiB 2.6 and 2.0, 512 KiB 1.9 and 1.5, 1 MiB 2.1 and 1.8.
int64_t most_group_bytes(const Machine& machine) noexcept {
  return std::min<int64_t>(machine.l2_bytes / 4, 1 << 20);
}

// In random order a group is read and written without what the next would share with it, the lines
// that the hardware brought ahead: it must be large. 1000^2 and 1024^2 doubles, lent in random
// order to a consumer that reads them, times the same of the whole, Zen 5, groups of 512 KiB 1.26
// and 0.84 (unpacked 1.85 and 1.41), 1 MiB 1.09 and 0.77 (1.78, 1.30), 2 MiB 0.90 and 0.56
// (1.23, 1.15), 4 MiB 1.06 and 1.17 (and more pieces than Spans keep apart).
int64_t most_sought_group_bytes(const Machine& machine, int64_t keep_bytes) noexcept {
  const int64_t share = std::min(machine.l3_bytes / 16, keep_bytes / 4);
  return std::max(most_group_bytes(machine), std::min(kMostGroupBytes, share));
}

// Of groups of `most_bytes`, the padding of which is at most this share.
int64_t group_buffer_bytes(int64_t most_bytes) noexcept { return most_bytes + most_bytes / 8; }

StreamPart stream_part(const Plan& plan, std::byte* mem, int64_t count, int64_t at,
                       int64_t most_bytes) noexcept {
  const PlanNode* node = &plan.root(count);
  const int64_t line = plan.machine().line_bytes;
  mem = address(mem, plan.offset());
  // The traversal of `node` that holds `at`.
  int64_t begin = 0;
  int64_t end = count * plan.size();
  const auto no_group = [&](std::byte* run) { return StreamPart{begin, end, end, nullptr, run}; };
  if (!plan.is_empty() && plan.is_run(count)) return no_group(mem);
  if (!plan.is_disjoint(count)) return no_group(nullptr);  // what is held would come late
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
        const size_t i = part_at(packed, at - begin);
        end = begin + packed[i + 1];
        begin += packed[i];
        return no_group(address(mem, node->layout->mem_offsets[i]));
      }
      case Kind::kSeq: {
        const std::vector<int64_t>& packed = node->layout->packed_offsets;
        const size_t i = part_at(packed, at - begin);
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
