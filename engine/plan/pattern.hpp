// SPDX-License-Identifier: BSD-3-Clause
//
// Pattern: the kind of a message, in one word. `lacuna tune` measures for each pattern from which
// size on packing first is faster (interpose/policy/policy.hpp).
#ifndef LACUNA_ENGINE_PLAN_PATTERN_HPP_
#define LACUNA_ENGINE_PLAN_PATTERN_HPP_

#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna {

enum class Pattern : uint8_t {
  kStrided,     // loops over runs
  kListed,      // many runs at irregular offsets
  kFields,      // a few runs at irregular offsets, mostly repeated: structs
  kTransposed,  // a plain traversal would come back to each line many times
  kPieces,      // any of these, with runs that consist of derived types (piece_bytes)
};
inline constexpr int kPatterns = 5;
const char* pattern_name(Pattern pattern);

// The pattern of most of the bytes below a plan's root. Never kPieces: layouts have no derived
// types. O(depth + the parts of its structs).
Pattern pattern_of(const PlanNode& root);

// The size of the contiguous derived type that most of a type's bytes belong to, such as
// contiguous(6, float) in a vector of it; 0: they belong to basic types. Some MPI libraries move
// such elements one by one, however long their runs are. O(depth + the members of structs).
int64_t piece_bytes(const Type& type);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_PATTERN_HPP_
