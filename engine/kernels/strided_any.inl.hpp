// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level strided movers of runs of any width, by what is best for it; and by field. Included
// once per SIMD target, after strided.inl.hpp.

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
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
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
  });
}

// Runs of so many bytes have an instruction for each of their lines.
constexpr int64_t kMostByLines = 2048;

// Lines [kLine, lines) of a run.
template <int64_t kLine>
[[gnu::always_inline]] inline void copy_lines(std::byte* dst, const std::byte* src, int64_t lines) {
  if constexpr (kLine < kMostByLines / 64) {
    if (kLine == lines) return;
    copy_vector<64>(dst + 64 * kLine, src + 64 * kLine);
    copy_lines<kLine + 1>(dst, src, lines);
  }
}

// The hardware learns an instruction's stride: one for each line has the stride of the runs, where
// that of a loop over lines has two, and fetches the gaps, too. Zen 5, packing 32 MiB, half of it
// gaps, while the other core does the same, GB/s by a loop / so: runs of 256 bytes 11 / 15, 512 12
// / 19, 768 12 / 18, 1 KiB 14 / 21, 2 KiB 14 / 17, 4 KiB 16 / 12; 8 MiB 43 / 46, 40 / 43, 50 / 51,
// 49 / 56, 49 / 55, 53 / 51. The order of the lines is all the same.
//
// Tried: runs asked for 4 KiB ahead (Zen 5). In a loop of nothing else, out of the last level and
// of memory, 192 and 256 bytes gain 1.1 to 1.5, 384 and 512 0.86 to 1.25; here 0.94 to 1.05, as
// this loop took already what that one took asking.
[[gnu::noinline]] inline void rows_by_lines(const Move& m) noexcept {
  const int64_t width = m.width;
  const int64_t lines = (width - 1) / 64;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    for (int64_t j = m.inner.count; j > 0; --j) {
      copy_lines<0>(dst, src, lines);
      copy_vector<64>(dst + width - 64, src + width - 64);
      src += m.inner.src_stride;
      dst += m.inner.dst_stride;
    }
  });
}

inline bool is_off_lines(const std::byte* p, int64_t strides) {
  return ((static_cast<int64_t>(reinterpret_cast<uintptr_t>(p)) | strides) & 63) != 0;
}

// One run longer than a vector, and where it goes, in the first level.
inline void copy_near(std::byte* dst, const std::byte* src, int64_t bytes) noexcept {
  copy_vectors(dst, src, bytes);
}

// KernelTable::copy_past.
inline void copy_past(std::byte* dst, const std::byte* src, int64_t bytes) noexcept {
  copy_run_stream(dst, src, bytes);
}
inline void fence_past() noexcept { hwy::FlushStream(); }

// Whether the side with gaps does not lie on the lines' boundaries.
inline bool has_gaps_off_lines(const Move& m) {
  return m.inner.dst_stride != m.width ? is_off_lines(m.dst, dst_strides(m))
                                       : is_off_lines(m.src, src_strides(m));
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
    repeated_rows<2>(
        m, [](std::byte* dst, const std::byte* src) LACUNA_INLINE { copy_vector<64>(dst, src); });
  } else {
    repeated_rows<1>(m, [&m](std::byte* dst, const std::byte* src)
                            LACUNA_INLINE { copy_vectors(dst, src, m.width); });
  }
}

// Lines' worths, one after the other and nothing else.
template <int64_t kVector>
[[gnu::noinline]] void line_rows_in_order(const Move& m) noexcept {
  const Dim inner = m.inner;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
#pragma GCC unroll 1
    for (int64_t j = inner.count; j > 0; --j) {
      for (int64_t at = 0; at < 64; at += kVector) copy_vector<kVector>(dst + at, src + at);
      src += inner.src_stride;
      dst += inner.dst_stride;
    }
  });
}

