// SPDX-License-Identifier: BSD-3-Clause
//
// Pattern: what a message is like to whoever moves it, in one word. Where it pays to pack first is
// measured by pattern (interpose/policy.hpp).
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
};
inline constexpr int kPatterns = 4;
const char* pattern_name(Pattern pattern);

// Of a plan's `single` or `repeat` root: what most of its bytes are in. O(depth + the pieces of its
// structs).
Pattern pattern_of(const PlanNode& root);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_PATTERN_HPP_
