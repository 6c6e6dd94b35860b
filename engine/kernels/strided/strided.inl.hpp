// SPDX-License-Identifier: BSD-3-Clause
//
// Strided runs of one width of at most 16 bytes, and the loops that runs of any width share.
// Included once per SIMD target, inside its namespace (simd.cpp). Which loop serves a message is
// chosen in plan/strategy/; times: docs/experiments/2026-11-26-kernel-choices.md.

// A run of kWidth bytes, 1 to 16; the compiler makes one load and one store of it.
template <int64_t kWidth>
[[gnu::always_inline]] inline void copy_block(std::byte* dst, const std::byte* src) {
  std::memcpy(dst, src, static_cast<size_t>(kWidth));
}

// The same for unpacking: 4 and 8 bytes through a vector register, which Zen 5 writes faster to
// lines in the L2. Packing gains nothing by it, and loses lines of a few L1 sets sooner.
template <int64_t kWidth>
[[gnu::always_inline]] inline void scatter_block(std::byte* dst, const std::byte* src) {
  typedef float Float __attribute__((aligned(1), may_alias));
  typedef double Double __attribute__((aligned(1), may_alias));
  if constexpr (kWidth == 4) {
    *reinterpret_cast<Float*>(dst) = *reinterpret_cast<const Float*>(src);
  } else if constexpr (kWidth == 8) {
    *reinterpret_cast<Double*>(dst) = *reinterpret_cast<const Double*>(src);
  } else {
    copy_block<kWidth>(dst, src);
  }
}

// Prefetches the lines of [p, p + bytes), bytes >= 1, to be read or written. Any address may be
// given.
template <bool kWrite>
[[gnu::always_inline]] inline void prefetch_lines(const std::byte* p, int64_t bytes) {
  __builtin_prefetch(p, kWrite ? 1 : 0, 3);
  if (bytes == 1) return;
  // The hardware prefetcher follows the rest of longer runs.
  const int64_t most = bytes < 256 ? bytes : 256;
  for (int64_t i = 64; i < most; i += 64) __builtin_prefetch(p + i, kWrite ? 1 : 0, 3);
  __builtin_prefetch(p + most - 1, kWrite ? 1 : 0, 3);
}

// The same for at most a line, into the L2.
[[gnu::always_inline]] inline void prefetch_into_l2(const std::byte* p, int64_t bytes) {
  __builtin_prefetch(p, 0, 2);
  __builtin_prefetch(p + bytes - 1, 0, 2);
}

// What is prefetched of each run: nothing, the one line that it lies in, all its lines.
enum class Ahead { kNone, kLine, kLines };

// All strides of a side, of the loops that repeat at all, combined by OR: the lowest set bit is the
// largest power of two that divides them all.
inline int64_t src_strides(const KernelCall& m) {
  return (m.around.count == 1 ? 0 : m.around.src_stride) |
         (m.outer.count == 1 ? 0 : m.outer.src_stride) | m.inner.src_stride;
}
inline int64_t dst_strides(const KernelCall& m) {
  return (m.around.count == 1 ? 0 : m.around.dst_stride) |
         (m.outer.count == 1 ? 0 : m.outer.dst_stride) | m.inner.dst_stride;
}

// Whether every run of `bytes` on that side lies within one line: runs begin at the same offset in
// each unit of memory that divides all strides, and must not leave it.
inline bool lies_in_a_line(const std::byte* p, int64_t strides, int64_t bytes) {
  strides |= 64;
  const int64_t unit = strides & -strides;
  return (static_cast<int64_t>(reinterpret_cast<uintptr_t>(p)) & (unit - 1)) + bytes <= unit;
}

// Which loop: unrolled by four, or with one instruction that moves all runs, so that the stride
// prefetcher learns its stride. Runs of one move each have independent addresses if unrolled; for
// runs of several moves there are too few registers for those.
enum class Unroll { kOnce, kFour, kFourApart };

// The loops; `copy(dst, src)` moves one run. With kAhead the runs m.prefetch.runs later are
// prefetched on the side with gaps; the hardware prefetcher follows the dense side.
template <Ahead kAhead, Unroll kUnroll, typename Copy>
[[gnu::always_inline]] inline void strided_loops(const KernelCall& m, int64_t width, Copy copy) {
  constexpr bool kApart = kUnroll == Unroll::kFourApart && kAhead == Ahead::kNone;
  // Copies: to the compiler a run may change m.
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  const bool scatters = dst_stride != width;
  const bool second = kAhead == Ahead::kLines && m.prefetch.into_l2;
  const int64_t ahead = m.prefetch.runs * (scatters ? dst_stride : src_stride);
  const int64_t ahead_bytes = kAhead == Ahead::kLine ? 1 : scatters ? m.prefetch.bytes : width;
  int64_t src_twice = 2 * src_stride;
  int64_t src_thrice = 3 * src_stride;
  int64_t dst_twice = 2 * dst_stride;
  int64_t dst_thrice = 3 * dst_stride;
  // Without this the compiler would compute each address from the one before.
  if constexpr (kApart)
    asm("" : "+r"(src_twice), "+r"(src_thrice), "+r"(dst_twice), "+r"(dst_thrice));
  const int64_t runs = m.inner.count;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    const auto one = [&]() LACUNA_INLINE {
      if constexpr (kAhead != Ahead::kNone) {
        if (second) {
          prefetch_into_l2(scatters ? dst + ahead : src + ahead, width);
        } else if (scatters) {
          prefetch_lines<true>(dst + ahead, ahead_bytes);
        } else {
          prefetch_lines<false>(src + ahead, ahead_bytes);
        }
      }
      copy(dst, src);
      src += src_stride;
      dst += dst_stride;
    };
    int64_t left = runs;
    if constexpr (kUnroll != Unroll::kOnce) {
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
  });
}