template <int64_t kVector>
[[gnu::noinline]] void line_rows_apart(const Move& m) noexcept {
  strided_rows<true>(m, 64, [](std::byte* dst, const std::byte* src) LACUNA_INLINE {
    for (int64_t at = 0; at < 64; at += kVector) copy_vector<kVector>(dst + at, src + at);
  });
}

// Runs of lines by narrow moves. Where runs meet in few places of the first level, so many loads
// and stores of whole vectors stand in the queues that the lines they ask for are gone before their
// turn; of narrow ones there are fewer lines at a time. Zen 4, 64 KiB, 16 bytes off the line, us,
// by 64, 32, 16 and 8 bytes: 64 of 1024 unpacked 3.10, 3.09, 1.82, 2.09, of 2048 3.44, 3.40, 3.09,
// 2.28, of 4096 3.59, 4.20, 3.99, 3.79; 128 of 2048 2.70, 2.62, 1.50, 2.09, of 4096 2.91, 2.91,
// 2.68, 2.35; 256 of 4096 2.49, 2.40, 1.32, 4.45; packed 64 of 2048 3.27, 2.90, 1.78, 2.21, of 4096
// 7.00, 6.51, 3.93, 2.58, 128 of 4096 2.97, 2.85, 1.58, 2.11. On the line: unpacked 64 of 1024
// 1.94, 1.90, 1.15, 2.11, of 2048 2.06, 2.00, 2.08, 2.32, of 4096 3.02, 2.96, 2.76, 2.68, 256 of
// 4096 1.98, 1.89, 1.13, 4.45; packed 64 of 2048 2.17, 2.17, 1.44, 2.15, of 4096 3.32, 3.19, 2.83,
// 2.39. At times (another guest on the core's other thread, it seems, which halves the queues)
// whole vectors are ahead on the line: 64 of 1024 1.37, 1.37, 1.98, 3.19.
template <int64_t kPiece>
[[gnu::noinline]] void rows_by_pieces(const Move& m) noexcept {
  const Dim inner = m.inner;
  const int64_t width = m.width;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    for (int64_t j = inner.count; j > 0; --j) {
#pragma GCC unroll 1
      for (int64_t at = 0; at < width; at += 64) {
#pragma GCC unroll 8
        for (int64_t k = at; k < at + 64; k += kPiece) copy_vector<kPiece>(dst + k, src + k);
      }
      src += inner.src_stride;
      dst += inner.dst_stride;
    }
  });
}

inline bool goes_by_pieces(const Move& m) {
  if (m.piece_off_lines == 0 || m.width % 64 != 0 || m.inner.count < kShortRow) return false;
  const int64_t piece = has_gaps_off_lines(m) ? m.piece_off_lines : m.piece;
  if (piece == 8) rows_by_pieces<8>(m);
  if (piece == 16) rows_by_pieces<16>(m);
  return piece == 8 || piece == 16;
}

[[gnu::noinline]] inline void paced_line_rows(const Move& m) noexcept {
  paced_rows(m,
             [](std::byte* dst, const std::byte* src) LACUNA_INLINE { copy_vector<64>(dst, src); });
}

// Runs of 64 bytes.
inline void line_rows(const Move& m) noexcept {
  if (is_repeated(m)) return repeated_run_rows(m);
  if (is_paced(m)) return paced_line_rows(m);
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
  const int64_t stride = m.inner.dst_stride != m.width ? m.inner.dst_stride : m.inner.src_stride;
  const bool masks = m.masks && goes_under_masks(m.width, stride);
  const Moves moves = {.half_lines = m.half_lines, .masks = masks};
  with_copy(m.width, moves, [&m](auto one_move, auto copy) LACUNA_INLINE {
    strided_rows<decltype(one_move)::value>(m, m.width, copy);
  });
}

