// SPDX-License-Identifier: BSD-3-Clause
//
// The transpose of elements that no register tile is made of: 3, 12, 24 bytes (a colour, a place),
// up to a line. Names as in transpose.inl.hpp. Included once per SIMD target, after it.
//
// Strips of columns, down all rows. A row's part of a strip is read from end to end and each of its
// elements written to its column in a buffer, by one move of the next power of two: what it writes
// too much the next row's element covers, and what it reads too much is the next column's. The
// buffer's columns begin where the destination's do in a line, so what has gathered in them leaves
// as whole lines, and the line that is not whole yet is where the next rows go on.
//
// So the source's rows may meet in the same places of the caches, which a plain loop comes back to
// for each column. Zen 4, n x n elements, time over memcpy by loops of runs in blocks (below) and
// so: 12 bytes, n = 1024 4.06 and 1.5, 1000 3.2 and 1.5, 512 4.3 and 2.8; 24 bytes, n = 1024 2.4
// and 1.4, 512 4.5 and 2.0; 3 bytes, n = 1024 7.5 and 6.4, 512 11.5 and 7.3; 7 bytes, n = 1024 4.7
// and 2.1; 48 bytes 1.5 and 1.25. In the caches, by stores through them, only rows that meet gain:
// 20 bytes, n = 256 (5 KiB apart) 1.8 and 2.6, 24 bytes (6 KiB) 3.1 and 2.3, n = 64 1.7 and 3.2.
//
// Tried: asking for the source's next rows in the caches, too: 20 bytes, n = 512 2.1 and 4.5.

// kMove: the bytes of one move, less than twice the element's.
template <int64_t kMove>
class GatheringTransposer {
 public:
  explicit GatheringTransposer(const Move& m) : m_(m) {
    for (int64_t c = 0; c < m.outer.count; c += kCols) {
      const int64_t left = m.outer.count - c;
      strip(c, left < kCols ? left : kCols, left <= kCols);
    }
    if (m.stream) hwy::FlushStream();
  }

 private:
  // A strip is a whole number of lines. Out of the caches (n = 1024), strips of 32 and 64 columns,
  // by 448 and 320 bytes a column: 24 bytes 1.4 and 1.55, 12 bytes 1.7 and 1.6, 7 bytes 2.5 and
  // 2.1; by 64 and 192: 1.5, 1.5 and 2.0; 128 and 192: 1.8, 1.8, 2.0.
  static constexpr int64_t kCols = kMove > 16 ? 32 : 64;
  static constexpr int64_t kGathered = kMove > 16 ? 448 : 320;
  // An odd number of lines, or columns would meet in a few places of the first level: what is left
  // of a line, what gathers, and what the last move writes too much.
  static constexpr int64_t kPitch = kGathered + 128;
  static constexpr int64_t kAskedRows = 4;

  void strip(int64_t c0, int64_t cols, bool is_last) const {
    alignas(64) std::byte stage[kCols * kPitch];
    std::byte* at[kCols];  // where the next row goes
    const int64_t width = m_.width;
    const int64_t rows = m_.inner.count;
    std::byte* const first = m_.dst + c0 * m_.outer.dst_stride;
    for (int64_t c = 0; c < cols; ++c)
      at[c] = stage + c * kPitch + in_line(first + c * m_.outer.dst_stride);
    const std::byte* src = m_.src + c0 * width;
    const int64_t most = kGathered / width;
    for (int64_t r = 0; r < rows; r += most) {
      const int64_t n = rows - r < most ? rows - r : most;
      for (int64_t i = 0; i < n; ++i) {
        if (m_.stream && r + i + kAskedRows < rows)
          ask(src + kAskedRows * m_.inner.src_stride, cols * width);
        row(src, at, i * width, cols, is_last);
        src += m_.inner.src_stride;
      }
      for (int64_t c = 0; c < cols; ++c) {
        at[c] = leave(stage + c * kPitch, at[c] + n * width,
                      first + c * m_.outer.dst_stride + r * width, r == 0, r + n == rows,
                      at[c] - (stage + c * kPitch));
      }
    }
  }

  // The next element of each column, from a row of the source. Behind the last of a message's there
  // may be nothing to read.
  [[gnu::always_inline]] void row(const std::byte* src, std::byte* const* at, int64_t offset,
                                  int64_t cols, bool is_last) const {
    const int64_t width = m_.width;
    const int64_t whole = is_last ? cols - 1 : cols;
    int64_t c = 0;
    for (; c + 4 <= whole; c += 4) {
      copy_vector<kMove>(at[c] + offset, src);
      copy_vector<kMove>(at[c + 1] + offset, src + width);
      copy_vector<kMove>(at[c + 2] + offset, src + 2 * width);
      copy_vector<kMove>(at[c + 3] + offset, src + 3 * width);
      src += 4 * width;
    }
    for (; c < whole; ++c) {
      copy_vector<kMove>(at[c] + offset, src);
      src += width;
    }
    if (is_last) copy_run(at[c] + offset, src, width);
  }

  // Writes the whole lines of a column's bytes [stage + from, end), which go to dst; its first and
  // last line as far as they are the column's. Where the next go.
  std::byte* leave(std::byte* stage, std::byte* end, std::byte* dst, bool is_first, bool is_end,
                   int64_t from) const {
    const int64_t gathered = end - stage;
    const int64_t lines = gathered & -64;
    std::byte* const out = dst - from;  // of the line in which the column's bytes begin
    int64_t begin = 0;
    if (is_first && from > 0) {
      begin = 64;
      if (!is_end || gathered >= 64) copy_run(dst, stage + from, 64 - from);
    }
    if (m_.stream) {
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

  static void ask(const std::byte* src, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(src + i, 0, 3);
  }

  static int64_t in_line(const std::byte* p) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) & 63);
  }

  const Move& m_;
};

// Strips must be worth a buffer: columns of some lines, enough of them, and rows that are written
// past the caches or meet in the same places of them.
inline bool gathers_columns(const Move& m) {
  constexpr int64_t kMeeting = 2048;
  const int64_t bytes = m.inner.count * m.width;
  return m.width >= 3 && m.width <= 64 && bytes >= 128 && m.outer.count >= 16 &&
         (m.stream || (m.inner.src_stride % kMeeting == 0 && bytes * m.outer.count >= 1 << 16));
}

inline void transpose_any(const Move& m) noexcept {
  if (!gathers_columns(m)) {
    // Loops of runs, of as many rows at a time as stay in the first level.
    const int64_t rows = m.inner.count;
    const int64_t most = m.tile_rows > 0 ? m.tile_rows : rows;
    Move block = m;
    block.stream = false;
    for (int64_t r = 0; r < rows; r += most) {
      block.inner.count = rows - r < most ? rows - r : most;
      strided_any(block);
      block.src += most * m.inner.src_stride;
      block.dst += most * m.inner.dst_stride;
    }
  } else if (m.width <= 4) {
    GatheringTransposer<4>{m};
  } else if (m.width <= 8) {
    GatheringTransposer<8>{m};
  } else if (m.width <= 16) {
    GatheringTransposer<16>{m};
  } else if (m.width <= 32) {
    GatheringTransposer<32>{m};
  } else {
    GatheringTransposer<64>{m};
  }
}
