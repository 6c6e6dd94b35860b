// SPDX-License-Identifier: BSD-3-Clause
//
// The tiled transpose: dst[c*dst_pitch + r*W] <- src[r*src_pitch + c*W], for rows r in [0, R),
// columns c in [0, C), elements of W bytes (names as in KernelCall: rows are the inner dimension,
// columns the outer). Included once per SIMD target, after transpose_pieces.inl.hpp and
// transpose_any.inl.hpp.
//
// Blocking after Byna, Gropp, Sun & Thakur 2003, section 5.3 (half the TLB for the strided side),
// with today's shapes:
//   - a register tile: each source line is read once, whole;
//   - few source rows together (two lines of the destination, at most half the TLB's pages), swept
//     along one page of columns before the next rows;
//   - the destination is written in whole, aligned 64-byte lines, by non-temporal stores if it is
//     larger than the caches.
// A column of the destination may begin anywhere in a line. If all columns begin at the same
// offset, tiles of rows are counted from the first line boundary and are whole lines. Otherwise a
// line consists of the end of one tile and the beginning of the tile below it, combined in
// registers. If all columns begin at the same offset and follow each other without a gap, the last
// line of one column is also the first of the next: it is stored whole, its last rows taken from
// the top of the next column.
//
// Measured (docs/experiments/2026-11-26-transpose-kernels.md): n x n doubles, n >= 1024, 0.7 to 1.3
// of memcpy of the same bytes.
//
// Tried, and slower (times: docs/experiments/2026-11-26-kernel-choices.md):
//   - unaligned stores to odd pitches (each line in two halves, far apart);
//   - a buffer of tiles in the L1 for odd pitches; it still serves instruction sets that cannot
//     combine two registers;
//   - elements at the borders one by one, column after column: a conflict miss for each row;
//   - software prefetch of the next tiles' lines, except as below;
//   - cached stores for outputs of 8 MiB: slower than non-temporal ones, and so is sending the
//     result.

template <int64_t kWidth>
class Transposer : private TransposePieces<kWidth> {
 public:
  explicit Transposer(const KernelCall& m)
      : Pieces(m),
        tile_rows_(m.tile_rows),
        tile_cols_(m.tile_columns),
        along_rows_(m.tiles.along_rows),
        four_lines_(m.tiles.four_lines),
        diagonals_(m.tiles.diagonals) {}

  void run(bool stream) {
    // Whole lines exist only where elements do not straddle them.
    const bool has_lines =
        (reinterpret_cast<uintptr_t>(dst_) | static_cast<uintptr_t>(dst_pitch_)) % kWidth == 0;
    const bool same_start = dst_pitch_ % 64 == 0;
    stream = stream && has_lines;
    if (!same_start && rows_ * kWidth <= kShortColumn && tile_rows_ >= rows_ &&
        (kWidth <= 4 || stream || along_rows_)) {
      return short_columns();
    }
    if (has_lines && same_start && kParts * kN <= kMostInLine) {
      stream ? lines<true, false>() : lines<false, false>();
    } else if (has_lines && TileW::kShifts && rows_ >= 3 * kLine) {
      stream ? lines<true, true>() : lines<false, true>();
    } else {
      const Scratch scratch;
      if (scratch.data() == nullptr) return short_columns();
      const int64_t tiled_cols = cols_ / kN * kN;
      staged(scratch.data(), tiled_cols, stream);
      edge(0, rows_, tiled_cols, cols_);
    }
    if (stream) hwy::FlushStream();
  }

 private:
  using Pieces = TransposePieces<kWidth>;
  using Pieces::at_dst;
  using Pieces::at_src;
  using Pieces::beside;
  using Pieces::cols_;
  using Pieces::dst_;
  using Pieces::dst_pitch_;
  using Pieces::edge;
  using Pieces::elements_to_line;
  using Pieces::kLine;
  using Pieces::kN;
  using Pieces::kParts;
  using Pieces::rows_;
  using Pieces::src_;
  using Pieces::src_pitch_;
  using typename Pieces::TileW;
  // The most vectors that the lines of kN columns may take; the 64 of single bytes are slower than
  // the buffer.
  static constexpr int64_t kMostInLine = 32;
  static constexpr int64_t kStageCols = kN > 128 / kWidth ? kN
                                                          : (128 / kWidth < 32 ? 128 / kWidth : 32);
  static constexpr int64_t kMaxTileRows = 512 / kWidth < 64 ? 512 / kWidth : 64;
  static constexpr int64_t kStagePitch =
      (kMaxTileRows + kLine) * kWidth + 64;  // 64: rows off the same cache set
  static_assert(kStageCols * kStagePitch <= static_cast<int64_t>(kScratchBytes));

