// SPDX-License-Identifier: BSD-3-Clause
//
// What the constructors of normal forms share.
#ifndef LACUNA_ENGINE_LAYOUT_RULES_HPP_
#define LACUNA_ENGINE_LAYOUT_RULES_HPP_

#include <cstdint>
#include <vector>

#include "layout/layout.hpp"

namespace lacuna {

// Patterns of at most this many leaf runs are spelled out as one list and recognised anew: they
// have one form whatever way they were built. Larger ones keep their structure, which is cheaper to
// walk than a list.
inline constexpr int64_t kMaxSpelledRuns = 16;

// The node with its hash.
NodePtr finish(LayoutNode&& node);

// Makes offsets relative to the first, and returns that.
int64_t rebase(std::vector<int64_t>& offsets);

// The leaf runs of the parts as one list.
Placed spell_out(const std::vector<Placed>& parts);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_LAYOUT_RULES_HPP_
