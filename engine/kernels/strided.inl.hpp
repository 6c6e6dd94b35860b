// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level strided movers of runs of one width of at most 16 bytes, and the loops of all. Included
// once per SIMD target, inside its namespace (simd.cpp).

// One block of kWidth bytes, 1 to 16; the compiler makes one load and one store of it.
template <int64_t kWidth>
[[gnu::always_inline]] inline void copy_block(std::byte* dst, const std::byte* src) {
  std::memcpy(dst, src, static_cast<size_t>(kWidth));
}

// The same to a place with gaps: 4 and 8 bytes through a vector register. Zen 5 writes lines in the
// second level faster so: 8192 of 8 bytes at 64 2.75 and 2.43 us, at 72 2.74 and 2.48, of 4 bytes
// at 64 2.71 and 2.34, one by one 3.1 and 2.3; in the first level and out of the second level. Not
// for packing, where it changes nothing but that lines which meet in few places of the first level
// are gone sooner (8 bytes at 1024, one by one, 13.4 and 14.3 us).
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

// The same for at most a line, into the second level.
[[gnu::always_inline]] inline void touch_second(const std::byte* p, int64_t bytes) {
  __builtin_prefetch(p, 0, 2);
  __builtin_prefetch(p + bytes - 1, 0, 2);
}

// What of each block is asked for ahead: nothing, the one line that it lies in, all its lines.
enum class Ahead { kNone, kLine, kLines };

// All strides of a side, of those loops that repeat anything, put together.
inline int64_t src_strides(const Move& m) {
  return (m.around.count == 1 ? 0 : m.around.src_stride) |
         (m.outer.count == 1 ? 0 : m.outer.src_stride) | m.inner.src_stride;
}
inline int64_t dst_strides(const Move& m) {
  return (m.around.count == 1 ? 0 : m.around.dst_stride) |
         (m.outer.count == 1 ? 0 : m.outer.dst_stride) | m.inner.dst_stride;
}

