// SPDX-License-Identifier: BSD-3-Clause
//
// Disjoint: whether each byte of memory occurs at most once in a layout. If so, data may be
// unpacked in any order; else the order of the typemap decides which of several values stays.
#ifndef LACUNA_ENGINE_LAYOUT_DISJOINT_HPP_
#define LACUNA_ENGINE_LAYOUT_DISJOINT_HPP_

#include <cstdint>

#include "layout/layout.hpp"

namespace lacuna {

// The largest count of elements in which no byte of memory occurs twice: 0 if one element overlaps
// itself, INT64_MAX for any count. A lower bound if pieces interleave at unlike strides and have
// more than a few thousand runs, which are not compared. O(nodes) for loops, O(entries) for lists,
// with a sort if they do not ascend.
int64_t most_disjoint(const Layout& layout);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_LAYOUT_DISJOINT_HPP_
