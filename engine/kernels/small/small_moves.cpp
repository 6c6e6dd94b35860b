// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/small/small_moves.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "base/address.hpp"
#include "kernels/record/permutes.hpp"

namespace lacuna {
namespace {

// Two moves. Packing stores two words of 8 bytes at once, which is faster
// (docs/experiments/2026-11-27-plan-thresholds.md). (Unpacking does not gain: compilers split such
// a load again.)
template <size_t kWidth, bool kPack>
[[gnu::always_inline]] inline void move_two(std::byte* mem, std::byte* next, std::byte* packed) {
  if constexpr (kWidth == 8 && kPack) {
    typedef uint64_t Two __attribute__((vector_size(16)));
    uint64_t first, second;
    std::memcpy(&first, mem, 8);
    std::memcpy(&second, next, 8);
    const Two two = {first, second};
    std::memcpy(packed, &two, 16);
  } else {
    move_word<kWidth, kPack>(mem, packed);
    move_word<kWidth, kPack>(next, packed + kWidth);
  }
}

// Hides from the compiler that a value is a multiple of the stride. Else it adds the stride
// repeatedly, and each address depends on the one before.
[[gnu::always_inline]] inline int64_t opaque(int64_t value) {
  asm("" : "+r"(value));
  return value;
}

// `moves` >= 1 moves, each a stride on in memory from the one before.
template <size_t kWidth, bool kPack>
[[gnu::always_inline]] inline void strided(std::byte* mem, int64_t stride, std::byte* packed,
                                           int64_t moves) {
  if (moves >= 4) [[likely]] {
    const int64_t twice = opaque(2 * stride);
    const int64_t thrice = opaque(3 * stride);
    do {
      move_two<kWidth, kPack>(mem, address(mem, stride), packed);
      move_two<kWidth, kPack>(address(mem, twice), address(mem, thrice), packed + 2 * kWidth);
      mem = address(mem, 2 * twice);
      packed += 4 * kWidth;
      // Else the compiler recomputes both after the loop, by a multiplication.
      asm("" : "+r"(mem), "+r"(packed));
      moves -= 4;
    } while (moves >= 4);
  }
#pragma GCC unroll 1
  for (; moves > 0; --moves) {
    move_word<kWidth, kPack>(mem, packed);
    mem = address(mem, stride);
    packed += kWidth;
  }
}

// A run of kWords words. The last word, at `last`, ends with the run; it may overlap its neighbour.
template <size_t kWord, size_t kWords, bool kPack>
[[gnu::always_inline]] inline void move_run(std::byte* mem, std::byte* packed, int64_t last) {
#pragma GCC unroll 4
  for (size_t i = 0; i + 1 < kWords; ++i)
    move_word<kWord, kPack>(mem + i * kWord, packed + i * kWord);
  move_word<kWord, kPack>(mem + last, packed + last);
}

// `runs` >= 1 runs of `bytes` bytes, each a stride on in memory from the one before.
template <size_t kWord, size_t kWords, bool kPack>
[[gnu::always_inline]] inline void strided_runs(std::byte* mem, int64_t stride, int64_t bytes,
                                                std::byte* packed, int64_t runs) {
  const int64_t last = bytes - static_cast<int64_t>(kWord);
#pragma GCC unroll 1
  for (; runs >= 2; runs -= 2) {
    std::byte* const next = address(mem, stride);
    std::byte* const behind = packed + bytes;
    move_run<kWord, kWords, kPack>(mem, packed, last);
    move_run<kWord, kWords, kPack>(next, behind, last);
    mem = address(next, stride);
    packed = behind + bytes;
  }
  if (runs != 0) move_run<kWord, kWords, kPack>(mem, packed, last);
}

}  // namespace

template <typename Row>
[[gnu::always_inline]] inline int SmallMoves::each_row(std::byte* mem, int64_t elements,
                                                       std::byte* packed, Row row) const {
  const int64_t row_bytes = regular_width_ * regular_moves_;
  int64_t rows = rows_;
  int64_t stride = row_stride_;
  if (rows == 1) {  // elements of one row are rows
    rows = std::exchange(elements, 1);
    stride = extent_;
  }
  for (; elements > 0; --elements) {
    std::byte* at = mem;
#pragma GCC unroll 1
    for (int64_t i = rows; i > 0; --i) {
      row(at, packed);
      at = address(at, stride);
      packed += row_bytes;
    }
    mem = address(mem, extent_);
  }
  return 0;
}

template <size_t kWord, size_t kWords, bool kPack>
int SmallMoves::runs(const SmallMoves& small, std::byte* mem, int64_t elements,
                     std::byte* packed) noexcept {
  if (elements != 1) return rows_of_runs<kWord, kWords, kPack>(small, mem, elements, packed);
  strided_runs<kWord, kWords, kPack>(mem, small.stride_, small.regular_width_, packed,
                                     small.regular_moves_);
  return 0;
}

template <size_t kWord, size_t kWords, bool kPack>
[[gnu::noinline]] int SmallMoves::rows_of_runs(const SmallMoves& small, std::byte* mem,
                                               int64_t elements, std::byte* packed) noexcept {
  return small.each_row(mem, elements, packed, [&small](std::byte* row, std::byte* to) {
    strided_runs<kWord, kWords, kPack>(row, small.stride_, small.regular_width_, to,
                                       small.regular_moves_);
  });
}

template <size_t kWidth, bool kPack>
int SmallMoves::regular(const SmallMoves& small, std::byte* mem, int64_t elements,
                        std::byte* packed) noexcept {
  if (elements != 1) return regular_rows<kWidth, kPack>(small, mem, elements, packed);
  strided<kWidth, kPack>(mem, small.stride_, packed, small.regular_moves_);
  return 0;
}

template <size_t kWidth, bool kPack>
[[gnu::noinline]] int SmallMoves::regular_rows(const SmallMoves& small, std::byte* mem,
                                               int64_t elements, std::byte* packed) noexcept {
  if (small.is_permuted(elements)) return permuted<kPack>(small, mem, elements, packed);
  if (small.regular_moves_ == 1) {
    strided<kWidth, kPack>(mem, small.extent_, packed, elements);
    return 0;
  }
  return small.each_row(mem, elements, packed, [&small](std::byte* row, std::byte* to) {
    strided<kWidth, kPack>(row, small.stride_, to, small.regular_moves_);
  });
}

template <bool kPack>
int SmallMoves::listed(const SmallMoves& small, std::byte* mem, int64_t elements,
                       std::byte* packed) noexcept {
  if (elements != 1) return listed_elements<kPack>(small, mem, elements, packed);
  small.words_.move<kPack>(mem, packed);
  return 0;
}

template <bool kPack>
[[gnu::noinline]] int SmallMoves::listed_elements(const SmallMoves& small, std::byte* mem,
                                                  int64_t elements, std::byte* packed) noexcept {
  small.words_.move_all<kPack>(mem, small.extent_, elements, packed, small.size_);
  return 0;
}

template <bool kPack>
void SmallMoves::run_listed(std::byte* mem, const int64_t* offsets, int64_t elements,
                            std::byte* packed) const {
  if (permuted_.pack != nullptr) {
    const auto move = kPack ? permuted_.pack_listed : permuted_.unpack_listed;
    return move(*permuted_.element, mem, offsets, elements, packed);
  }
  if (regular_moves_ == 0) {
    for (; elements >= 4; elements -= 4, offsets += 4, packed += 4 * size_) {
      words_.move_four<kPack>({address(mem, offsets[0]), address(mem, offsets[1]),
                               address(mem, offsets[2]), address(mem, offsets[3])},
                              packed, size_);
    }
  }
  for (; elements > 0; --elements, packed += size_) run<kPack>(address(mem, *offsets++), 1, packed);
}

template void SmallMoves::run_listed<true>(std::byte*, const int64_t*, int64_t, std::byte*) const;
template void SmallMoves::run_listed<false>(std::byte*, const int64_t*, int64_t, std::byte*) const;

template <bool kPack>
int SmallMoves::permuted(const SmallMoves& small, std::byte* mem, int64_t elements,
                         std::byte* packed) noexcept {
  const PermuteFn move = kPack ? small.permuted_.pack : small.permuted_.unpack;
  return move(*small.permuted_.element, mem, elements, packed);
}

template <bool kPack>
int SmallMoves::compiled(const SmallMoves& small, std::byte* mem, int64_t elements,
                         std::byte* packed) noexcept {
  return (kPack ? small.compiled_.pack : small.compiled_.unpack)(
      small.compiled_.numbers.data(), address(mem, -small.origin_), elements, packed);
}

SmallMoves::SmallMoves(const Layout& layout, CompiledMoves compiled, int64_t most_elements)
    : pack_(&SmallMoves::compiled<true>),
      unpack_(&SmallMoves::compiled<false>),
      most_elements_(most_elements),
      // The cost model counts one move for each run.
      regular_moves_(layout.element.node->leaf_runs),
      compiled_(std::move(compiled)),
      origin_(layout.element.offset) {}

template <bool kPack>
void SmallMoves::choose() {
  Fn& fn = kPack ? pack_ : unpack_;
  const int64_t run = regular_width_;
  if (is_wide_) {
    fn = find_wide<kPack>(words_of_run_);
  } else if (rows_ > 1) {
    fn = run == 1    ? &regular_rows<1, kPack>
         : run == 2  ? &regular_rows<2, kPack>
         : run == 4  ? &regular_rows<4, kPack>
         : run == 8  ? &regular_rows<8, kPack>
         : run == 16 ? &regular_rows<16, kPack>
         : run > 16  ? &rows_of_runs<16, 2, kPack>
         : run > 8   ? &rows_of_runs<8, 2, kPack>
                     : &rows_of_runs<4, 2, kPack>;
  } else {
    fn = run == 1         ? &regular<1, kPack>
         : run == 2       ? &regular<2, kPack>
         : run == 4       ? &regular<4, kPack>
         : run == 8       ? &regular<8, kPack>
         : run == 16      ? &regular<16, kPack>
         : run > 48       ? &runs<16, 4, kPack>
         : run > 32       ? &runs<16, 3, kPack>
         : run > 16       ? &runs<16, 2, kPack>
         : run > 8        ? &runs<8, 2, kPack>
         : run > 0        ? &runs<4, 2, kPack>
         : is_permuted(1) ? &permuted<kPack>
                          : &listed<kPack>;
  }
}

template void SmallMoves::choose<true>();
template void SmallMoves::choose<false>();

}  // namespace lacuna