inline void strided_any(const Move& m) noexcept {
  if (m.width >= 64 && goes_by_pieces(m)) return;
  if (m.width == 64) return line_rows(m);
  // A line is written whole only by runs that hold one; shorter ones go through the caches.
  if (m.stream && m.width >= 128) return streamed_rows(m);
  if (m.width > 64 && is_repeated(m)) return repeated_run_rows(m);
  const bool is_near = m.outer.count * m.inner.count * m.width <= kNearMessage;
  if (m.width <= kLongRun || (m.width >= m.library_run && !is_near)) return short_rows(m);
  const bool scatters = m.inner.dst_stride != m.width;
  if (!m.asks_always && (m.far || m.ahead > 0) && !scatters && m.width <= kMostByLines)
    return rows_by_lines(m);
  // Zen 5, in the second level: 256 bytes 8 bytes off the line packed 1.38 and unpacked 1.57
  // times as fast, on the line 0.91 to 1.07; 2 KiB 16 bytes off the line unpacked 1.13 times; 1
  // KiB off the line packed 0.92.
  if (m.half_lines && !is_near && (m.width < 512 || scatters) && has_gaps_off_lines(m))
    return rows_in_halves(m);
  return m.width == 256 ? rows_of_four_lines(m) : rows_in_vectors(m);
}

template <int64_t kWidth>
void strided(const Move& m) noexcept {
  const auto copy = [](std::byte* dst, const std::byte* src)
                        LACUNA_INLINE { copy_block<kWidth>(dst, src); };
  const auto scatter = [](std::byte* dst, const std::byte* src)
                           LACUNA_INLINE { scatter_block<kWidth>(dst, src); };
  if (is_repeated(m)) [[unlikely]]
    return repeated_rows<1>(m, copy);
  if (is_paced(m)) [[unlikely]]
    return paced_rows(m, copy);
  if (goes_by_short_rows<kWidth>(m)) return;
  if constexpr (kWidth == 4 || kWidth == 8) {
    if (m.inner.dst_stride != kWidth) return strided_rows<true>(m, kWidth, scatter);
  }
  strided_rows<true>(m, kWidth, copy);
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

// Element by element, by words. Only unpacking asks for lines ahead: stores wait for each other.
template <bool kScatter>
void by_words(const Move& m, const ElementWords& words) {
  const int64_t ahead = kScatter ? m.ahead * m.inner.dst_stride : 0;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    words.move(kScatter ? words.unpack : words.pack, src, dst, m.inner.count, ahead);
  });
}

// Four elements side by side, by a list of words.
template <bool kScatter>
void by_list(const Move& m, const WordList& list) {
  const Fields& f = *m.fields;
  each_row(m, [&](const std::byte* from, std::byte* dst) LACUNA_INLINE {
    auto* const src = const_cast<std::byte*>(from);  // one signature serves both directions
    list.move_all<!kScatter>(kScatter ? dst : src, f.extent, m.inner.count, kScatter ? src : dst,
                             f.size);
  });
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
  if (f.words != nullptr) return by_words<kScatter>(m, *f.words);
  if (goes_by_list(f, m.inner.count)) return by_list<kScatter>(m, f.list);
  if (f.fields.size() == 1 && f.fields[0].mem_offset == 0) return strided_of_width(m);
  const int64_t most = kBlockBytes / (f.span < kBlockBytes ? f.span : kBlockBytes);
  each_row(m, [&](const std::byte* src_row, std::byte* dst_row) LACUNA_INLINE {
    Move pass;
    pass.inner.src_stride = m.inner.src_stride;
    pass.inner.dst_stride = m.inner.dst_stride;
    pass.one_by_one = m.one_by_one;
    pass.half_lines = m.half_lines;
    pass.masks = m.masks;
    for (int64_t e = 0; e < m.inner.count; e += most) {
      pass.inner.count = m.inner.count - e < most ? m.inner.count - e : most;
      const std::byte* src = src_row + e * m.inner.src_stride;
      std::byte* dst = dst_row + e * m.inner.dst_stride;
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
  });
}
