// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level strided movers for one width, and for any; and by field. Included once per SIMD
// target, inside its namespace (simd.cpp).

// One block of kWidth bytes, 1 to 16; the compiler makes one load and one store of it.
template <int64_t kWidth>
[[gnu::always_inline]] inline void copy_block(std::byte* dst, const std::byte* src) {
  std::memcpy(dst, src, static_cast<size_t>(kWidth));
}

// Asks for the lines of [p, p + bytes), bytes >= 1, to be read or written soon. May be given any
// address.
template <bool kWrite>
[[gnu::always_inline]] inline void touch(const std::byte* p, int64_t bytes) {
  __builtin_prefetch(p, kWrite ? 1 : 0, 3);
  if (bytes == 1) return;
  // Of longer runs the hardware finds the rest by itself.
  const int64_t most = bytes < 256 ? bytes : 256;
  for (int64_t i = 64; i < most; i += 64) __builtin_prefetch(p + i, kWrite ? 1 : 0, 3);
  __builtin_prefetch(p + most - 1, kWrite ? 1 : 0, 3);
}

// What of each block is asked for ahead: nothing, the one line that it lies in, all its lines.
enum class Ahead { kNone, kLine, kLines };

// Whether every block of `bytes` on that side lies in one line: blocks are at the same place of
// each unit of memory that divides all strides, and must not leave it.
inline bool lies_in_a_line(const std::byte* p, int64_t outer_stride, int64_t inner_stride,
                           int64_t bytes) {
  const int64_t strides = outer_stride | inner_stride | 64;
  const int64_t unit = strides & -strides;
  return (static_cast<int64_t>(reinterpret_cast<uintptr_t>(p)) & (unit - 1)) + bytes <= unit;
}

// Runs whose lines the first level surely holds.
constexpr int64_t kNearRuns = 512;
constexpr int64_t kShortRow = 16;

// Whether all runs are moved by one instruction, which is what hardware learns strides by: each is
// one load from a line of its own, or a line (Zen 5: 64 bytes at 128 unpacked 558 ns, four at a
// time 700; 32 at 256 1.31 and 1.22 us, so not those). Granite Rapids, blocks of 4 and 8 bytes at
// 64, out of memory: 1.3 times as fast as four at a time, 64 bytes out of the first level 0.9
// times. Zen 5, at strides that Move::one_by_one leaves out: 8 bytes at 64 0.85 times, at 1056 0.9
// times. Out of the first level there is nothing to learn: 512 doubles at 192 bytes 211 and, four
// at a time, 153 ns.
template <Ahead kAhead>
[[gnu::always_inline]] inline bool goes_one_by_one(const Move& m, int64_t width) {
  const bool scatters = m.inner.dst_stride != width;
  if (width != 64 && (width > 16 || scatters)) return false;
  // Short rows of lines: what four at a time needs to know takes longer than it saves (Zen 5, 8
  // rows of 8 in the first level: 35 and 26 ns).
  if (width == 64 && m.inner.count < kShortRow) return true;
  if (width > m.one_by_one || (width & (width - 1)) != 0) return false;
  const int64_t stride = scatters ? m.inner.dst_stride : m.inner.src_stride;
  if (stride < 64 && stride > -64) return false;
  const int64_t runs = m.outer.count * m.inner.count;
  return runs <= m.one_by_one_runs && (kAhead != Ahead::kNone || runs > kNearRuns);
}

