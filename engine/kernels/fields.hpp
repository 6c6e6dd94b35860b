// SPDX-License-Identifier: BSD-3-Clause
//
// Fields: the pattern of a small element that repeats (a struct in an array, a short run at a small
// stride), and the tables by which vectors of it are put together or taken apart: which vectors to
// load, and which lane of them goes where. Made once for a plan; followed by the kernels
// gather_fields and scatter_fields.
#ifndef LACUNA_ENGINE_KERNELS_FIELDS_HPP_
#define LACUNA_ENGINE_KERNELS_FIELDS_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/element.hpp"
#include "kernels/word_list.hpp"
#include "kernels/words.hpp"

namespace lacuna {

struct Field {
  int64_t mem_offset = 0;  // from the element's first byte
  int64_t bytes = 0;
};

// One vector loaded, and what becomes of its lanes. Offsets count from the period's first byte.
struct FieldStep {
  int64_t load = 0;
  int64_t store = 0;
  // For each lane of the stored vector, 4, 2 or 1 bytes wide: the number of the loaded lane in the
  // low bits, and the high bits of each byte set where this step fills it (masks are read from the
  // sign bits of lanes or bytes). In a table of shuffles: for each byte the number of the loaded
  // one, or kNotMine.
  alignas(64) uint8_t lanes[64] = {};
};
inline constexpr uint8_t kNotMine = 0x80;

// Steps for `elements` elements, after which the same begins again.
struct FieldTable {
  int64_t elements = 0;
  int64_t steps_per_store = 0;  // packing: loads that make one stored vector
  int64_t reach = 0;            // bytes from a period's first byte to the end of its farthest load
  bool shuffles = false;        // of bytes, in place of permutes of lanes
  bool prefetches = false;      // unpacking: the lines of stores are prefetched
  // Fewer elements in a row are moved without the table: less than a period; of shuffles, what
  // would mostly go by moves there all the same (Zen 3, bytes at 2, 64 of them 44 and 59 ns, 256
  // 138 and 104; 12 of 16 bytes, 64 57 and 74 ns, 256 159 and 139), but where each element is a
  // period (structs of 32 bytes, 16 of them 46 and 42 ns). A plan may ask for more.
  int64_t least = 0;
  std::vector<FieldStep> steps;
};

struct Fields {
  std::vector<Field> fields;  // in packed order
  int64_t extent = 0;         // memory distance between elements
  int64_t size = 0;           // packed bytes of an element
  int64_t span = 0;           // from an element's first byte to the end of its last field
  int64_t lane = 0;           // bytes of the tables' lanes
  FieldTable gather;          // without steps: by words or a list of them, or one pass per field
  FieldTable scatter;
  ElementMoves moves;
  // Messages that are not far (Move::far) are moved by those, whatever else there is.
  bool gather_permuted = false;
  bool scatter_permuted = false;
  ElementWordsPtr words;
  WordList list;  // where there are none of those
};
using FieldsPtr = std::shared_ptr<const Fields>;

// Whether that many elements in a row go by the list and not by a pass for each field: few, for
// whom a pass is long, and wide ones, whose lines passes come back to. Zen 5, by AVX2's kernels,
// the list over passes: 30 elements of 8 to 28 runs 1.05 to 2.8 times as fast; 1000 of 28 ints in
// 224 bytes 1.4, 16 doubles in 1 KiB 1.9; of 16 bytes in 48 0.73, of 8 in 64 0.7, of 6 in 136 0.72;
// of 24, 16, 40 and 8 bytes (7 words) 0.7, 30 of such 0.8.
inline bool goes_by_list(const Fields& fields, int64_t in_row) {
  constexpr int64_t kShortRow = 32;
  constexpr int64_t kShortRowOfLonger = 12;
  constexpr int64_t kWide = 128;
  constexpr int64_t kMany = 8;
  if (fields.list.empty()) return false;
  const auto runs = static_cast<int64_t>(fields.fields.size());
  if (4 * fields.list.size() > 5 * runs) return in_row <= kShortRowOfLonger;
  return in_row <= kShortRow ||
         (runs >= kMany && (fields.extent >= kWide || fields.extent <= -kWide));
}

// The vectors of a table of shuffles, which all targets have; for packing alone, since a shuffle's
// stores have no masks.
inline constexpr int64_t kShuffleBytes = 16;

// Tables are made for vectors of `vector_bytes` (64; 0: none wanted) with lanes as wide as
// the pattern allows, but for these: lanes narrower than `least_lane`, fields out of memory order,
// gaps of a line or more (vectors would read lines without data), so few bytes in so many that more
// than kMostLoads vectors would make one. Where lanes are too narrow, or there are no such vectors:
// one of shuffles, if `shuffles`. Cost: O(bytes of a period), a few KiB at most.
inline constexpr int64_t kMostLoads = 4;
std::shared_ptr<Fields> make_fields(std::vector<Field> fields, int64_t extent, int64_t vector_bytes,
                                    int64_t least_lane, bool shuffles);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_FIELDS_HPP_
