// SPDX-License-Identifier: BSD-3-Clause
//
// The transpose of elements without register tiles (3, 12, 24 bytes, ..., up to a line), and of 1
// and 2 bytes. Names as in transpose.inl.hpp. Included once per SIMD target, after tile.inl.hpp.
//
// The matrix is moved in strips of columns, down all rows. A row's part of a strip is read once;
// each element is written to its column in a buffer by one move of the next power of two. Excess
// bytes that it writes are overwritten by the next row's element; excess bytes that it reads belong
// to the next column. The buffer's columns have the same offset in a line as the destination's, so
// whole lines are stored from there; a column's last, partial line is where the next rows continue.
//
// A plain loop comes back to the source's rows for each column, and loses them where they share
// cache sets; this does not. In the caches only such rows gain by it.
//
// Tried: prefetch in the caches, too (2 times as slow); 4 and 8 bytes by their tiles through the
// buffer (0.44 to 0.75 of the speed). Measured: docs/experiments/2026-11-26-kernel-choices.md.

// Moves elements from the rows of a strip to its columns in the buffer: one row at a time, each
// element by one move of kMove bytes, less than twice its size.
template <int64_t kMove>
struct OneRow {
  static constexpr int64_t kRows = 1;
  explicit OneRow(int64_t width) : width_(width) {}

  // Element c of the row to at[c] + offset, for c in [0, cols). is_last: nothing may be read beyond
  // the last element.
  [[gnu::always_inline]] void move(const std::byte* src, int64_t, std::byte* const* at,
                                   int64_t offset, int64_t cols, bool is_last) const {
    const int64_t whole = is_last ? cols - 1 : cols;
    int64_t c = 0;
    for (; c + 4 <= whole; c += 4) {
      copy_vector<kMove>(at[c] + offset, src);
      copy_vector<kMove>(at[c + 1] + offset, src + width_);
      copy_vector<kMove>(at[c + 2] + offset, src + 2 * width_);
      copy_vector<kMove>(at[c + 3] + offset, src + 3 * width_);
      src += 4 * width_;
    }
    for (; c < whole; ++c) {
      copy_vector<kMove>(at[c] + offset, src);
      src += width_;
    }
    if (is_last) copy_run(at[c] + offset, src, width_);
  }

 private:
  int64_t width_;
};

// kN rows at a time by register tiles; the remaining columns one element at a time.
template <typename Tiles, int64_t kMove>
struct TiledRows {
  static constexpr int64_t kRows = Tiles::kN;
  explicit TiledRows(int64_t width) : tiles_(width), one_(width), width_(width) {}

  [[gnu::always_inline]] void move(const std::byte* src, int64_t pitch, std::byte* const* at,
                                   int64_t offset, int64_t cols, bool is_last) const {
    int64_t c = 0;
    for (; c + kRows <= cols; c += kRows) tiles_.move(src + c * width_, pitch, at + c, offset);
    for (int64_t i = 0; c < cols && i < kRows; ++i)
      one_.move(src + i * pitch + c * width_, pitch, at + c, offset + i * width_, cols - c,
                is_last);
  }

 private:
  Tiles tiles_;
  OneRow<kMove> one_;
  int64_t width_;
};

// Tiles for 1 and 2 bytes.
template <int64_t kWidth>
struct NarrowTiles {
  static constexpr int64_t kN = Tile<kWidth>::kN;
  explicit NarrowTiles(int64_t) {}

  [[gnu::always_inline]] void move(const std::byte* src, int64_t pitch, std::byte* const* at,
                                   int64_t offset) const {
    typename Tile<kWidth>::V cols[kN];
    Tile<kWidth>::load([&](int64_t i) { return src + i * pitch; }, cols);
#pragma GCC unroll 16
    for (int64_t c = 0; c < kN; ++c) Tile<kWidth>::template store<false>(cols[c], at[c] + offset);
  }
};

#if HWY_TARGET == HWY_AVX3
// Tiles for 3 bytes and 5 to 7: spread into lanes of 4 and 8 bytes by one permute of bytes, and
// joined by another. For CPUs with AVX-512 VBMI.
template <int64_t kLane>
struct SpreadTiles {
  using TileL = Tile<kLane>;
  static constexpr int64_t kN = TileL::kN;