// The loops; `copy(dst, src)` moves one block. With kAhead the blocks m.ahead later are asked for:
// those of the side with gaps, the other is dense and the hardware follows it. Packing blocks wider
// than 16 bytes loses by it (40 and 128 bytes: 1.3). Four blocks in flight; those of one move each
// at places that do not wait for each other (of several there is no register left for that: 16 rows
// of 65 runs of 92 bytes 0.9 times as fast).
template <Ahead kAhead, bool kOneMove, typename Copy>
[[gnu::always_inline]] inline void strided_loops(const Move& m, int64_t width, Copy copy) {
  constexpr bool kApart = kOneMove && kAhead == Ahead::kNone;
  // Here, not in m: as far as the compiler knows, a block may change it.
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  const int64_t src_row = m.outer.src_stride;
  const int64_t dst_row = m.outer.dst_stride;
  const bool scatters = dst_stride != width;
  const bool asks = scatters || width <= 16;
  const int64_t ahead = m.ahead * (scatters ? dst_stride : src_stride);
  const int64_t ahead_bytes = kAhead == Ahead::kLine ? 1 : scatters ? m.ahead_bytes : width;
  const bool one_by_one = kOneMove && goes_one_by_one<kAhead>(m, width);
  int64_t src_twice = 2 * src_stride;
  int64_t src_thrice = 3 * src_stride;
  int64_t dst_twice = 2 * dst_stride;
  int64_t dst_thrice = 3 * dst_stride;
  // The compiler must be kept from adding up their places one by one.
  asm("" : "+r"(src_twice), "+r"(src_thrice), "+r"(dst_twice), "+r"(dst_thrice));
  const std::byte* src_begin = m.src;
  std::byte* dst_begin = m.dst;
  const int64_t runs = m.inner.count;
  for (int64_t i = m.outer.count; i > 0; --i) {
    const std::byte* src = src_begin;
    std::byte* dst = dst_begin;
    const auto one = [&]() LACUNA_INLINE {
      if constexpr (kAhead != Ahead::kNone) {
        if (scatters) {
          touch<true>(dst + ahead, ahead_bytes);
        } else if (asks) {
          touch<false>(src + ahead, ahead_bytes);
        }
      }
      copy(dst, src);
      src += src_stride;
      dst += dst_stride;
    };
    int64_t left = runs;
    if (!one_by_one) {
      for (; left >= 4; left -= 4) {
        if constexpr (kApart) {
          copy(dst, src);
          copy(dst + dst_stride, src + src_stride);
          copy(dst + dst_twice, src + src_twice);
          copy(dst + dst_thrice, src + src_thrice);
          src += 2 * src_twice;
          dst += 2 * dst_twice;
        } else {
          one();
          one();
          one();
          one();
        }
      }
    }
#pragma GCC unroll 1
    for (; left > 0; --left) one();
    src_begin += src_row;
    dst_begin += dst_row;
  }
}

inline bool is_repeated(const Move& m) {
  return m.repeats > 1 && m.inner.dst_stride != m.width &&
         m.outer.count * m.inner.count >= m.repeats_from &&
         m.outer.count * m.inner.count < m.repeats_below;
}

// Each run is stored several times. A CPU that fetches the lines of all stores in its queue before
// the first of them leaves fetches too many, where they meet in the same few places of the first
// level: they are gone again when their turn comes. Stores that add nothing keep the queue short of
// lines. Zen 5, 64 KiB out of the second and third level:
// 8 bytes at 512 27 and, three times, 11 us; 16 at 1024 18 and, six times, 6; 8 at 4096 59 and,
// sixteen times, 31; 64 at 1024 3.8 and, twice, 1.2; 64 at 4096 6.6 and, eight times, 2.5.
template <typename Copy>
[[gnu::always_inline]] inline void repeated_rows(const Move& m, Copy copy) {
  for (int64_t i = 0; i < m.outer.count; ++i) {
    const std::byte* src = m.src + i * m.outer.src_stride;
    std::byte* dst = m.dst + i * m.outer.dst_stride;
    for (int64_t j = 0; j < m.inner.count; ++j) {
      for (int64_t k = 0; k < m.repeats; ++k) {
        copy(dst, src);
        asm volatile("" ::: "memory");
      }
      src += m.inner.src_stride;
      dst += m.inner.dst_stride;
    }
  }
}

