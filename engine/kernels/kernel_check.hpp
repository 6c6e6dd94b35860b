// SPDX-License-Identifier: BSD-3-Clause
//
// For tests: a kernel's move between guard pages, compared with its definition; the gaps of the
// destination are compared too.
#ifndef LACUNA_ENGINE_KERNELS_KERNEL_CHECK_HPP_
#define LACUNA_ENGINE_KERNELS_KERNEL_CHECK_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "property/guarded.hpp"

namespace lacuna {

using testing::Guarded;

inline std::byte pattern(size_t i) { return static_cast<std::byte>((i * 2654435761u) >> 13); }

// The lowest and highest byte a side of a strided move touches, relative to its pointer.
struct Span {
  int64_t low = 0;
  int64_t high = 0;
};

inline Span span_of(int64_t outer_count, int64_t outer_stride, int64_t inner_count,
                    int64_t inner_stride, int64_t width) {
  const int64_t o = (outer_count - 1) * outer_stride;
  const int64_t i = (inner_count - 1) * inner_stride;
  return {std::min<int64_t>(0, o) + std::min<int64_t>(0, i),
          std::max<int64_t>(0, o) + std::max<int64_t>(0, i) + width};
}

// Two buffers with exactly the bytes that a move touches, and `shift` bytes before those, so that
// the pointers take every alignment; the far end touches a guard page.
class Arena {
 public:
  Arena(Span src, Span dst, int64_t src_shift, int64_t dst_shift)
      : src_(static_cast<size_t>(src.high - src.low), src_shift == 0),
        dst_(static_cast<size_t>(dst.high - dst.low + dst_shift), dst_shift % 2 == 0),
        src_low_(src.low),
        dst_low_(dst.low),
        dst_shift_(dst_shift) {
    for (size_t i = 0; i < src_.size(); ++i) src_.data()[i] = pattern(i);
    for (size_t i = 0; i < dst_.size(); ++i) dst_.data()[i] = pattern(i + 977);
    want_.assign(dst_.data(), dst_.data() + dst_.size());
  }

  const std::byte* src() const { return src_.data() - src_low_; }
  std::byte* dst() const { return dst_.data() + dst_shift_ - dst_low_; }
  // Applies the definition of a copy to the expectation.
  void expect(int64_t dst_at, int64_t src_at, int64_t width) {
    std::memcpy(want_.data() + dst_shift_ + (dst_at - dst_low_), src() + src_at,
                static_cast<size_t>(width));
  }
  bool right() const { return std::memcmp(want_.data(), dst_.data(), want_.size()) == 0; }

 private:
  Guarded src_;
  Guarded dst_;
  int64_t src_low_;
  int64_t dst_low_;
  int64_t dst_shift_;
  std::vector<std::byte> want_;
};

inline std::string name_of(const ::testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(info.param->isa);
}

// The strategies of a shape that a table has for runs of `width` bytes.
inline std::vector<Kernel> kernels_of(const KernelTable& table, Strategy shape, int64_t width) {
  std::vector<Kernel> found;
  for (int i = 0; i < kStrategies; ++i) {
    const auto strategy = static_cast<Strategy>(i);
    if (definition_of(strategy) != shape) continue;
    const Kernel kernel = find_kernel(table, strategy, width);
    if (kernel.strategy == strategy) found.push_back(kernel);
  }
  return found;
}

// Hints that change how bytes are moved, not which: several sets.
inline std::vector<Hints> hints_to_test(const Dim& inner, int64_t width, bool stream, int64_t ahead,
                                        int64_t dst_shift) {
  Hints plain;
  plain.prefetch = {static_cast<int32_t>(ahead),
                    static_cast<int32_t>(std::min<int64_t>(width, 256)), false};
  plain.non_temporal = stream;
  Hints other = plain;
  other.prefetch.into_l2 = width <= 64;
  other.stores = 3;
  other.load_cycles = 5;
  other.move = {dst_shift % 2 != 0 ? uint8_t{16} : uint8_t{64},
                inner.count % 2 != 0 ? uint8_t{8}
                : dst_shift % 3 == 0 ? uint8_t{16}
                                     : uint8_t{32},
                true};
  other.tiles = {true, true, inner.count != 264};  // else four lines
  return {plain, other};
}

// The move is repeated `times` times (KernelCall::around).
inline void check_from(const Kernel& kernel, const Hints& hints, int64_t times, int64_t width,
                       Dim outer, Dim inner, int64_t tile_rows, int64_t tile_cols,
                       int64_t src_shift, int64_t dst_shift) {
  Span src = span_of(outer.count, outer.src_stride, inner.count, inner.src_stride, width);
  Span dst = span_of(outer.count, outer.dst_stride, inner.count, inner.dst_stride, width);
  const Dim around = {times, src.high - src.low + 13, dst.high - dst.low};
  src.high += (times - 1) * around.src_stride;
  dst.high += (times - 1) * around.dst_stride;
  Arena arena(src, dst, src_shift, dst_shift);
  KernelCall m;
  static_cast<Hints&>(m) = hints;
  m.around = around;
  m.src = arena.src();
  m.dst = arena.dst();
  m.width = width;
  m.outer = outer;
  m.inner = inner;
  m.tile_rows = tile_rows;
  m.tile_columns = tile_cols;
  kernel.fn(m);
  for (int64_t k = 0; k < times; ++k) {
    for (int64_t i = 0; i < outer.count; ++i) {
      for (int64_t j = 0; j < inner.count; ++j) {
        arena.expect(k * around.dst_stride + i * outer.dst_stride + j * inner.dst_stride,
                     k * around.src_stride + i * outer.src_stride + j * inner.src_stride, width);
      }
    }
  }
  ASSERT_TRUE(arena.right()) << kernel.id() << " width " << width << " outer " << outer.count << "x"
                             << outer.src_stride << "->" << outer.dst_stride << " inner "
                             << inner.count << "x" << inner.src_stride << "->" << inner.dst_stride
                             << " stream " << hints.non_temporal << " tile " << tile_rows << "x"
                             << tile_cols << " shift " << src_shift << "," << dst_shift << " ahead "
                             << hints.prefetch.runs << " stores " << int{hints.stores} << ", "
                             << times << " times";
}

// Every kernel of the registry that moves such runs.
inline void check_strided(const KernelTable& table, Strategy shape, int64_t width, Dim outer,
                          Dim inner, bool stream, int64_t tile_rows = 64, int64_t tile_cols = 64,
                          int64_t src_shift = 0, int64_t dst_shift = 0, int64_t ahead = 0) {
  const int64_t most = shape == Strategy::kTranspose ? 1 : 3;
  const bool is_dense = inner.src_stride == width || inner.dst_stride == width;
  for (const Kernel& kernel : kernels_of(table, shape, width)) {
    if (kernel.strategy == Strategy::kShortRows && !is_dense) continue;
    for (int64_t times = 1; times <= most; times += 2) {
      for (const Hints& hints : hints_to_test(inner, width, stream, ahead, dst_shift)) {
        const bool is_other = hints.stores > 1;
        check_from(kernel, hints, times, width, outer, inner, is_other ? 1 << 20 : tile_rows,
                   tile_cols, src_shift, dst_shift);
      }
    }
  }
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_KERNEL_CHECK_HPP_
