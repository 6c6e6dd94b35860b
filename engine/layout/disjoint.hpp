// SPDX-License-Identifier: BSD-3-Clause
//
// Disjoint: whether a layout has each byte of memory at most once. If so, data may be unpacked into
// it in any order; else it is the order of the typemap that says which of several values stays.
#ifndef LACUNA_ENGINE_LAYOUT_DISJOINT_HPP_
#define LACUNA_ENGINE_LAYOUT_DISJOINT_HPP_

#include <cstdint>

#include "layout/layout.hpp"

namespace lacuna {

// The largest count of elements no two bytes of which are at one place: 0 where one element
// overlaps itself, INT64_MAX for any count. Perhaps fewer than there are: of pieces that lie
// between each other at unlike strides, more than a few thousand runs are not looked at. O(nodes)
// for loops, O(entries) for lists, and a sort where they do not ascend.
int64_t most_disjoint(const Layout& layout);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_LAYOUT_DISJOINT_HPP_