template <bool kOneMove, typename Copy>
[[gnu::always_inline]] inline void strided_rows(const Move& m, int64_t width, Copy copy) {
  if (m.ahead == 0) return strided_loops<Ahead::kNone, kOneMove>(m, width, copy);
  const bool scatters = m.inner.dst_stride != width;
  const int64_t outer = m.outer.count == 1 ? 0 : scatters ? m.outer.dst_stride : m.outer.src_stride;
  if (scatters ? lies_in_a_line(m.dst, outer, m.inner.dst_stride, m.ahead_bytes)
               : lies_in_a_line(m.src, outer, m.inner.src_stride, width)) {
    strided_loops<Ahead::kLine, kOneMove>(m, width, copy);
  } else {
    strided_loops<Ahead::kLines, kOneMove>(m, width, copy);
  }
}

template <int64_t kWidth>
void strided(const Move& m) noexcept {
  const auto copy = [](std::byte* dst, const std::byte* src)
                        LACUNA_INLINE { copy_block<kWidth>(dst, src); };
  if (is_repeated(m)) [[unlikely]]
    return repeated_rows(m, copy);
  strided_rows<true>(m, kWidth, copy);
}

// Runs of so many bytes are loops themselves; four of them side by side, with a choice by length in
// each, take 1.7 times as long (16 runs of 768 bytes) and keep fewer misses on their way (256 runs
// of 256 bytes from memory: 1.4).
constexpr int64_t kLongRun = 128;
// The next runs' first lines are asked for, whatever the message, where that costs nothing: out of
// memory 1.1 to 1.8 times faster (256 bytes at 512: 18 to 10 us for 64 KiB), within caches level on
// Intel's, 1.1 to 1.25 times slower on Zen 5. Packing runs of less than a KiB it is 1.1 to 1.5
// times slower.
constexpr int64_t kAskedRun = 1024;

// The runs of a message of so many bytes, and where they go, are in the first level.
constexpr int64_t kNearMessage = 16384;

template <typename Copy>
[[gnu::always_inline]] inline void long_rows(const Move& m, Copy copy) {
  const int64_t width = m.width;  // the compiler must think that a run may change m
  const int64_t ahead = width < 512 ? 512 / width : 1;
  const bool asks = m.asks_always || m.ahead > 0;
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  for (int64_t i = 0; i < m.outer.count; ++i) {
    const std::byte* src = m.src + i * m.outer.src_stride;
    std::byte* dst = m.dst + i * m.outer.dst_stride;
    for (int64_t j = m.inner.count; j > 0; --j) {
      if (dst_stride != width && asks) {
        touch<true>(dst + ahead * dst_stride, width);
      } else if (width >= kAskedRun && asks) {
        touch<false>(src + src_stride, width);
      }
      copy(dst, src);
      src += src_stride;
      dst += dst_stride;
    }
  }
}

inline bool is_off_lines(const std::byte* p, int64_t outer_stride, int64_t inner_stride) {
  return ((static_cast<int64_t>(reinterpret_cast<uintptr_t>(p)) | outer_stride | inner_stride) &
          63) != 0;
}

// One run longer than a vector, and where it goes, in the first level.
inline void copy_near(std::byte* dst, const std::byte* src, int64_t bytes) noexcept {
  copy_vectors(dst, src, bytes);
}

// Whether the side with gaps does not lie on the lines' boundaries.
inline bool has_gaps_off_lines(const Move& m) {
  return m.inner.dst_stride != m.width
             ? is_off_lines(m.dst, m.outer.dst_stride, m.inner.dst_stride)
             : is_off_lines(m.src, m.outer.src_stride, m.inner.src_stride);
}

// Functions of their own: in one, each paid for the registers of all (8 rows of 8 lines packed 44
// ns, by a loop of nothing else 24).
[[gnu::noinline]] inline void streamed_rows(const Move& m) noexcept {
  // The next run is asked for: without, packing 64 MiB of runs of 8 KiB took 1.3 times as long as
  // through the caches (Zen 5), though its stores save a third of the bytes.
  const bool has_gaps = m.inner.src_stride != m.width;
  strided_rows<false>(m, m.width,
                      [&m, has_gaps](std::byte* dst, const std::byte* src) LACUNA_INLINE {
                        if (has_gaps) touch<false>(src + m.inner.src_stride, m.width);
                        copy_run_stream(dst, src, m.width);
                      });
  hwy::FlushStream();
}

