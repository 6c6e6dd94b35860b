// SPDX-License-Identifier: BSD-3-Clause
//
// StreamPart: the part of a message that a stream moves at once. If iterations of a loop share
// lines (the columns of a matrix), as many as fit into a share of the L2 are a *group*.
#ifndef LACUNA_ENGINE_EXEC_STREAM_STREAM_PART_HPP_
#define LACUNA_ENGINE_EXEC_STREAM_STREAM_PART_HPP_

#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna {

// Bytes [begin, end) of the packed stream around a position: a group, which is moved whole and
// followed by other groups up to `last`; or, if `loop` is null, a part without groups.
struct StreamPart {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t last = 0;
  // A group is iterations [first, first + (end - begin) / each) of this loop.
  const PlanNode* loop = nullptr;
  // The loop's origin. Without a loop: the address of byte `begin` if the part is one run; else
  // null.
  std::byte* mem = nullptr;
  int64_t first = 0;
  int64_t each = 0;   // packed bytes of an iteration
  int64_t step = 0;   // packed bytes of a whole group
  int64_t pitch = 0;  // in its buffer, iteration i of the group is at i * pitch
};

// Finding a smaller part costs about as much as moving it.
inline constexpr int64_t kLeastPartBytes = 4096;
// The most packed bytes of a group.
inline constexpr int64_t kMostGroupBytes = 2 << 20;
// The most packed bytes of a group on this machine: of a stream in order, and of one that is used
// in any order and may keep `keep_bytes` of groups.
int64_t most_group_bytes(const Machine& machine) noexcept;
int64_t most_sought_group_bytes(const Machine& machine, int64_t keep_bytes) noexcept;
// Bytes of the buffer for such a group, with padding.
int64_t group_buffer_bytes(int64_t most_bytes) noexcept;

// The part around byte `at` of `count` elements at `mem`; groups have at most `most_bytes`, and
// begin at lines of memory where iterations do. O(depth * log(pieces)).
StreamPart stream_part(const Plan& plan, std::byte* mem, int64_t count, int64_t at,
                       int64_t most_bytes) noexcept;

// From `part_end` on, the end of the parts without groups that begin before `end`: they are moved
// together. Groups are left out: their buffer might wait for bytes that never come.
int64_t parts_end(const Plan& plan, std::byte* mem, int64_t count, int64_t part_end, int64_t end,
                  int64_t most_bytes) noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_STREAM_STREAM_PART_HPP_
