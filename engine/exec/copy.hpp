// SPDX-License-Identifier: BSD-3-Clause
//
// Copy: from one layout to another. The packed stream of one side becomes the packed stream of the
// other, which exists nowhere, unless the two layouts have nothing in common: then a few KiB of it
// at a time do.
#ifndef LACUNA_ENGINE_EXEC_COPY_HPP_
#define LACUNA_ENGINE_EXEC_COPY_HPP_

#include <cstdint>
#include <string_view>

#include "plan/plan.hpp"

namespace lacuna {

// How a copy goes; the first that fits is taken.
enum class CopyWay : uint8_t {
  kNothing,  // no bytes
  kPack,     // the target is one run: pack into it
  kUnpack,   // the source is one run: unpack it
  kJoint,    // both are loops over runs with common counts: one nest, the packing kernels
  kAlike,    // the same layout twice: one walk, each piece as kJoint or by its list
  kCursors,  // long runs on both sides: what is common to the current two, one after the other
  kTarget,   // long runs on the target: the source's slices are packed into them
  kSource,   // long runs on the source: they are unpacked into slices of the target
  kStaged,   // else, and where the target has a byte twice, as all is in order then: slices are packed into a buffer in the first-level cache and unpacked from it
};
std::string_view copy_way_name(CopyWay way);

// O(depth), and O(entries) where the two layouts are equal but not the same object.
CopyWay copy_way(const Plan& source, int64_t source_count, const Plan& target,
                 int64_t target_count) noexcept;

// The packed stream of `source_count` elements at `source_mem` is unpacked into `target_count`
// elements at `target_mem`; both streams have the same size. The two memories must not overlap.
// Neither heap nor locks.
void copy(const Plan& source, const void* source_mem, int64_t source_count, const Plan& target,
          void* target_mem, int64_t target_count) noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_COPY_HPP_