  explicit SpreadTiles(int64_t width) {
    alignas(64) uint8_t spread_lanes[64];
    alignas(64) uint8_t join_lanes[64] = {};
    for (int64_t i = 0; i < 64; ++i) {
      const int64_t byte = i % kLane < width ? i % kLane : 0;
      spread_lanes[i] = static_cast<uint8_t>(i / kLane * width + byte);
      if (i < kN * width) join_lanes[i] = static_cast<uint8_t>(i / width * kLane + i % width);
    }
    spread_lanes_ = _mm512_load_si512(spread_lanes);
    join_lanes_ = _mm512_load_si512(join_lanes);
    data_ = (uint64_t{1} << (kN * width)) - 1;
  }

  [[gnu::always_inline]] void move(const std::byte* src, int64_t pitch, std::byte* const* at,
                                   int64_t offset) const {
    typename TileL::V rows[kN];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kN; ++i)
      rows[i].raw = permuted(spread_lanes_, _mm512_maskz_loadu_epi8(data_, src + i * pitch));
    TileL::transpose(rows);
#pragma GCC unroll 16
    for (int64_t c = 0; c < kN; ++c)
      _mm512_storeu_si512(at[c] + offset, permuted(join_lanes_, rows[c].raw));
  }

 private:
  static __m512i permuted(__m512i places, __m512i bytes) {
    __m512i out;
    asm("vpermb %2, %1, %0" : "=v"(out) : "v"(places), "v"(bytes));
    return out;
  }

  __m512i spread_lanes_;
  __m512i join_lanes_;
  __mmask64 data_;
};
#endif

// kMove: bytes of a move for elements that are moved one by one.
template <typename Rows, int64_t kMove>
class GatheringTransposer {
 public:
  GatheringTransposer(const KernelCall& m, std::byte* stage)
      : m_(m), stage_(stage), rows_(m.width), one_(m.width) {
    for (int64_t c = 0; c < m.outer.count; c += kCols) {
      const int64_t left = m.outer.count - c;
      strip(c, left < kCols ? left : kCols, left <= kCols);
    }
    if (m.non_temporal) hwy::FlushStream();
  }

 private:
  // A strip is a whole number of lines wide. Columns of the buffer hold kGathered bytes at a time;
  // both sizes are measured (docs/experiments/2026-11-26-kernel-choices.md).
  static constexpr int64_t kCols = kMove > 16 ? 32 : 64;
  static constexpr int64_t kGathered = kMove > 16 ? 448 : 320;
  // With room for the rest of a line and the excess of the last move. An odd number of lines, so
  // that columns do not share L1 sets.
  static constexpr int64_t kPitch = kGathered + 128;
  static_assert(kCols * kPitch <= static_cast<int64_t>(kScratchBytes));
  static constexpr int64_t kPrefetchedRows = Rows::kRows > 1 ? Rows::kRows : 4;

  void strip(int64_t c0, int64_t cols, bool is_last) const {
    // Copies: to the compiler, stores to the buffer may change the members.
    std::byte* const stage = stage_;
    const Rows mover = rows_;
    const OneRow<kMove> one = one_;
    const bool stream = m_.non_temporal;
    std::byte* at[kCols];  // where the next row goes
    const int64_t width = m_.width;
    const int64_t rows = m_.inner.count;
    const int64_t pitch = m_.inner.src_stride;
    std::byte* const first = m_.dst + c0 * m_.outer.dst_stride;
    for (int64_t c = 0; c < cols; ++c)
      at[c] = stage + c * kPitch + in_line(first + c * m_.outer.dst_stride);
    const std::byte* src = m_.src + c0 * width;
    const int64_t most = kGathered / width / Rows::kRows * Rows::kRows;
    for (int64_t r = 0; r < rows; r += most) {
      const int64_t n = rows - r < most ? rows - r : most;
      int64_t i = 0;
      for (; i + Rows::kRows <= n; i += Rows::kRows) {
        if (stream && r + i + kPrefetchedRows < rows) {
          for (int64_t k = 0; k < Rows::kRows; ++k)
            prefetch(src + (kPrefetchedRows + k) * pitch, cols * width);
        }
        mover.move(src, pitch, at, i * width, cols, is_last);
        src += Rows::kRows * pitch;
      }
      for (; i < n; ++i) {
        one.move(src, pitch, at, i * width, cols, is_last);
        src += pitch;
      }
      for (int64_t c = 0; c < cols; ++c) {
        at[c] = store_column(stream, stage + c * kPitch, at[c] + n * width,
                             first + c * m_.outer.dst_stride + r * width, r == 0, r + n == rows,
                             at[c] - (stage + c * kPitch));
      }
    }
  }

