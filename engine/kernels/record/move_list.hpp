// SPDX-License-Identifier: BSD-3-Clause
//
// MoveList: a record of short runs as a list of moves of 16, 8, 4, 2 and 1 bytes. A move is two
// offsets, and a load and a store for each of four records side by side.
//
// Moves are sorted by width, the widest first, so that each width is one loop. A run's last move
// may overlap the one before: it ends with the run.
#ifndef LACUNA_ENGINE_KERNELS_RECORD_MOVE_LIST_HPP_
#define LACUNA_ENGINE_KERNELS_RECORD_MOVE_LIST_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/address.hpp"

namespace lacuna {

struct RecordRun;  // record.hpp

// A move of kWidth bytes.
template <size_t kWidth, bool kPack>
[[gnu::always_inline]] inline void move_word(std::byte* mem, std::byte* packed) {
  std::memcpy(kPack ? packed : mem, kPack ? mem : packed, kWidth);
}

class MoveList {
 public:
  MoveList() = default;                // no moves
  MoveList(const MoveList&) = delete;  // it has pointers into itself
  MoveList& operator=(const MoveList&) = delete;
  MoveList(MoveList&&) = default;
  MoveList& operator=(MoveList&&) = default;

  // The moves of a record of these runs, packed one after the other. Empty if there are more than
  // `most`, or an offset exceeds 32 bits.
  MoveList(std::span<const RecordRun> runs, int64_t most);

  bool empty() const { return moves_.empty(); }
  int64_t size() const { return static_cast<int64_t>(moves_.size()); }

  // One element.
  template <bool kPack>
  [[gnu::always_inline]] inline void move(std::byte* mem, std::byte* packed) const;
  // Four elements at `mems`, `packed_size` apart in the packed form: each offset is loaded once for
  // all four.
  template <bool kPack>
  [[gnu::always_inline]] inline void move_four(const std::array<std::byte*, 4>& mems,
                                               std::byte* packed, int64_t packed_size) const;
  // `elements` elements, `extent` apart.
  template <bool kPack>
  [[gnu::always_inline]] inline void move_all(std::byte* mem, int64_t extent, int64_t elements,
                                              std::byte* packed, int64_t packed_size) const;

 private:
  struct Offsets {
    int32_t mem;  // from the element's origin
    int32_t packed;
  };
  // Calls move<width>(mem, packed) for each move.
  template <typename Move>
  [[gnu::always_inline]] inline void each(Move move) const;

  std::vector<Offsets> moves_;
  const Offsets* end_[5] = {};  // of the moves of each width
};

template <typename Move>
[[gnu::always_inline]] inline void MoveList::each(Move move) const {
  const Offsets* at = moves_.data();
  // Not unrolled: handling the remainder would take longer than the few moves.
  const auto moved = [&]<size_t kWidth>(const Offsets* end) __attribute__((always_inline)) {
#pragma GCC unroll 1
    for (; at != end; ++at) move.template operator()<kWidth>(at->mem, at->packed);
  };
  moved.template operator()<16>(end_[0]);
  moved.template operator()<8>(end_[1]);
  moved.template operator()<4>(end_[2]);
  moved.template operator()<2>(end_[3]);
  moved.template operator()<1>(end_[4]);
}

template <bool kPack>
[[gnu::always_inline]] inline void MoveList::move(std::byte* mem, std::byte* packed) const {
  each([&]<size_t kWidth>(int64_t to_gaps, int64_t to_dense) __attribute__((always_inline)) {
    move_word<kWidth, kPack>(mem + to_gaps, packed + to_dense);
  });
}

template <bool kPack>
[[gnu::always_inline]] inline void MoveList::move_four(const std::array<std::byte*, 4>& mems,
                                                       std::byte* packed,
                                                       int64_t packed_size) const {
  // A copy: to the compiler a move may change what `mems` refers to.
  const std::array<std::byte*, 4> from = mems;
  const std::array<std::byte*, 4> to = {packed, packed + packed_size, packed + 2 * packed_size,
                                        packed + 3 * packed_size};
  each([&]<size_t kWidth>(int64_t to_gaps, int64_t to_dense) __attribute__((always_inline)) {
    for (size_t i = 0; i < 4; ++i) move_word<kWidth, kPack>(from[i] + to_gaps, to[i] + to_dense);
  });
}

template <bool kPack>
[[gnu::always_inline]] inline void MoveList::move_all(std::byte* mem, int64_t extent,
                                                      int64_t elements, std::byte* packed,
                                                      int64_t packed_size) const {
  for (; elements >= 4; elements -= 4) {
    move_four<kPack>(
        {mem, address(mem, extent), address(mem, 2 * extent), address(mem, 3 * extent)}, packed,
        packed_size);
    mem = address(mem, 4 * extent);
    packed += 4 * packed_size;
  }
  for (; elements > 0; --elements) {
    move<kPack>(mem, packed);
    mem = address(mem, extent);
    packed += packed_size;
  }
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_RECORD_MOVE_LIST_HPP_
