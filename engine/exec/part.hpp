// SPDX-License-Identifier: BSD-3-Clause
//
// Part: a slice moved by the calling thread alone, as a piece of something larger. What pack.cpp,
// slice.cpp, threads and copy have in common.
#ifndef LACUNA_ENGINE_EXEC_PART_HPP_
#define LACUNA_ENGINE_EXEC_PART_HPP_

#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna {

// Bytes [begin, end) of the packed stream of `count` elements at `mem`, as pack_slice and
// unpack_slice. `message_bytes` decide whether the output will stay in a cache: a part of a large
// message is written as the whole would be. `goes_on`: what begins at `end` is moved next.
template <bool kPack>
void move_part(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
               std::byte* packed, int64_t message_bytes, bool goes_on = false) noexcept;

// Parts that begin at multiples of this many bytes of the stream cut neither tiles nor, but for one
// at each end, lines of memory: whole iterations of the outermost loop of which enough make a part
// of about `part_bytes`, with those that share a line kept together.
int64_t slice_granule(const Plan& plan, int64_t count, int64_t part_bytes) noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_PART_HPP_