  // Line k of a column is its elements [start + k*kLine, + kLine), where start is the column's own
  // first line boundary. The lines are stored in blocks of columns and lines. kShift: the columns'
  // starts differ.
  template <bool kStream, bool kShift>
  void lines() const {
    const bool cut_cols =
        src_pitch_ % 64 == 0 && cols_ >= 4 * kN && reinterpret_cast<uintptr_t>(src_) % kWidth == 0;
    const int64_t first_col = cut_cols ? elements_to_line(src_, cols_) : 0;
    const int64_t end_col = first_col + (cols_ - first_col) / kN * kN;
    const int64_t start = kShift ? 0 : elements_to_line(dst_, rows_);
    // With shifts, a line takes its own tile and the next one.
    const int64_t whole = (rows_ - start) / kLine - (kShift ? 1 : 0);
    // Non-temporal stores or a source in DRAM: two lines of rows along a page of columns, which the
    // hardware prefetcher follows. In the caches: a strip two source lines wide; with shifts down
    // all rows, since each block of rows reads one tile more.
    //
    // On CPUs whose tiles may take all rows (Machine::tile_rows), strips go down all rows from
    // DRAM, too, except where the rows would share cache sets. How much faster each of these orders
    // is: docs/experiments/2026-11-26-kernel-choices.md, "Transposes".
    const bool along_rows = kStream || along_rows_;
    const bool may_meet = kShift ? src_pitch_ % 4096 == 0 && rows_ >= 1024
                                 : src_pitch_ % 4096 == 0 || dst_pitch_ % 4096 == 0;
    const bool down_rows = along_rows ? tile_rows_ >= rows_ && !may_meet : kShift;
    const int64_t block_cols =
        along_rows ? round_up(tile_cols_, kN) : 2 * (kLine > kN ? kLine : kN);
    // Columns of whole pages: some 16 non-temporal stores to the same offset of several pages wait
    // for each other. Four lines of a column at a time wait less than two; their source rows are
    // prefetched, as otherwise the loads take longer. That is faster for matrices in the caches and
    // not from DRAM. Tiles of half a line (AVX2) do not prefetch: it costs them more.
    const bool four_lines = kStream && !kShift && four_lines_ && dst_pitch_ % 4096 == 0;
    // Or along diagonals: each tile is in another row and another column than the one before, so
    // that neither side's lines share cache sets. On Zen 4 that is faster than four lines.
    const bool diagonals = kParts == 1 && !kShift && diagonals_ && along_rows && !down_rows &&
                           src_pitch_ % 4096 == 0 && (!kStream || four_lines);
    const int64_t block_lines = down_rows                 ? whole
                                : diagonals && kStream    ? 16
                                : diagonals || four_lines ? 4
                                                          : 2;
    for (int64_t c0 = first_col; c0 < end_col; c0 += block_cols) {
      const int64_t c1 = c0 + block_cols < end_col ? c0 + block_cols : end_col;
      for (int64_t k0 = 0; k0 < whole; k0 += block_lines) {
        const int64_t k1 = k0 + block_lines < whole ? k0 + block_lines : whole;
        if constexpr (kParts == 1 && !kShift) {
          if (diagonals) {
            diagonal_lines<kStream>(start, k0, k1, c0, c1);
            continue;
          }
        }
        // Tiles narrower than a line share source lines with their neighbours, which come next,
        // before other rows can evict those lines.
        constexpr int64_t kSharing = kShift ? kN : kN * kParts;
        for (int64_t c = c0; c < c1; c += kSharing) {
          if constexpr (kShift) {
            this->template shifted_lines<kStream>(k0, k1, c);
          } else {
            const int64_t end = c + kSharing < c1 ? c + kSharing : c1;
            for (int64_t k = k0; k < k1; ++k) {
              if (four_lines && kParts == 1)
                this->template prefetch_rows<256>(start + k * kLine, c, c1);
              for (int64_t i = c; i < end; i += kN)
                this->template line<kStream>(start + k * kLine, i);
            }
          }
        }
      }
      // With shifts the ends are moved element by element: a line combined from two columns' tiles
      // was no faster. (GCC 12 dropped its stores, by a defect of its own:
      // docs/experiments/2026-11-27-transposes-at-O1.md.)
      const bool dense = !kShift && dst_pitch_ == rows_ * kWidth;
      // Columns of whole lines have no ends; checking each column would take longer than a short
      // column takes.
      const bool has_ends = kShift || start > 0 || whole * kLine < rows_;
      for (int64_t c = c0; has_ends && c < c1; c += kN) {
        const bool wraps = dense && c + kN < cols_;
        if (!wraps) {
          for (int64_t i = c; i < c + kN; ++i)
            edge(kShift ? elements_to_line(at_dst(0, i), rows_) + whole * kLine
                        : start + whole * kLine,
                 rows_, i, i + 1);
        } else if (start > 0) {
          this->template wrapped_line<kStream>(start + whole * kLine, c);
        }
        // The elements before a column's first line were stored with the column before, if that
        // wrapped.
        for (int64_t i = c; i < c + kN; ++i) {
          const bool done = dense && (i > c ? wraps : c > first_col);
          if (!done) edge(0, elements_to_line(at_dst(0, i), rows_), i, i + 1);
        }
      }
    }
    // Element by element with non-temporal stores to columns of whole pages (four lines at a time):
    // there tiles are a little slower.
    const bool by_tiles = !kStream || diagonals || dst_pitch_ % 4096 != 0;
    by_tiles ? beside(0, first_col, start) : edge(0, rows_, 0, first_col);
    by_tiles ? beside(end_col, cols_, start) : edge(0, rows_, end_col, cols_);
  }

