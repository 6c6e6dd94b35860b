// SPDX-License-Identifier: BSD-3-Clause
//
// Copies from one layout to another: the packed stream of the source is unpacked into the target.
// The stream itself is not stored, unless the layouts have no loops in common: then a few KiB of it
// at a time are.
#ifndef LACUNA_ENGINE_EXEC_COPY_COPY_HPP_
#define LACUNA_ENGINE_EXEC_COPY_COPY_HPP_

#include <cstdint>
#include <string_view>

#include "plan/plan.hpp"

namespace lacuna {

// How a copy is done; the first way that fits.
enum class CopyWay : uint8_t {
  kNothing,  // no bytes
  kPack,     // the target is one run: pack into it
  kUnpack,   // the source is one run: unpack it
  kJoint,    // loops over runs with common counts: one nest of loops, by the packing kernels
  kAlike,    // equal layouts: one walk, loops as kJoint, lists entry by entry
  kCursors,  // long runs on both sides: memcpy of the overlap of the current two runs
  kTarget,   // long runs in the target: slices of the source are packed into them
  kSource,   // long runs in the source: they are unpacked into slices of the target
  // else, and if a byte occurs twice in the target, since this unpacks in order: slices are packed
  // into a buffer in the L1 and unpacked from it
  kStaged,
};
std::string_view copy_way_name(CopyWay way);

// O(depth), and O(entries) where the two layouts are equal but not the same object.
CopyWay copy_way(const Plan& source, int64_t source_count, const Plan& target,
                 int64_t target_count) noexcept;

// Unpacks the packed stream of `source_count` elements at `source_mem` into `target_count` elements
// at `target_mem`. Both streams have the same size; the memories must not overlap. No heap, no
// locks.
void copy(const Plan& source, const void* source_mem, int64_t source_count, const Plan& target,
          void* target_mem, int64_t target_count) noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_COPY_COPY_HPP_