[[gnu::noinline]] inline void rows_in_vectors(const Move& m) noexcept {
  long_rows(m, [&m](std::byte* dst, const std::byte* src)
                   LACUNA_INLINE { copy_vectors(dst, src, m.width); });
}
[[gnu::noinline]] inline void rows_in_halves(const Move& m) noexcept {
  long_rows(m, [&m](std::byte* dst, const std::byte* src)
                   LACUNA_INLINE { copy_half_lines(dst, src, m.width); });
}
// 32 doubles: nothing to find out for each (in the second level, at 512 bytes, 827 and 770 ns).
[[gnu::noinline]] inline void rows_of_four_lines(const Move& m) noexcept {
  long_rows(m, [](std::byte* dst, const std::byte* src) LACUNA_INLINE {
    for (int64_t at = 0; at < 256; at += 64) copy_vector<64>(dst + at, src + at);
  });
}

[[gnu::noinline]] inline void repeated_run_rows(const Move& m) noexcept {
  if (m.width == 64) {
    repeated_rows(
        m, [](std::byte* dst, const std::byte* src) LACUNA_INLINE { copy_vector<64>(dst, src); });
  } else {
    repeated_rows(m, [&m](std::byte* dst, const std::byte* src)
                         LACUNA_INLINE { copy_vectors(dst, src, m.width); });
  }
}

// Lines' worths, one after the other and nothing else.
template <int64_t kVector>
[[gnu::noinline]] void line_rows_in_order(const Move& m) noexcept {
  const Dim outer = m.outer;
  const Dim inner = m.inner;
  const std::byte* src_row = m.src;
  std::byte* dst_row = m.dst;
  for (int64_t i = outer.count; i > 0; --i) {
    const std::byte* src = src_row;
    std::byte* dst = dst_row;
#pragma GCC unroll 1
    for (int64_t j = inner.count; j > 0; --j) {
      for (int64_t at = 0; at < 64; at += kVector) copy_vector<kVector>(dst + at, src + at);
      src += inner.src_stride;
      dst += inner.dst_stride;
    }
    src_row += outer.src_stride;
    dst_row += outer.dst_stride;
  }
}

template <int64_t kVector>
[[gnu::noinline]] void line_rows_apart(const Move& m) noexcept {
  strided_rows<true>(m, 64, [](std::byte* dst, const std::byte* src) LACUNA_INLINE {
    for (int64_t at = 0; at < 64; at += kVector) copy_vector<kVector>(dst + at, src + at);
  });
}

// Runs of 64 bytes.
inline void line_rows(const Move& m) noexcept {
  if (is_repeated(m)) return repeated_run_rows(m);
  const int64_t runs = m.outer.count * m.inner.count;
  const bool is_near = runs * 64 <= kNearMessage;
  // By one move or by two. Zen 5: in the first level, 8 rows of 8, unpacked 8 bytes off the line,
  // 33 and 26 ns; out of memory, 8 MiB of 64 at 4096, 1.7 and 1.3 ms.
  const bool in_halves = !m.half_lines ? !is_near
                         : is_near     ? m.inner.dst_stride != 64 && has_gaps_off_lines(m)
                                       : m.one_by_one < 64 || runs > m.one_by_one_runs;
  if (m.ahead == 0 && goes_one_by_one<Ahead::kNone>(m, 64))
    return in_halves ? line_rows_in_order<32>(m) : line_rows_in_order<64>(m);
  return in_halves ? line_rows_apart<32>(m) : line_rows_apart<64>(m);
}

