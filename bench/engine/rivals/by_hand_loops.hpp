// SPDX-License-Identifier: BSD-3-Clause
//
// The parameters of the loops in by_hand_loops.cpp. Plain data: that file is compiled once for each
// instruction set, and must not contain inline functions of the standard library.
#ifndef LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_LOOPS_HPP_
#define LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_LOOPS_HPP_

#include <stddef.h>
#include <stdint.h>

namespace lacuna::bench {

inline constexpr int kByHandLoops = 4;

// One loop nest of an application, over elements of `unit` bytes. All strides, lengths and indices
// count elements; `mem` is at the part's first element.
struct Part {
  enum Kind {
    kBox,      // count[0] x ... x count[3] blocks of `block` elements, the last loop innermost
    kGather,   // `entries` blocks of `block` elements at index[]
    kRagged,   // the same with lengths[] elements each
    kStructs,  // entries structs, `extent` bytes apart or at so many extents as index[] says, of
               // which table_bytes[] at field_offset[]
  };
  Kind kind = kBox;
  int64_t unit = 1;
  int64_t offset_bytes = 0;  // from the buffer to `mem`
  int64_t packed_bytes = 0;  // of the whole part
  int64_t block = 1;
  int64_t count[kByHandLoops] = {1, 1, 1, 1};
  int64_t stride[kByHandLoops] = {0, 0, 0, 0};
  int64_t entries = 0;
  const int* index = nullptr;  // as applications keep them
  const int* lengths = nullptr;
  int64_t extent = 0;
  int fields = 0;
  const int* field_offset = nullptr;
  const int* table_bytes = nullptr;
};

using PartFn = void (*)(const Part&, char* mem, char* packed);

struct ByHandTarget {
  const char* name;
  // Null: there is no such loop.
  PartFn (*find)(const Part&, bool is_unpack);
};

extern const ByHandTarget kByHandBaseline;
extern const ByHandTarget kByHandAvx2;
extern const ByHandTarget kByHandAvx512;

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_RIVALS_BY_HAND_LOOPS_HPP_
