// SPDX-License-Identifier: BSD-3-Clause
//
// The tiled transpose: dst[c*dst_pitch + r*W] <- src[r*src_pitch + c*W], for rows r in [0, R),
// columns c in [0, C), elements of W bytes (names as in Move: rows are the inner dimension, columns
// the outer). Included once per SIMD target.
//
// Blocking after Byna, Gropp, Sun & Thakur 2003, section 5.3 (half the TLB for the strided side),
// with today's shapes:
//   - a register tile of N x N elements, N*W = one vector: each source line is read once, whole;
//   - tile_rows source rows together (at most half the TLB's pages), swept along one page of
//     columns before the next rows;
//   - outputs past the cache are written as whole 64-byte lines by non-temporal stores;
//   - where tiles are lines and all rows of the destination start at the same place in one, tiles
//     go straight there, both sides cut at line boundaries. Elsewhere (odd pitches, short vectors)
//     they go through a small buffer in the first-level cache, and each row of the destination is
//     cut at its own boundaries; blocks of source rows overlap by one line.
//
// Measured on Zen 4, n x n doubles, time over memcpy of the same bytes (docs/kernels.md): 0.7 to
// 1.4 straight, n >= 1024.
//
// Tried:
//   - unaligned stores straight to odd pitches: 2.0 to 3.4 (each line in two halves, far apart);
//   - the buffer without overlap: 1.3 to 2.4 (both ends of each piece are half lines);
//   - the buffer for cached outputs of even pitch: 3.9 to 6, straight 1.6 to 2;
//   - software prefetch of the next tiles' lines, source or destination: 0 to 20 % slower;
//   - cached stores for 8 MiB outputs, 16 or 32 columns by 16, 32, 128 or all rows: 1.5 to 1.8
//     where non-temporal ones take 1.4 to 1.8, and sending the result is slower afterwards.

template <int64_t kWidth>
struct TileLane;
template <>
struct TileLane<1> {
  using T = uint8_t;
};
template <>
struct TileLane<2> {
  using T = uint16_t;
};
template <>
struct TileLane<4> {
  using T = uint32_t;
};
template <>
struct TileLane<8> {
  using T = uint64_t;
};
template <>
struct TileLane<16> {
  using T = uint64_t;
};

template <int64_t kWidth>
struct Tile {
  using T = typename TileLane<kWidth>::T;
  // Narrow elements make tiles of too many vectors for the register file; 16-byte vectors keep them
  // at 16 and 8.
  static constexpr int64_t kBytes = kWidth <= 2 ? 16 : (HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64);
  static constexpr int64_t kN = kBytes / kWidth;    // rows and columns
  static constexpr int64_t kInBlock = 16 / kWidth;  // elements in a 128-bit block
  static constexpr int64_t kBlocks = kBytes / 16;
  using D = hn::CappedTag<T, static_cast<size_t>(kBytes) / sizeof(T)>;
  using V = hn::Vec<D>;

  template <bool kStream>
  [[gnu::always_inline]] static inline void run(const std::byte* src, int64_t src_pitch,
                                                std::byte* dst, int64_t dst_pitch) {
    const D d;
    V rows[kN];
#pragma GCC unroll 16
    for (int64_t r = 0; r < kN; ++r)
      rows[r] = hn::LoadU(d, reinterpret_cast<const T*>(src + r * src_pitch));
    transpose_in_blocks(rows);
    transpose_blocks(rows);
#pragma GCC unroll 16
    for (int64_t c = 0; c < kN; ++c) {
      T* out = reinterpret_cast<T*>(dst + c * dst_pitch);
      if constexpr (kStream) {
        hn::Stream(rows[c], d, out);
      } else {
        hn::StoreU(rows[c], d, out);
      }
    }
  }

 private:
  // Each group of kInBlock rows: log2(kInBlock) perfect shuffles transpose every 128-bit block of
  // the group.
  [[gnu::always_inline]] static inline void transpose_in_blocks(V* rows) {
    const D d;
#pragma GCC unroll 4
    for (int64_t step = 1; step < kInBlock; step *= 2) {
#pragma GCC unroll 4
      for (int64_t g = 0; g < kBlocks; ++g) {
        V* group = rows + g * kInBlock;
        V shuffled[kInBlock];
#pragma GCC unroll 8
        for (int64_t i = 0; i < kInBlock / 2; ++i) {
          shuffled[2 * i] = hn::InterleaveLower(d, group[i], group[i + kInBlock / 2]);
          shuffled[2 * i + 1] = hn::InterleaveUpper(d, group[i], group[i + kInBlock / 2]);
        }
#pragma GCC unroll 16
        for (int64_t i = 0; i < kInBlock; ++i) group[i] = shuffled[i];
      }
    }
  }