// Whether every block of `bytes` on that side lies in one line: blocks are at the same place of
// each unit of memory that divides all strides, and must not leave it.
inline bool lies_in_a_line(const std::byte* p, int64_t strides, int64_t bytes) {
  strides |= 64;
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
  // To memory, lines that follow each other, each once or twice. Zen 5, 64 MiB, in the benchmark: 8
  // bytes at 64 1.06 times as fast, 4 at 32 1.03; in a loop of nothing else 8 at 64 1.05, at 32
  // 1.01, at 72 1.02; 16 MiB at 64 1.02, at 16 0.92. In a program whose memory is one map of 1 GiB
  // level.
  if (scatters && width <= 16) {
    const int64_t stride = m.inner.dst_stride;
    return kAhead == Ahead::kNone && m.far && m.inner.count >= kShortRow && stride >= 32 &&
           stride < 96;
  }
  if (width != 64 && width > 16) return false;
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
// those of the side with gaps, the other is dense and the hardware follows it. Four blocks in
// flight; those of one move each at places that do not wait for each other (of several there is no
// register left for that: 16 rows of 65 runs of 92 bytes 0.9 times as fast).
template <Ahead kAhead, bool kOneMove, typename Copy>
[[gnu::always_inline]] inline void strided_loops(const Move& m, int64_t width, Copy copy) {
  constexpr bool kApart = kOneMove && kAhead == Ahead::kNone;
  // Here, not in m: as far as the compiler knows, a block may change it.
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  const bool scatters = dst_stride != width;
  const bool second = kAhead == Ahead::kLines && m.ahead_second;
  const int64_t ahead = m.ahead * (scatters ? dst_stride : src_stride);
  const int64_t ahead_bytes = kAhead == Ahead::kLine ? 1 : scatters ? m.ahead_bytes : width;
  const bool one_by_one = kOneMove && goes_one_by_one<kAhead>(m, width);
  int64_t src_twice = 2 * src_stride;
  int64_t src_thrice = 3 * src_stride;
  int64_t dst_twice = 2 * dst_stride;
  int64_t dst_thrice = 3 * dst_stride;
  // The compiler must be kept from adding up their places one by one.
  asm("" : "+r"(src_twice), "+r"(src_thrice), "+r"(dst_twice), "+r"(dst_thrice));
  const int64_t runs = m.inner.count;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    const auto one = [&]() LACUNA_INLINE {
      if constexpr (kAhead != Ahead::kNone) {
        if (second) {
          touch_second(scatters ? dst + ahead : src + ahead, width);
        } else if (scatters) {
          touch<true>(dst + ahead, ahead_bytes);
        } else {
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
  });
}

// `one()` for each of `count` runs, by kTurns instructions that take turns. The hardware learns an
// instruction's stride and asks for its next line or two; several have as many lines on their way
// each. Zen 5, cold, us, by one, two and four: packed 16384 runs of 8 bytes at 1024 76, 67, 65,
// 4096 of 16 at 2048 25, 18, 16, 1024 of 64 at 4096 9.5, 7.2, 7.5; unpacked 64 at 4096 12.3, 8.9,
// 8.6. Warm there is no difference, but for lines' worths: packed 3.4, 3.5 and 4.3. Short runs that
// are stored several times: nothing to rely on. By four, 16 bytes at 2048, cold, 29 and 19 in one
// build, and 43 in another, 8 at 1024 88 and 115 or 152, for a reason not found.
template <int kTurns, typename One>
[[gnu::always_inline]] inline void in_turns(int64_t count, One one) {
#pragma GCC unroll 1
  for (; count >= kTurns; count -= kTurns) {
#pragma GCC unroll 4
    for (int i = 0; i < kTurns; ++i) one();
  }
#pragma GCC unroll 1
  for (; count > 0; --count) one();
}

inline bool is_repeated(const Move& m) {
  return m.repeats > 1 && m.inner.dst_stride != m.width &&
         m.outer.count * m.inner.count >= m.repeats_from;
}

// Each run is stored several times. A CPU that fetches the lines of all stores in its queue before
// the first of them leaves fetches too many, where they meet in the same few places of the first
// level: they are gone again when their turn comes. Stores that add nothing keep the queue short of
// lines. Zen 5, 64 KiB out of the second and third level:
// 8 bytes at 512 27 and, three times, 11 us; 16 at 1024 18 and, six times, 6; 8 at 4096 59 and,
// sixteen times, 31; 64 at 1024 3.8 and, twice, 1.2; 64 at 4096 6.6 and, eight times, 2.5.
template <int kTurns, typename Copy>
[[gnu::always_inline]] inline void repeated_rows(const Move& m, Copy copy) {
  // Here, not in m, which would be read again after each store.
  const int64_t repeats = m.repeats;
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    in_turns<kTurns>(m.inner.count, [&]() LACUNA_INLINE {
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

inline bool is_paced(const Move& m) {
  return m.pace > 1 && m.ahead == 0 && m.inner.dst_stride == m.width && m.inner.count > kNearRuns &&
         m.outer.count * m.inner.count <= m.paced_most;
}

// Loads that meet in few places of the first level, too, fetch lines too many if they leave as soon
// as they can: here each one's address takes m.pace cycles. Zen 5, from so many cycles, us: 4096
// runs of 16 bytes at 4096 33 and, by 4, 6, 8 and 10, 24, 22, 19, 17; 1024 3.9 and 2.9, 2.6, 2.4,
// 2.7; 4096 at 2048 15 and, by 2, 4 and 6, 13, 10.8, 10.8; at 1024 7.0 and 6.6, 7.2, 8.5; at 512
// 5.05, 5.08, 4.9, 6.9. Runs of 8 and of 64 bytes the same.
//
// Tried, packing in the second and third level (Zen 5, ns a run, so and as here):
//   - gathers of four doubles or sixteen floats (vgatherqpd, vgatherdps): warm, 1024 to 16384 of 8
//     bytes at 192 0.37 to 0.41 and 0.40 to 0.56, 8192 at 512 0.68 and 1.07, at 1024 1.1 and 1.4;
//     with cold caches 4.0 and 1.85, 4.3 and 3.8, 5.1 and 4.2, as the hardware learns nothing from
//     them;
//   - asked for 12 or 16 ahead: 4096 to 16384 at 512 0.85 to 0.92 and 1.16 to 1.25, at 256 0.51
//     to 0.57 and 0.58 to 0.82; cold 3.7 and 2.6, 3.6 and 2.2. Both together are neither;
//   - pace 2: 4096 at 512 0.83 and 1.11, at 256 0.51 and 0.57, all others up to 1.1 times as long.
// Who packs cannot know whether its lines are in a cache, and cold caches lose more.
template <typename Copy>
[[gnu::always_inline]] inline void paced_rows(const Move& m, Copy copy) {
  const int64_t half = m.inner.src_stride / 2;
  const int64_t rest = m.inner.src_stride - half;
  const int64_t turns = m.pace / 2 - 1;
  const int64_t runs = m.inner.count;
  const int64_t dst_stride = m.inner.dst_stride;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    int64_t at = 0;
    in_turns<2>(runs, [&]() LACUNA_INLINE {
      copy(dst, src + at);
      dst += dst_stride;
      // The compiler must not add these up.
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

template <bool kOneMove, typename Copy>
[[gnu::always_inline]] inline void strided_rows(const Move& m, int64_t width, Copy copy) {
  if (m.ahead == 0) return strided_loops<Ahead::kNone, kOneMove>(m, width, copy);
  const bool scatters = m.inner.dst_stride != width;
  if (m.ahead_second) {
    strided_loops<Ahead::kLines, kOneMove>(m, width, copy);
  } else if (scatters ? lies_in_a_line(m.dst, dst_strides(m), m.ahead_bytes)
                      : lies_in_a_line(m.src, src_strides(m), width)) {
    strided_loops<Ahead::kLine, kOneMove>(m, width, copy);
  } else {
    strided_loops<Ahead::kLines, kOneMove>(m, width, copy);
  }
}
