// SPDX-License-Identifier: BSD-3-Clause
//
// What a tiled transpose (transpose.inl.hpp, whose names these are) is made of: where its elements
// are, the lines of a tile's columns, and what no whole tile or line covers. In which order they
// come is not said here. Included once per SIMD target, after tile.inl.hpp.

template <int64_t kWidth>
class TransposePieces {
 protected:
  explicit TransposePieces(const Move& m)
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

  // What is too narrow for tiles, element by element along the longer side of the source.
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

  // Columns [c0, c1), beside whole lines of the source, by tiles of which no other columns are
  // stored; few of them one by one. Zen 4, all one by one and so, us: floats, 256^2 9.2 and 7.4,
  // 1024^2 266 and 220, doubles, 64^2 1.07 and 0.85, 512^2 96 and 87. The others stored, too, and
  // past the caches: lines of few columns of whole pages wait for each other (2048^2 floats 1.17
  // and 1.30 ms).
  void beside(int64_t c0, int64_t c1, int64_t start) const {
    constexpr int64_t kLeast = kN < 8 ? 1 : kN / 4;
    for (; c1 - c0 >= kLeast; c0 += std::min(kN, c1 - c0)) {
      const int64_t tile = std::min(c0, cols_ - kN);
      // Stores that lie in one line each, but for the first and the last.
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

  // The rows of a line from r on, kBytes after column c of those before `end`; into the second
  // level: a page apart, more rows than the first level has ways wait for each other in it.
  template <int64_t kBytes>
  [[gnu::always_inline]] void ask_for_rows(int64_t r, int64_t c, int64_t end) const {
    constexpr int64_t kAhead = kBytes / kWidth;
    if (c + kAhead >= end) return;
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLine; ++i) __builtin_prefetch(at_src(r + i, c + kAhead), 0, 2);
  }

  // The lines of kN columns that begin at row r; `row(i)` is where row r + i of column c is read.
  // Each is stored at once, whatever tiles it is made of: a line that waits for its rest has as
  // many companions as tiles have columns, and may leave in pieces. Tile after tile and so, AVX2 on
  // Zen 4, us, by the buffer before: n = 1024, 4 bytes 1200 and 359, 2 bytes 590 and 288.
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

  // Where line 0 of kN columns is, and which lanes of two tiles it takes.
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