[[gnu::noinline]] inline void short_rows(const Move& m) noexcept {
  // The hardware seems not to follow moves under masks, which it must where runs lie close: Zen
  // 5, cold, 12 of 16 bytes 6.2 and, so, 9.6 us, 52 of 56 11.5 and 16.6 (warm 1.7 and 1.0, 3.5
  // and 2.1). Nor for short runs (7 bytes of a matrix, cold: 1.3 and 2.6 ms), nor for longer
  // ones: what a mask leaves out may lie in one line more (162 of 40 bytes at 6480 92 and 102
  // ns).
  const int64_t stride = m.inner.dst_stride != m.width ? m.inner.dst_stride : m.inner.src_stride;
  const bool masks = m.masks && m.width > 8 && m.width <= 32 && (stride >= 128 || stride <= -128);
  with_copy(m.width, false, masks, [&m](auto one_move, auto copy) LACUNA_INLINE {
    strided_rows<decltype(one_move)::value>(m, m.width, copy);
  });
}

inline void strided_any(const Move& m) noexcept {
  if (m.width == 64) return line_rows(m);
  // A line is written whole only by runs that hold one; shorter ones go through the caches.
  if (m.stream && m.width >= 128) return streamed_rows(m);
  if (m.width > 64 && is_repeated(m)) return repeated_run_rows(m);
  const bool is_near = m.outer.count * m.inner.count * m.width <= kNearMessage;
  if (m.width <= kLongRun || (m.width >= m.library_run && !is_near)) return short_rows(m);
  // Zen 5, in the second level: 256 bytes 8 bytes off the line packed 1.38 and unpacked 1.57
  // times as fast, on the line 0.91 to 1.07; 2 KiB 16 bytes off the line unpacked 1.13 times; 1
  // KiB off the line packed 0.92.
  const bool scatters = m.inner.dst_stride != m.width;
  if (m.half_lines && !is_near && (m.width < 512 || scatters) && has_gaps_off_lines(m))
    return rows_in_halves(m);
  return m.width == 256 ? rows_of_four_lines(m) : rows_in_vectors(m);
}

inline void strided_of_width(const Move& m) noexcept {
  switch (m.width) {
    case 1:
      return strided<1>(m);
    case 2:
      return strided<2>(m);
    case 4:
      return strided<4>(m);
    case 8:
      return strided<8>(m);
    case 16:
      return strided<16>(m);
    default:
      return strided_any(m);
  }
}

// Elements of several fields, one pass per field over a block of elements that stays in the
// first-level cache: each pass is one loop over moves of one width.
//
// Tried: elements of more than a line by one pass over all their fields, which waits for each line
// once: three times as long (24 and 4 bytes of 96), as each run's length is asked for again.
template <bool kScatter>
void by_field(const Move& m) noexcept {
  constexpr int64_t kBlockBytes = 16384;
  const Fields& f = *m.fields;
  const int64_t most = kBlockBytes / (f.span < kBlockBytes ? f.span : kBlockBytes);
  for (int64_t i = 0; i < m.outer.count; ++i) {
    Move pass;
    pass.inner.src_stride = m.inner.src_stride;
    pass.inner.dst_stride = m.inner.dst_stride;
    pass.one_by_one = m.one_by_one;
    pass.half_lines = m.half_lines;
    pass.masks = m.masks;
    for (int64_t e = 0; e < m.inner.count; e += most) {
      pass.inner.count = m.inner.count - e < most ? m.inner.count - e : most;
      const std::byte* src = m.src + i * m.outer.src_stride + e * m.inner.src_stride;
      std::byte* dst = m.dst + i * m.outer.dst_stride + e * m.inner.dst_stride;
      int64_t packed = 0;
      pass.ahead = kScatter ? m.ahead : 0;
      for (const Field& field : f.fields) {
        pass.src = src + (kScatter ? packed : field.mem_offset);
        pass.dst = dst + (kScatter ? field.mem_offset : packed);
        pass.width = field.bytes;
        packed += field.bytes;
        pass.ahead_bytes = f.span - field.mem_offset;
        strided_of_width(pass);
        pass.ahead = 0;  // the first field's pass has asked for the elements' lines
      }
    }
  }
}
