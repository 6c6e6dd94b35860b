// SPDX-License-Identifier: BSD-3-Clause
//
// The pieces of a tiled transpose (transpose.inl.hpp, which has the names): addresses of elements,
// the lines of a tile's columns, and what no whole tile or line covers. The order of the pieces is
// not decided here. Included once per SIMD target, after tile.inl.hpp.

template <int64_t kWidth>
class TransposePieces {
 protected:
  explicit TransposePieces(const KernelCall& m)
      : src_(m.src),
        dst_(m.dst),
        rows_(m.inner.count),
        cols_(m.outer.count),
        src_pitch_(m.inner.src_stride),
        dst_pitch_(m.outer.dst_stride) {}

  using TileW = Tile<kWidth>;
  using V = typename TileW::V;
  static constexpr int64_t kN = TileW::kN;
  static constexpr int64_t kLine = 64 / kWidth;  // elements
  static constexpr int64_t kParts = kLine / kN;  // tiles in a line

  const std::byte* at_src(int64_t r, int64_t c) const { return src_ + r * src_pitch_ + c * kWidth; }
  std::byte* at_dst(int64_t r, int64_t c) const { return dst_ + c * dst_pitch_ + r * kWidth; }

  // Row r >= rows_ of a column is row r - rows_ of the next: columns follow each other (dense).
  const std::byte* at_src_wrapped(int64_t r, int64_t c) const {
    return r < rows_ ? at_src(r, c) : at_src(r - rows_, c + 1);
  }

  // What is too narrow for tiles: element by element, the shorter side in the inner loop.
  void edge(int64_t r0, int64_t r1, int64_t c0, int64_t c1) const {
    if (r1 - r0 < c1 - c0) {
      for (int64_t c = c0; c < c1; ++c) {
        for (int64_t r = r0; r < r1; ++r) copy_block<kWidth>(at_dst(r, c), at_src(r, c));
      }
    } else {
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c) copy_block<kWidth>(at_dst(r, c), at_src(r, c));
      }
    }
  }

  // Elements from `p` to the next line boundary, at most `limit`.
  static int64_t elements_to_line(const std::byte* p, int64_t limit) {
    const int64_t elements = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(p) & 63) / kWidth;
    return elements < limit ? elements : limit;
  }

  // Columns [c0, c1) beside the whole lines of the source: by tiles, of which the other columns are
  // not stored; element by element if there are few. Storing the others, too, by non-temporal
  // stores is slower (docs/experiments/2026-11-26-kernel-choices.md).
  void beside(int64_t c0, int64_t c1, int64_t start) const {
    constexpr int64_t kLeast = kN < 8 ? 1 : kN / 4;
    for (; c1 - c0 >= kLeast; c0 += std::min(kN, c1 - c0)) {
      const int64_t tile = std::min(c0, cols_ - kN);
      // Aligned, so that only the first and the last stores may cross lines.
      int64_t next = start % kN != 0 ? start % kN : kN;
      for (int64_t r = 0;; r = std::min(next, rows_ - kN), next += kN) {
        V cols[kN];
        const std::byte* src = at_src(r, tile);
        TileW::load([&](int64_t i) { return src + i * src_pitch_; }, cols);
#pragma GCC unroll 16
        for (int64_t i = 0; i < kN; ++i) {
          const int64_t c = tile + i;
          if (c >= c0 && c < c1) TileW::template store<false>(cols[i], at_dst(r, c));
        }
        if (r + kN >= rows_) break;
      }
    }
    edge(0, rows_, c0, c1);
  }

  // Prefetches a line's rows from r on, kBytes after column c, up to column `end`. Into the L2:
  // rows a page apart share L1 sets, which have fewer ways than there are rows.
  template <int64_t kBytes>
  [[gnu::always_inline]] void prefetch_rows(int64_t r, int64_t c, int64_t end) const {
    constexpr int64_t kAhead = kBytes / kWidth;
    if (c + kAhead >= end) return;
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLine; ++i) __builtin_prefetch(at_src(r + i, c + kAhead), 0, 2);
  }

  // Stores the lines of kN columns that begin at row r; `row(i)` is where row r + i of column c is
  // read. Each line is stored at once, even if it takes several tiles: tile after tile, as many
  // lines as a tile has columns would be incomplete at a time, and lines would leave in pieces
  // (docs/experiments/2026-11-26-transpose-kernels.md).
  template <bool kStream, typename Row>
  [[gnu::always_inline]] void line_of(Row row, int64_t r, int64_t c) const {
    V cols[kParts][kN];
#pragma GCC unroll 4
    for (int64_t p = 0; p < kParts; ++p)
      TileW::load([&](int64_t i) { return row(p * kN + i); }, cols[p]);
    std::byte* dst = at_dst(r, c);
#pragma GCC unroll 16
    for (int64_t i = 0; i < kN; ++i) {
#pragma GCC unroll 4
      for (int64_t p = 0; p < kParts; ++p)
        TileW::template store<kStream>(cols[p][i], dst + p * kN * kWidth);
      dst += dst_pitch_;
    }
  }

  template <bool kStream>
  [[gnu::always_inline]] void line(int64_t r, int64_t c) const {
    const std::byte* src = at_src(r, c);
    line_of<kStream>([&](int64_t i) { return src + i * src_pitch_; }, r, c);
  }

  template <bool kStream>
  void wrapped_line(int64_t r, int64_t c) const {
    line_of<kStream>([&](int64_t i) { return at_src_wrapped(r + i, c); }, r, c);
  }

  // For each of kN columns: its first line, and the shift that selects that line from two tiles.
  struct Starts {
    Starts(const TransposePieces& t, int64_t c) {
      for (int64_t i = 0; i < kN; ++i) {
        first[i] = elements_to_line(t.at_dst(0, c + i), kLine);
        out[i] = t.at_dst(first[i], c + i);
      }
    }
    int64_t first[kN];
    std::byte* out[kN];
  };

  // Lines [k0, k1) of the columns [c, c + kN).
  template <bool kStream>
  void shifted_lines(int64_t k0, int64_t k1, int64_t c) const {
    const Starts starts(*this, c);
    V low[kN];
    V high[kN];
    const std::byte* src = at_src(k0 * kLine, c);
    const auto row = [&](int64_t i) { return src + i * src_pitch_; };
    TileW::load(row, low);
    for (int64_t k = k0; k < k1; ++k) {
      src += kLine * src_pitch_;
      TileW::load(row, high);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kN; ++i) {
        TileW::template store<kStream>(
            TileW::shifted(low[i], high[i], TileW::lanes_from(starts.first[i])),
            starts.out[i] + k * 64);
        low[i] = high[i];
      }
    }
  }

  const std::byte* src_;
  std::byte* dst_;
  int64_t rows_;
  int64_t cols_;
  int64_t src_pitch_;
  int64_t dst_pitch_;
};
