// SPDX-License-Identifier: BSD-3-Clause
//
// Pattern: what a message is like to whoever moves it, in one word. Where it pays to pack first is
// measured by pattern (interpose/policy/policy.hpp).
#ifndef LACUNA_ENGINE_PLAN_PATTERN_HPP_
#define LACUNA_ENGINE_PLAN_PATTERN_HPP_

#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna {

enum class Pattern : uint8_t {
  kStrided,     // loops over runs
  kListed,      // many runs at irregular places
  kFields,      // a few of them, mostly again and again: structs
  kTransposed,  // a plain traversal would come back to each line many times
  kPieces,      // whichever of these: runs that are made of derived types
};
inline constexpr int kPatterns = 5;
const char* pattern_name(Pattern pattern);

// Of a plan's `single` or `repeat` root: what most of its bytes are in. O(depth + the pieces of its
// structs).
// Never kPieces, which layouts know nothing of.
Pattern pattern_of(const PlanNode& root);

// The size of the contiguous derived type that most of a type's bytes are elements of, as in a
// vector of blocks of contiguous(6, float); 0: they are elements of basic types. Some MPI libraries
// move such elements one by one, however long the runs that they make. O(depth + the members of
// structs).
int64_t piece_bytes(const Type& type);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_PATTERN_HPP_
