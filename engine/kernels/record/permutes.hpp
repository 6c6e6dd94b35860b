// SPDX-License-Identifier: BSD-3-Clause
//
// Element: a record of a few short runs within one or two windows of 64 bytes, moved as a whole:
// one masked load for each window, one permute of its bytes, one masked store, in place of a load
// and a store for each run. For records that are too few or too far apart for the tables of
// record.hpp.
#ifndef LACUNA_ENGINE_KERNELS_RECORD_PERMUTES_HPP_
#define LACUNA_ENGINE_KERNELS_RECORD_PERMUTES_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lacuna {

struct RecordRun;  // record.hpp

struct Element {
  static constexpr int64_t kBytes = 64;  // of a window; and the most packed bytes
  static constexpr int kWindows = 2;
  struct Window {
    int64_t mem_offset = 0;                    // from the element's first byte
    int64_t bytes = 0;                         // to the end of its last data byte; 0: not used
    uint64_t data = 0;                         // which of its bytes are data
    uint64_t packed = 0;                       // which packed bytes are in this window
    alignas(64) uint8_t gather[kBytes] = {};   // for each packed byte: its place in the window
    alignas(64) uint8_t scatter[kBytes] = {};  // for each byte of the window: its packed place
  };
  Window windows[kWindows];
  int64_t extent = 0;  // memory distance between elements
  int64_t size = 0;    // packed bytes
};

// One signature for both directions, so that the caller can tail-call; packing only reads `mem`.
// Returns 0.
using PermuteFn = int (*)(const Element& element, std::byte* mem, int64_t elements,
                          std::byte* packed) noexcept;
// The same for elements at offsets[0, elements) from `mem`.
using ListedElementFn = void (*)(const Element& element, std::byte* mem, const int64_t* offsets,
                                 int64_t elements, std::byte* packed) noexcept;

// The functions for a record; null if it has more than kBytes packed bytes or kWindows windows, or
// the CPU has no such permutes.
struct Permutes {
  std::shared_ptr<const Element> element;
  PermuteFn pack = nullptr;
  PermuteFn unpack = nullptr;
  ListedElementFn pack_listed = nullptr;
  ListedElementFn unpack_listed = nullptr;
  int64_t windows = 0;
};
Permutes make_permutes(std::span<const RecordRun> runs, int64_t extent);

// Whether this CPU permutes the bytes of a 64-byte vector (AVX-512 VBMI).
bool has_permutes();

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_RECORD_PERMUTES_HPP_