  // Stores the whole lines of a column's bytes [stage + from, end) to dst; at the column's ends
  // also partial lines. Returns where the next bytes go. (copy_run_stream and copy_run check each
  // time what is known here, and are slower: docs/experiments/2026-11-26-kernel-choices.md.)
  static std::byte* store_column(bool stream, std::byte* stage, std::byte* end, std::byte* dst,
                                 bool is_first, bool is_end, int64_t from) {
    const int64_t gathered = end - stage;
    const int64_t lines = gathered & -64;
    std::byte* const out = dst - from;  // the line in which the column's bytes begin
    int64_t begin = 0;
    if (is_first && from > 0) {
      begin = 64;
      if (!is_end || gathered >= 64) copy_run(dst, stage + from, 64 - from);
    }
    if (stream) {
      for (int64_t i = begin; i < lines; i += 64) stream_line(out + i, stage + i);
    } else {
      for (int64_t i = begin; i < lines; i += 64) copy_vector<64>(out + i, stage + i);
    }
    if (is_end) {
      const int64_t rest = lines > 0 ? lines : is_first ? from : 0;
      if (gathered > rest) copy_run(out + rest, stage + rest, gathered - rest);
      return stage;
    }
    copy_vector<64>(stage, stage + lines);
    return stage + (gathered - lines);
  }

  static void stream_line(std::byte* dst, const std::byte* src) {
    const Bytes d;
    for (int64_t i = 0; i < 64; i += static_cast<int64_t>(hn::Lanes(d)))
      hn::Stream(hn::LoadU(d, as_u8(src) + i), d, as_u8(dst) + i);
  }

  static void prefetch(const std::byte* src, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(src + i, 0, 3);
  }

  static int64_t in_line(const std::byte* p) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) & 63);
  }

  const KernelCall& m_;
  std::byte* const stage_;
  Rows rows_;
  OneRow<kMove> one_;
};

// Whether the buffer pays: columns of some lines, and enough of them; and, if elements are moved
// one by one, non-temporal stores or source rows that share cache sets.
inline bool gathers_columns(const KernelCall& m, bool has_tiles) {
  constexpr int64_t kMeeting = 2048;
  const int64_t bytes = m.inner.count * m.width;
  if (m.width > 64 || bytes < 128 || m.outer.count < 16) return false;
  if (has_tiles) return bytes * m.outer.count >= 4096;
  return m.width >= 3 && (m.non_temporal ||
                          (m.inner.src_stride % kMeeting == 0 && bytes * m.outer.count >= 1 << 16));
}

template <int64_t kMove>
void gather_columns(const KernelCall& m, std::byte* stage) noexcept {
  GatheringTransposer<OneRow<kMove>, kMove>(m, stage);
}

template <int64_t kWidth>
void gather_narrow_columns(const KernelCall& m, std::byte* stage) noexcept {
  GatheringTransposer<TiledRows<NarrowTiles<kWidth>, kWidth>, kWidth>(m, stage);
}

#if HWY_TARGET == HWY_AVX3
template <int64_t kLane>
void gather_spread_columns(const KernelCall& m, std::byte* stage) noexcept {
  GatheringTransposer<TiledRows<SpreadTiles<kLane>, kLane>, kLane>(m, stage);
}
#endif

// Loops over runs, for as many rows at a time as stay in the L1.
[[gnu::noinline]] inline void transpose_by_runs(const KernelCall& m) noexcept {
  const int64_t rows = m.inner.count;
  const int64_t most = m.tile_rows > 0 ? m.tile_rows : rows;
  KernelCall block = m;
  block.non_temporal = false;
  for (int64_t r = 0; r < rows; r += most) {
    block.inner.count = rows - r < most ? rows - r : most;
    strided_any(block);
    block.src += most * m.inner.src_stride;
    block.dst += most * m.inner.dst_stride;
  }
}

template <bool kPermutesBytes>
void transpose_any(const KernelCall& m) noexcept {
  const bool has_tiles = kPermutesBytes && (m.width == 3 || (m.width >= 5 && m.width <= 7));
  if (!gathers_columns(m, has_tiles)) return transpose_by_runs(m);
  const Scratch scratch;
  std::byte* const stage = scratch.data();
  if (stage == nullptr) return transpose_by_runs(m);
#if HWY_TARGET == HWY_AVX3
  if (has_tiles) {
    return m.width == 3 ? gather_spread_columns<4>(m, stage) : gather_spread_columns<8>(m, stage);
  }
#endif
  if (m.width <= 4) return gather_columns<4>(m, stage);
  if (m.width <= 8) return gather_columns<8>(m, stage);
  if (m.width <= 16) return gather_columns<16>(m, stage);
  if (m.width <= 32) return gather_columns<32>(m, stage);
  gather_columns<64>(m, stage);
}