// Calls one() for each of `count` runs, by kUnrolled interleaved instructions. The hardware
// prefetcher runs only a line or two ahead of each instruction's stride, so several instructions
// keep several times as many misses outstanding: faster from DRAM. Not for short runs that are
// stored several times, which were slower in some builds, for a reason not found
// (docs/experiments/2026-11-26-kernel-choices.md).
template <int kUnrolled, typename One>
[[gnu::always_inline]] inline void interleaved(int64_t count, One one) {
#pragma GCC unroll 1
  for (; count >= kUnrolled; count -= kUnrolled) {
#pragma GCC unroll 4
    for (int i = 0; i < kUnrolled; ++i) one();
  }
#pragma GCC unroll 1
  for (; count > 0; --count) one();
}

// Stores each run several times. Some CPUs fetch the lines of all stores in the store queue early.
// If these lines share few L1 sets, they evict each other before their stores retire. Stores that
// repeat a run add no line, so the queue holds fewer lines.
template <int kUnrolled, typename Copy>
[[gnu::always_inline]] inline void repeated_rows(const KernelCall& m, Copy copy) {
  // Copies: m would be read again after each store.
  const int64_t repeats = m.stores;
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    interleaved<kUnrolled>(m.inner.count, [&]() LACUNA_INLINE {
#pragma GCC unroll 1
      for (int64_t k = repeats; k > 0; --k) {
        copy(dst, src);
        asm volatile("" ::: "memory");
      }
      src += src_stride;
      dst += dst_stride;
    });
  });
}

// Spaces loads of lines that share few L1 sets: issued as soon as possible, they evict each other
// before they are used. Here each address takes
// m.load_cycles to compute.
//
// Tried for packing from the L2 and L3: gather instructions, a longer prefetch distance, a pace of
// 2. All gain there and lose more from DRAM, and a kernel cannot know where the lines are
// (docs/experiments/2026-11-26-kernel-choices.md).
template <typename Copy>
[[gnu::always_inline]] inline void spaced_rows(const KernelCall& m, Copy copy) {
  const int64_t half = m.inner.src_stride / 2;
  const int64_t rest = m.inner.src_stride - half;
  const int64_t turns = m.load_cycles / 2 - 1;
  const int64_t runs = m.inner.count;
  const int64_t dst_stride = m.inner.dst_stride;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    int64_t at = 0;
    interleaved<2>(runs, [&]() LACUNA_INLINE {
      copy(dst, src + at);
      dst += dst_stride;
      // The compiler must not fold these additions: they are the delay.
      at += half;
      asm("" : "+r"(at), "+r"(dst));
#pragma GCC unroll 1
      for (int64_t k = turns; k > 0; --k) {
        at += half;
        asm("" : "+r"(at));
        at -= half;
        asm("" : "+r"(at));
      }
      at += rest;
    });
  });
}

template <Unroll kUnroll, typename Copy>
[[gnu::always_inline]] inline void strided_rows(const KernelCall& m, int64_t width, Copy copy) {
  if (m.prefetch.runs == 0) return strided_loops<Ahead::kNone, kUnroll>(m, width, copy);
  const bool scatters = m.inner.dst_stride != width;
  if (m.prefetch.into_l2) {
    strided_loops<Ahead::kLines, kUnroll>(m, width, copy);
  } else if (scatters ? lies_in_a_line(m.dst, dst_strides(m), m.prefetch.bytes)
                      : lies_in_a_line(m.src, src_strides(m), width)) {
    strided_loops<Ahead::kLine, kUnroll>(m, width, copy);
  } else {
    strided_loops<Ahead::kLines, kUnroll>(m, width, copy);
  }
}

// The kernels for runs of 1, 2, 4, 8 and 16 bytes.
template <int64_t kWidth, Unroll kUnroll>
[[gnu::always_inline]] inline void strided_of(const KernelCall& m) {
  const auto copy = [](std::byte* dst, const std::byte* src)
                        LACUNA_INLINE { copy_block<kWidth>(dst, src); };
  const auto scatter = [](std::byte* dst, const std::byte* src)
                           LACUNA_INLINE { scatter_block<kWidth>(dst, src); };
  if constexpr (kWidth == 4 || kWidth == 8) {
    if (m.inner.dst_stride != kWidth) return strided_rows<kUnroll>(m, kWidth, scatter);
  }
  strided_rows<kUnroll>(m, kWidth, copy);
}

template <int64_t kWidth>
void strided(const KernelCall& m) noexcept {
  strided_of<kWidth, Unroll::kFourApart>(m);
}

template <int64_t kWidth>
void one_load(const KernelCall& m) noexcept {
  strided_of<kWidth, Unroll::kOnce>(m);
}

template <int64_t kWidth>
void repeated(const KernelCall& m) noexcept {
  repeated_rows<1>(
      m, [](std::byte* dst, const std::byte* src) LACUNA_INLINE { copy_block<kWidth>(dst, src); });
}

template <int64_t kWidth>
void spaced(const KernelCall& m) noexcept {
  spaced_rows(
      m, [](std::byte* dst, const std::byte* src) LACUNA_INLINE { copy_block<kWidth>(dst, src); });
}