  // Vectors (g, c) hold column b*kInBlock + c of group g in block b; afterwards vector b*kInBlock +
  // c holds that column of all groups.
  [[gnu::always_inline]] static inline void transpose_blocks(V* rows) {
    const D d;
    if constexpr (kBlocks == 2) {
#pragma GCC unroll 8
      for (int64_t c = 0; c < kInBlock; ++c) {
        const V a = rows[c];
        const V b = rows[kInBlock + c];
        rows[c] = hn::ConcatLowerLower(d, b, a);
        rows[kInBlock + c] = hn::ConcatUpperUpper(d, b, a);
      }
    } else if constexpr (kBlocks == 4) {
#pragma GCC unroll 8
      for (int64_t c = 0; c < kInBlock; ++c) {
        const V a0 = rows[c];
        const V a1 = rows[kInBlock + c];
        const V a2 = rows[2 * kInBlock + c];
        const V a3 = rows[3 * kInBlock + c];
        const V even01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a1), a0);
        const V odd01 = hn::OddEvenBlocks(a1, hn::SwapAdjacentBlocks(a0));
        const V even23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a3), a2);
        const V odd23 = hn::OddEvenBlocks(a3, hn::SwapAdjacentBlocks(a2));
        rows[c] = hn::ConcatLowerLower(d, even23, even01);
        rows[kInBlock + c] = hn::ConcatLowerLower(d, odd23, odd01);
        rows[2 * kInBlock + c] = hn::ConcatUpperUpper(d, even23, even01);
        rows[3 * kInBlock + c] = hn::ConcatUpperUpper(d, odd23, odd01);
      }
    }
  }
};

template <int64_t kWidth>
class Transposer {
 public:
  explicit Transposer(const Move& m)
      : src_(m.src),
        dst_(m.dst),
        rows_(m.inner.count),
        cols_(m.outer.count),
        src_pitch_(m.inner.src_stride),
        dst_pitch_(m.outer.dst_stride),
        tile_rows_(m.tile_rows),
        tile_cols_(m.tile_cols) {}

  void run(bool stream) {
    // Whole lines exist only where elements do not straddle them.
    const bool elements_aligned =
        (reinterpret_cast<uintptr_t>(dst_) | static_cast<uintptr_t>(dst_pitch_)) % kWidth == 0;
    stream = stream && elements_aligned;
    if (elements_aligned && dst_pitch_ % 64 == 0 && kN * kWidth == 64) {
      if (stream) {
        direct<true>();
      } else {
        direct<false>();
      }
    } else {
      const int64_t tiled_cols = cols_ / kN * kN;
      staged(tiled_cols, stream);
      edge(0, rows_, tiled_cols, cols_);
    }
    if (stream) hwy::FlushStream();
  }

 private:
  using TileW = Tile<kWidth>;
  static constexpr int64_t kN = TileW::kN;
  static constexpr int64_t kLine = 64 / kWidth;  // elements
  static constexpr int64_t kStageCols = kN > 128 / kWidth ? kN
                                                          : (128 / kWidth < 32 ? 128 / kWidth : 32);
  static constexpr int64_t kMaxTileRows = 512 / kWidth < 64 ? 512 / kWidth : 64;
  static constexpr int64_t kStagePitch =
      (kMaxTileRows + kLine) * kWidth + 64;  // 64: rows off the same cache set

  const std::byte* at_src(int64_t r, int64_t c) const { return src_ + r * src_pitch_ + c * kWidth; }
  std::byte* at_dst(int64_t r, int64_t c) const { return dst_ + c * dst_pitch_ + r * kWidth; }

