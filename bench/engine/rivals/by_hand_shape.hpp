// SPDX-License-Identifier: BSD-3-Clause
//
// Which loops an application would have in place of a type: each field of a struct of arrays has a
// loop nest of its own, an array of structs is one loop, an index list is one loop over it.
#ifndef LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_SHAPE_HPP_
#define LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_SHAPE_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "type/type.hpp"

namespace lacuna::bench {

// All in bytes. Runs of `bytes` at offset + at[e] + i0*stride0 + i1*stride1 + ..., with the entries
// of the list innermost; without a list there is a single entry 0. A ragged list has lengths[e]
// instead of `bytes`.
struct LoopNest {
  struct Loop {
    int64_t count;
    int64_t stride;
  };
  int64_t offset = 0;
  std::vector<Loop> loops;  // outermost first
  std::vector<int64_t> at;
  std::vector<int64_t> lengths;
  int64_t bytes = 0;
  int64_t unit = 1;  // of the elements it is made of
};

struct HandShape {
  std::vector<LoopNest> nests;  // one after the other
  // If structs > 1, the nests are fields, and all of them are repeated for each struct: at every
  // extent, or at those in a list.
  int64_t structs = 1;
  int64_t extent = 0;
  std::vector<int64_t> at;
};

// Empty for types that no simple loop packs.
std::optional<HandShape> hand_shape(const Type& type, int64_t count);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_SHAPE_HPP_
