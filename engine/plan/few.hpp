// SPDX-License-Identifier: BSD-3-Clause
//
// FewMoves: a small element spelled out, as a list of moves of 16, 8, 4, 2 and 1 bytes. What a
// kernel asks of a message before its first byte (its Move, loops, tables) takes longer than moving
// a few dozen runs; here a move is two offsets, a load and a store.
//
// The widest moves come first, whatever the packed order, so that each width is one loop. The moves
// of a run may overlap each other: its last one ends with its last byte. Equal moves at one stride,
// which is what a small vector is, need no list: 16 doubles take 8 cycles less without.
#ifndef LACUNA_ENGINE_PLAN_FEW_HPP_
#define LACUNA_ENGINE_PLAN_FEW_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/address.hpp"
#include "layout/layout.hpp"

namespace lacuna {

class FewMoves {
 public:
  // None, for what has more or longer runs than this is for.
  FewMoves() = default;
  explicit FewMoves(const Layout& layout);
  FewMoves(FewMoves&&) = default;
  FewMoves& operator=(FewMoves&&) = default;

  // Up to so many elements are faster moved so than by kernels; 0: none.
  int64_t most_elements() const { return most_elements_; }
  // Of one element.
  int64_t moves() const { return static_cast<int64_t>(moves_.size()); }

  // `mem`: the origin of the first element.
  template <bool kPack>
  [[gnu::always_inline]] inline void run(std::byte* mem, int64_t elements,
                                         std::byte* packed) const {
    if (regular_width_ == 0) {
      if (elements == 1) return run_listed<kPack, true>(mem, 1, packed);
      return run_listed<kPack, false>(mem, elements, packed);
    }
    for (;;) {
      switch (regular_width_) {
        case 4:
          run_regular<4, kPack>(mem, packed);
          break;
        case 8:
          run_regular<8, kPack>(mem, packed);
          break;
        default:
          run_regular<16, kPack>(mem, packed);
      }
      if (--elements == 0) return;
      mem = address(mem, extent_);
      packed += size_;
    }
  }

 private:
  struct Offsets {
    int32_t mem;  // from the origin
    int32_t packed;
  };

  template <size_t kWidth, bool kPack>
  [[gnu::always_inline]] inline void run_regular(std::byte* mem, std::byte* packed) const {
    const int64_t stride = stride_;
#pragma GCC unroll 4
    for (int64_t left = regular_moves_; left != 0; --left) {
      std::memcpy(kPack ? packed : mem, kPack ? mem : packed, kWidth);
      mem = address(mem, stride);
      packed += kWidth;
    }
  }

  // Move by move, each for all elements: 4 elements of 3 moves take half the time that element by
  // element does. (One element takes longer so.)
  template <bool kPack, bool kOne>
  [[gnu::always_inline]] inline void run_listed(std::byte* mem, int64_t elements,
                                                std::byte* packed) const {
    const Offsets* at = moves_.data();
    at = run_width<16, kPack, kOne>(at, end_[0], mem, elements, packed);
    at = run_width<8, kPack, kOne>(at, end_[1], mem, elements, packed);
    at = run_width<4, kPack, kOne>(at, end_[2], mem, elements, packed);
    at = run_width<2, kPack, kOne>(at, end_[3], mem, elements, packed);
    run_width<1, kPack, kOne>(at, end_[4], mem, elements, packed);
  }

  template <size_t kWidth, bool kPack, bool kOne>
  [[gnu::always_inline]] inline const Offsets* run_width(const Offsets* at, const Offsets* end,
                                                         std::byte* mem, int64_t elements,
                                                         std::byte* packed) const {
#pragma GCC unroll 4
    for (; at != end; ++at) {
      std::byte* gaps = mem + at->mem;
      std::byte* dense = packed + at->packed;
      std::memcpy(kPack ? dense : gaps, kPack ? gaps : dense, kWidth);
      for (int64_t left = kOne ? 1 : elements; --left != 0;) {
        gaps = address(gaps, extent_);
        dense += size_;
        std::memcpy(kPack ? dense : gaps, kPack ? gaps : dense, kWidth);
      }
    }
    return at;
  }

  std::vector<Offsets> moves_;
  const Offsets* end_[5] = {};  // of the moves of each width
  int64_t regular_width_ = 0;   // 0: they are listed
  int64_t regular_moves_ = 0;
  int64_t stride_ = 0;
  int64_t most_elements_ = 0;
  int64_t extent_ = 0;
  int64_t size_ = 0;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_FEW_HPP_