  // Along the fewer first: what strides is then visited once, and not once for each of them.
  void edge(int64_t r0, int64_t r1, int64_t c0, int64_t c1) const {
    if (c1 - c0 < r1 - r0) {
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c) copy_block<kWidth>(at_dst(r, c), at_src(r, c));
      }
      return;
    }
    for (int64_t c = c0; c < c1; ++c) {
      for (int64_t r = r0; r < r1; ++r) copy_block<kWidth>(at_dst(r, c), at_src(r, c));
    }
  }

  // All destination rows start at the same place in a line: skip to the first boundary, then tiles
  // are lines. Where the source rows do so too, the columns are cut at its boundaries, so that no
  // load takes two lines.
  template <bool kStream>
  void direct() const {
    const int64_t head = elements_to_line(dst_, rows_);
    const int64_t end = head + (rows_ - head) / kN * kN;
    const bool cut_cols =
        src_pitch_ % 64 == 0 && cols_ >= 4 * kN && reinterpret_cast<uintptr_t>(src_) % kWidth == 0;
    const int64_t first_col = cut_cols ? elements_to_line(src_, cols_) : 0;
    const int64_t end_col = first_col + (cols_ - first_col) / kN * kN;
    // Past the caches: a few rows, swept along a page of columns. Into them: a strip of two tiles,
    // down all rows, so that each destination row is written as one stream.
    const int64_t block_cols = kStream ? tile_cols_ : 2 * kN;
    const int64_t block_rows = kStream ? 2 * kN : rows_;
    for (int64_t c0 = first_col; c0 < end_col; c0 += block_cols) {
      const int64_t c1 = c0 + block_cols < end_col ? c0 + block_cols : end_col;
      for (int64_t r0 = head; r0 < end; r0 += block_rows) {
        const int64_t r1 = r0 + block_rows < end ? r0 + block_rows : end;
        if constexpr (kStream) {
          for (int64_t c = c0; c < c1; c += kN) {
            for (int64_t r = r0; r < r1; r += kN) tile<kStream>(r, c);
          }
        } else {
          for (int64_t r = r0; r < r1; r += kN) {
            for (int64_t c = c0; c < c1; c += kN) tile<kStream>(r, c);
          }
        }
      }
    }
    edge(0, head, first_col, end_col);
    edge(end, rows_, first_col, end_col);
    edge(0, rows_, 0, first_col);
    edge(0, rows_, end_col, cols_);
  }

  template <bool kStream>
  [[gnu::always_inline]] void tile(int64_t r, int64_t c) const {
    TileW::template run<kStream>(at_src(r, c), src_pitch_, at_dst(r, c), dst_pitch_);
  }

  // Elements from `p` to the next line boundary, at most `limit`.
  static int64_t elements_to_line(const std::byte* p, int64_t limit) {
    const int64_t elements = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(p) & 63) / kWidth;
    return elements < limit ? elements : limit;
  }

  // Through the buffer. Block k takes source rows [k*T, (k+1)*T + overlap) and completes rows [k*T
  // + s, (k+1)*T + s) of each destination row, where s is that row's own shift to a line boundary;
  // the first and last blocks take the ends.
  void staged(int64_t tiled_cols, bool stream) const {
    alignas(64) std::byte stage[kStageCols * kStagePitch];
    const int64_t tiled_rows = rows_ / kN * kN;
    const int64_t overlap = stream ? kLine : 0;
    const int64_t block_rows = tile_rows_ < kMaxTileRows ? tile_rows_ : kMaxTileRows;
    for (int64_t c0 = 0; c0 < tiled_cols; c0 += tile_cols_) {
      const int64_t c1 = c0 + tile_cols_ < tiled_cols ? c0 + tile_cols_ : tiled_cols;
      for (int64_t r0 = 0; r0 < tiled_rows; r0 += block_rows) {
        const bool last = r0 + block_rows + overlap >= tiled_rows;
        const int64_t r1 = last ? tiled_rows : r0 + block_rows + overlap;
        for (int64_t c = c0; c < c1; c += kStageCols) {
          const int64_t ce = c + kStageCols < c1 ? c + kStageCols : c1;
          for (int64_t cc = c; cc < ce; cc += kN) {
            for (int64_t r = r0; r < r1; r += kN) {
              TileW::template run<false>(at_src(r, cc), src_pitch_,
                                         stage + (cc - c) * kStagePitch + (r - r0) * kWidth,
                                         kStagePitch);
            }
          }
          for (int64_t cc = c; cc < ce; ++cc) {
            const int64_t shift = stream ? elements_to_line(at_dst(0, cc), kLine) : 0;
            const int64_t begin = r0 == 0 ? 0 : r0 + shift;
            const int64_t end = last ? tiled_rows : r0 + block_rows + shift;
            if (begin >= end) continue;
            const std::byte* from = stage + (cc - c) * kStagePitch + (begin - r0) * kWidth;
            if (stream) {
              copy_run_stream(at_dst(begin, cc), from, (end - begin) * kWidth);
            } else {
              copy_run(at_dst(begin, cc), from, (end - begin) * kWidth);
            }
          }
        }
        if (last) break;
      }
    }
    edge(tiled_rows, rows_, 0, tiled_cols);
  }

  const std::byte* src_;
  std::byte* dst_;
  int64_t rows_;
  int64_t cols_;
  int64_t src_pitch_;
  int64_t dst_pitch_;
  int64_t tile_rows_;
  int64_t tile_cols_;
};

template <int64_t kWidth>
void transpose(const Move& m) noexcept {
  constexpr int64_t kN = Tile<kWidth>::kN;
  if (m.inner.count < kN || m.outer.count < kN) {
    // Few rows or columns. Along the few first visits each line and page of the other side once; a
    // loop of less than four is mostly overhead, but less than pages that are mapped no longer.
    const bool inner_is_few = m.inner.count < m.outer.count;
    const Dim& least = inner_is_few ? m.inner : m.outer;
    const Dim& many = inner_is_few ? m.outer : m.inner;
    const int64_t step = std::max(std::abs(many.src_stride), std::abs(many.dst_stride));
    const bool along_few = least.count >= (step * many.count >= (int64_t{1} << 18) ? 2 : 4);
    Move few = m;
    if (along_few != inner_is_few) std::swap(few.inner, few.outer);
    return strided<kWidth>(few);
  }
  Transposer<kWidth>(m).run(m.stream);
}