  // Lines [k0, k1) of the columns [c0, c1), diagonal after diagonal; a diagonal that leaves the
  // block on its right continues on its left.
  template <bool kStream>
  void diagonal_lines(int64_t start, int64_t k0, int64_t k1, int64_t c0, int64_t c1) const {
    for (int64_t first = c0; first < c1; first += kN) {
      int64_t c = first;
      for (int64_t k = k0; k < k1; ++k) {
        const int64_t r = start + k * kLine;
        if constexpr (kStream) this->template prefetch_rows<512>(r, c, c1);
        this->template line<kStream>(r, c);
        c = c + kN < c1 ? c + kN : c0;
      }
    }
  }

  // Short columns that begin anywhere in a line: their ends would be a large share, moved element
  // by element. So they are moved by unaligned tiles; the last tile overlaps the one before.
  static constexpr int64_t kShortColumn = 512;  // bytes

  void short_columns() const {
    const int64_t end_col = cols_ / kN * kN;
    for (int64_t c = 0; c < end_col; c += kN) {
      const auto tile = [&](int64_t r) LACUNA_INLINE {
        TileW::template run<false>(at_src(r, c), src_pitch_, at_dst(r, c), dst_pitch_);
      };
      for (int64_t r = 0; r + kN <= rows_; r += kN) tile(r);
      if (rows_ % kN != 0) tile(rows_ - kN);
    }
    edge(0, rows_, end_col, cols_);
  }

  static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

  // Through the buffer: if elements straddle lines, columns are short, or the instruction set has
  // no `shifted`. Block k takes source rows [k*T, (k+1)*T + overlap) and completes rows [k*T + s,
  // (k+1)*T + s) of each destination row, where s is that row's own shift to a line boundary; the
  // first and last blocks take the ends.
  void staged(std::byte* stage, int64_t tiled_cols, bool stream) const {
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

  int64_t tile_rows_;
  int64_t tile_cols_;
  bool along_rows_;
  bool four_lines_;
  bool diagonals_;
};

template <int64_t kWidth>
void transpose(const KernelCall& m) noexcept {
  constexpr int64_t kN = Tile<kWidth>::kN;
  if (m.inner.count < kN || m.outer.count < kN) {
    // Few rows or columns. An inner loop along the few visits each line and page of the other side
    // once; below four iterations it is mostly overhead, but cheaper than TLB misses (columns that
    // span 256 KiB and more).
    const bool inner_is_few = m.inner.count < m.outer.count;
    const Dim& least = inner_is_few ? m.inner : m.outer;
    const Dim& many = inner_is_few ? m.outer : m.inner;
    const int64_t step = std::max(std::abs(many.src_stride), std::abs(many.dst_stride));
    const bool along_few = least.count >= (step * many.count >= (int64_t{1} << 18) ? 2 : 4);
    KernelCall small = m;
    if (along_few != inner_is_few) std::swap(small.inner, small.outer);
    const bool is_dense = small.inner.dst_stride == kWidth || small.inner.src_stride == kWidth;
    if (is_dense && small.inner.count <= kMostShortRow && small.outer.count > 1)
      return short_rows<kWidth>(small);
    return strided<kWidth>(small);
  }
  if constexpr (kWidth <= 2) {
    if (gathers_columns(m, true)) {
      const Scratch scratch;
      if (scratch.data() != nullptr) return gather_narrow_columns<kWidth>(m, scratch.data());
    }
  }
  Transposer<kWidth>(m).run(m.non_temporal);
}
