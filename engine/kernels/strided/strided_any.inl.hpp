// SPDX-License-Identifier: BSD-3-Clause
//
// Strided runs of any width. Included once per SIMD target, after strided.inl.hpp. Which loop
// serves a message is chosen in plan/strategy/; times:
// docs/experiments/2026-11-26-kernel-choices.md.

// Runs of more than 128 bytes, which are loops themselves. Unrolled by four, each with its choice
// by length, they are slower, and keep fewer misses under way.
template <typename Copy>
[[gnu::always_inline]] inline void long_rows(const KernelCall& m, Copy copy) {
  const int64_t width = m.width;  // a copy: to the compiler a run may change m
  const int64_t ahead = m.prefetch.runs;
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    for (int64_t j = m.inner.count; j > 0; --j) {
      if (ahead == 0) {
        // nothing
      } else if (dst_stride != width) {
        prefetch_lines<true>(dst + ahead * dst_stride, width);
      } else {
        prefetch_lines<false>(src + ahead * src_stride, width);
      }
      copy(dst, src);
      src += src_stride;
      dst += dst_stride;
    }
  });
}

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
// fetches the gaps, too. Faster from DRAM, up to runs of 2 KiB
// (docs/experiments/2026-11-26-kernel-choices.md).
//
// Tried: prefetch 4 KiB ahead. It helps a loop over lines, not this one.
[[gnu::noinline]] inline void by_lines(const KernelCall& m) noexcept {
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

// The widest move of the runs on the side with gaps.
inline int64_t move_bytes(const KernelCall& m) {
  if (m.move.on_lines == m.move.off_lines) return m.move.on_lines;
  const bool is_off = m.inner.dst_stride != m.width ? is_off_lines(m.dst, dst_strides(m))
                                                    : is_off_lines(m.src, src_strides(m));
  return is_off ? m.move.off_lines : m.move.on_lines;
}

// Each way is a function of its own: in a common one, each would save the registers of all.
[[gnu::noinline]] inline void non_temporal(const KernelCall& m) noexcept {
  // The next run is prefetched: without that, packing is slower than through the caches
  // (docs/experiments/2026-11-26-kernel-choices.md), though non-temporal stores save a third of the
  // traffic.
  const bool has_gaps = m.inner.src_stride != m.width;
  strided_rows<Unroll::kFour>(m, m.width,
                              [&m, has_gaps](std::byte* dst, const std::byte* src) LACUNA_INLINE {
                                if (has_gaps)
                                  prefetch_lines<false>(src + m.inner.src_stride, m.width);
                                copy_run_stream(dst, src, m.width);
                              });
  hwy::FlushStream();
}

[[gnu::noinline]] inline void rows_in_vectors(const KernelCall& m) noexcept {
  long_rows(m, [&m](std::byte* dst, const std::byte* src)
                   LACUNA_INLINE { copy_vectors(dst, src, m.width); });
}
[[gnu::noinline]] inline void rows_in_halves(const KernelCall& m) noexcept {
  long_rows(m, [&m](std::byte* dst, const std::byte* src)
                   LACUNA_INLINE { copy_half_lines(dst, src, m.width); });
}
// Runs of 256 bytes: no checks of the length.
[[gnu::noinline]] inline void rows_of_four_lines(const KernelCall& m) noexcept {
  long_rows(m, [](std::byte* dst, const std::byte* src) LACUNA_INLINE {
    for (int64_t at = 0; at < 256; at += 64) copy_vector<64>(dst + at, src + at);
  });
}

inline void vectors(const KernelCall& m) noexcept {
  if (move_bytes(m) < 64) return rows_in_halves(m);
  return m.width == 256 ? rows_of_four_lines(m) : rows_in_vectors(m);
}

// By the C library's memcpy.
inline void library(const KernelCall& m) noexcept {
  strided_rows<Unroll::kFour>(m, m.width, [&m](std::byte* dst, const std::byte* src) LACUNA_INLINE {
    std::memcpy(dst, src, static_cast<size_t>(m.width));
  });
}

inline void repeated_any(const KernelCall& m) noexcept {
  if (m.width == 64) {
    repeated_rows<2>(
        m, [](std::byte* dst, const std::byte* src) LACUNA_INLINE { copy_vector<64>(dst, src); });
  } else {
    repeated_rows<1>(m, [&m](std::byte* dst, const std::byte* src)
                            LACUNA_INLINE { copy_vectors(dst, src, m.width); });
  }
}

// Runs of 64 bytes.
template <Unroll kUnroll, int64_t kVector>
[[gnu::noinline]] void line_rows_by(const KernelCall& m) noexcept {
  strided_rows<kUnroll>(m, 64, [](std::byte* dst, const std::byte* src) LACUNA_INLINE {
    for (int64_t at = 0; at < 64; at += kVector) copy_vector<kVector>(dst + at, src + at);
  });
}
template <Unroll kUnroll>
inline void line_rows(const KernelCall& m) noexcept {
  return move_bytes(m) < 64 ? line_rows_by<kUnroll, 32>(m) : line_rows_by<kUnroll, 64>(m);
}
inline void spaced_line(const KernelCall& m) noexcept {
  spaced_rows(
      m, [](std::byte* dst, const std::byte* src) LACUNA_INLINE { copy_vector<64>(dst, src); });
}
inline void one_load_line(const KernelCall& m) noexcept { line_rows<Unroll::kOnce>(m); }

// Runs of whole lines by narrow moves. If lines share few L1 sets, queues full of whole vectors
// hold so many lines that these evict each other before they are used; with narrow moves the queues
// hold fewer lines. Which width is best depends on stride and alignment.
template <int64_t kPiece>
[[gnu::noinline]] void rows_by_pieces(const KernelCall& m) noexcept {
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

inline void narrow(const KernelCall& m) noexcept {
  const int64_t bytes = move_bytes(m);
  if (bytes == 8) return rows_by_pieces<8>(m);
  if (bytes == 16) return rows_by_pieces<16>(m);
  if (m.width != 64) return vectors(m);
  return m.load_cycles > 1 ? spaced_line(m) : one_load_line(m);
}

// Runs of up to 128 bytes.
[[gnu::noinline]] inline void short_runs(const KernelCall& m) noexcept {
  const Moves moves = {.half_lines = m.move.off_lines < 64, .masks = m.move.masked};
  with_copy(m.width, moves, [&m](auto one_move, auto copy) LACUNA_INLINE {
    strided_rows<decltype(one_move)::value ? Unroll::kFourApart : Unroll::kFour>(m, m.width, copy);
  });
}

inline void strided_any(const KernelCall& m) noexcept {
  if (m.width == 64) return line_rows<Unroll::kFourApart>(m);
  return m.width <= kLongRun ? short_runs(m) : vectors(m);
}

inline void strided_of_width(const KernelCall& m) noexcept {
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
