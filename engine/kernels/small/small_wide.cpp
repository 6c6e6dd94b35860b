// SPDX-License-Identifier: BSD-3-Clause
//
// SmallMoves by moves of 32 bytes: runs of 32 to 512 bytes at one stride, in rows or not, such as
// the faces of small blocks. A file of its own, since these functions need AVX. Timed in
// docs/experiments/2026-11-27-plan-thresholds.md.
#include <utility>

#include "kernels/small/small_moves.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/address.hpp"

namespace lacuna {

#if defined(__x86_64__)

namespace {

template <bool kPack>
[[gnu::target("avx"), gnu::always_inline]] inline void move(std::byte* mem, std::byte* packed) {
  std::byte* const to = kPack ? packed : mem;
  const std::byte* const from = kPack ? mem : packed;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

// A run of kMoves moves (0: any number). The last move, at `last`, ends with the run; it may
// overlap its neighbour.
template <int kMoves, bool kPack>
[[gnu::target("avx"), gnu::always_inline]] inline void move_run(std::byte* mem, std::byte* packed,
                                                                int64_t last) {
  if constexpr (kMoves == 0) {
#pragma GCC unroll 2
    for (int64_t at = 0; at < last; at += 32) move<kPack>(mem + at, packed + at);
  } else {
#pragma GCC unroll 4
    for (int64_t at = 0; at < 32 * (kMoves - 1); at += 32) move<kPack>(mem + at, packed + at);
  }
  move<kPack>(mem + last, packed + last);
}

}  // namespace

template <int kMoves, bool kPack>
[[gnu::target("avx")]] int SmallMoves::wide(const SmallMoves& small, std::byte* mem,
                                            int64_t elements, std::byte* packed) noexcept {
  const int64_t bytes = small.regular_width_;
  const int64_t last = bytes - 32;
  int64_t in_row = small.regular_moves_;
  int64_t stride = small.stride_;
  if (in_row == 1 && small.rows_ == 1) {  // elements of one run are a row
    in_row = std::exchange(elements, 1);
    stride = small.extent_;
  }
  for (; elements > 0; --elements) {
    std::byte* row = mem;
    for (int64_t rows = small.rows_; rows > 0; --rows) {
      std::byte* run = row;
#pragma GCC unroll 2
      for (int64_t runs = in_row; runs > 0; --runs) {
        move_run<kMoves, kPack>(run, packed, last);
        run = address(run, stride);
        packed += bytes;
      }
      row = address(row, small.row_stride_);
    }
    mem = address(mem, small.extent_);
  }
  return 0;
}

template <bool kPack>
SmallMoves::Fn SmallMoves::find_wide(int64_t moves) {
  return moves == 1   ? &wide<1, kPack>
         : moves == 2 ? &wide<2, kPack>
         : moves == 3 ? &wide<3, kPack>
         : moves == 4 ? &wide<4, kPack>
                      : &wide<0, kPack>;
}

#else

template <bool kPack>
SmallMoves::Fn SmallMoves::find_wide(int64_t /*moves*/) {
  return nullptr;
}

#endif

template SmallMoves::Fn SmallMoves::find_wide<true>(int64_t);
template SmallMoves::Fn SmallMoves::find_wide<false>(int64_t);

}  // namespace lacuna
