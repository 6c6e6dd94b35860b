// SPDX-License-Identifier: BSD-3-Clause
//
// A slice that the calling thread moves alone, as part of a larger move: used by pack.cpp,
// slice.cpp, threads and copy.
#ifndef LACUNA_ENGINE_EXEC_PART_HPP_
#define LACUNA_ENGINE_EXEC_PART_HPP_

#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna {

// Moves bytes [begin, end) of the packed stream of `count` elements at `mem`, as pack_slice and
// unpack_slice. `message_bytes` decides between cached and non-temporal stores: a part of a large
// message is written as the whole would be. `goes_on`: the part that begins at `end` is moved next.
template <bool kPack>
void move_part(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
               std::byte* packed, int64_t message_bytes, bool goes_on = false) noexcept;

// A length in bytes of the stream. Parts that begin at its multiples cut no tiles and, except at
// their ends, share no lines of memory: it is whole iterations of the outermost loop of which
// enough make a part of about `part_bytes`; iterations that share a line stay together.
int64_t slice_granule(const Plan& plan, int64_t count, int64_t part_bytes) noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_PART_HPP_
