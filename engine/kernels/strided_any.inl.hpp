// SPDX-License-Identifier: BSD-3-Clause
//
// Strided runs of any width, by the way that is fastest for the width; and records field by field.
// Included once per SIMD target, after strided.inl.hpp. Times behind the choices:
// docs/experiments/2026-11-26-kernel-choices.md.

// Longer runs are loops themselves. Unrolled by four, each with its choice by length, they are
// slower, and keep fewer misses under way.
constexpr int64_t kLongRun = 128;
// Packing prefetches the first lines of the next run from this size on; for shorter runs that is
// slower. (Unpacking always does: faster from DRAM, level in the caches, but slower on Zen 5; see
// Move::asks_always.)
constexpr int64_t kPrefetchedRun = 1024;

// A message of this many bytes and its destination fit into the L1.
constexpr int64_t kNearMessage = 16384;

template <typename Copy>
[[gnu::always_inline]] inline void long_rows(const Move& m, Copy copy) {
  const int64_t width = m.width;  // a copy: to the compiler a run may change m
  const int64_t ahead = width < 512 ? 512 / width : 1;
  const bool prefetches = m.asks_always || m.ahead > 0;
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    for (int64_t j = m.inner.count; j > 0; --j) {
      if (dst_stride != width && prefetches) {
        prefetch_lines<true>(dst + ahead * dst_stride, width);
      } else if (width >= kPrefetchedRun && prefetches) {
        prefetch_lines<false>(src + src_stride, width);
      }
      copy(dst, src);
      src += src_stride;
      dst += dst_stride;
    }
  });
}

// Up to this size a run has a load instruction for each of its lines (rows_by_lines).
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

// One load instruction for each line of a run. Its stride is that of the runs, which the hardware
// prefetcher learns; the instruction of a loop over lines has two strides, and the prefetcher
// fetches the gaps, too. Up to 1.6 times as fast from DRAM, up to 2 KiB.
//
// Tried: prefetch 4 KiB ahead. It helps a loop over lines, not this one.
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

// KernelTable::copy_near: one run longer than a vector.
inline void copy_near(std::byte* dst, const std::byte* src, int64_t bytes) noexcept {
  copy_vectors(dst, src, bytes);
}

// KernelTable::copy_past.
inline void copy_past(std::byte* dst, const std::byte* src, int64_t bytes) noexcept {
  copy_run_stream(dst, src, bytes);
}
inline void fence_past() noexcept { hwy::FlushStream(); }

// Whether runs on the side with gaps are not line-aligned.
inline bool has_gaps_off_lines(const Move& m) {
  return m.inner.dst_stride != m.width ? is_off_lines(m.dst, dst_strides(m))
                                       : is_off_lines(m.src, src_strides(m));
}

// Each way is a function of its own: in a common one, each would save the registers of all.
[[gnu::noinline]] inline void streamed_rows(const Move& m) noexcept {
  // The next run is prefetched: without that, packing takes 1.3 times as long as through the caches
  // (64 MiB of runs of 8 KiB, Zen 5), though non-temporal stores save a third of the traffic.
  const bool has_gaps = m.inner.src_stride != m.width;
  strided_rows<false>(m, m.width,
                      [&m, has_gaps](std::byte* dst, const std::byte* src) LACUNA_INLINE {
                        if (has_gaps) prefetch_lines<false>(src + m.inner.src_stride, m.width);
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
// Runs of 256 bytes: no checks of the length.
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

// Runs of 64 bytes, not unrolled.
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

// Runs of whole lines by narrow moves. If lines share few L1 sets, queues full of whole vectors
// hold so many lines that these evict each other before they are used; with narrow moves the queues
// hold fewer lines. Which width is best depends on stride and alignment (set_pieces in plan/).
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
  // By one move or by two of 32 bytes. Zen 5: two are faster in the L1 for unaligned stores, and
  // from DRAM.
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
  // Only runs of 128 bytes and more hold a whole line for certain; shorter ones go through the
  // caches.
  if (m.stream && m.width >= 128) return streamed_rows(m);
  if (m.width > 64 && is_repeated(m)) return repeated_run_rows(m);
  const bool is_near = m.outer.count * m.inner.count * m.width <= kNearMessage;
  if (m.width <= kLongRun || (m.width >= m.library_run && !is_near)) return short_rows(m);
  const bool scatters = m.inner.dst_stride != m.width;
  if (!m.asks_always && (m.far || m.ahead > 0) && !scatters && m.width <= kMostByLines)
    return rows_by_lines(m);
  // Zen 5: 32-byte vectors are up to 1.6 times as fast in the L2 for unaligned runs below 512
  // bytes, and a little for longer ones that are unpacked; no faster for line-aligned ones.
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

// Record by record, by words. Only unpacking prefetches: stores wait for their lines.
template <bool kScatter>
void by_words(const Move& m, const ElementWords& words) {
  const int64_t ahead = kScatter ? m.ahead * m.inner.dst_stride : 0;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    words.move(kScatter ? words.unpack : words.pack, src, dst, m.inner.count, ahead);
  });
}

// By a list of words, four records side by side.
template <bool kScatter>
void by_list(const Move& m, const WordList& list) {
  const Fields& f = *m.fields;
  each_row(m, [&](const std::byte* from, std::byte* dst) LACUNA_INLINE {
    auto* const src = const_cast<std::byte*>(from);  // one signature serves both directions
    list.move_all<!kScatter>(kScatter ? dst : src, f.extent, m.inner.count, kScatter ? src : dst,
                             f.size);
  });
}

// Records of several fields: one pass for each field over a block of records that stays in the L1;
// a pass is one loop over moves of one width.
//
// Tried: records of more than a line by one pass over all their fields, so that each line is missed
// once: three times as long (24 and 4 bytes of 96), as each run's length is examined each time.
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
        pass.ahead = 0;  // the first field's pass has prefetched the records' lines
      }
    }
  });
}
