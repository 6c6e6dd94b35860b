// SPDX-License-Identifier: BSD-3-Clause
//
// HandLoops: what an application would do in place of a type: the loops of by_hand_loops.cpp,
// compiled for the best instruction set that this processor has.
#ifndef LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_HPP_
#define LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/engine/rivals/by_hand_loops.hpp"
#include "bench/engine/rivals/by_hand_shape.hpp"

namespace lacuna::bench {

class HandLoops {
 public:
  // False: there are no such loops for this type.
  bool prepare(const Type& type, int64_t count);
  // `mem` is offset 0 of the typemap.
  void pack(const std::byte* mem, std::byte* packed) const;
  void unpack(const std::byte* packed, std::byte* mem) const;

 private:
  struct Step {
    Part part;
    int64_t packed_offset = 0;
    PartFn pack = nullptr;
    PartFn unpack = nullptr;
  };

  bool add(const Part& part);
  bool add_nests(const HandShape& shape);
  bool add_list(const LoopNest& nest, Part* part);
  bool add_structs(const HandShape& shape);
  const std::vector<int>* list(const std::vector<int64_t>& bytes, int64_t unit);

  std::vector<Step> steps_;
  std::vector<std::unique_ptr<std::vector<int>>> lists_;
};

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_HPP_
