// SPDX-License-Identifier: BSD-3-Clause
//
// Runs at listed offsets: of one width of a few bytes, of any one width, and of unequal widths.
// Included once per SIMD target, after strided.inl.hpp.

// The prefetch distance in entries: twice as far for loads, and for stores of words.
template <bool kScatter, bool kWords = false>
int64_t entries_ahead(const KernelCall& m) {
  return kScatter && !kWords ? m.prefetch.runs : 2 * m.prefetch.runs;
}

// Entries [j, count) of a row of runs of `width` bytes at listed offsets; kScatter: the offsets are
// the destination's. The list has `following` entries more, which are moved next.
//
// Entries are independent, so the processor runs ahead by itself. It does not run far enough ahead
// for long runs, for stores to DRAM (bounded by the store queue), and for some loads
// (plan/strategy/prefetch.cpp).
template <bool kScatter, typename Offset, typename Copy>
[[gnu::always_inline]] inline void listed_row(const Offset* offsets, int64_t j, int64_t count,
                                              int64_t following, int64_t width, int64_t ahead,
                                              const std::byte* src, std::byte* dst, Copy copy) {
  const auto one = [&](int64_t k) LACUNA_INLINE {
    copy(kScatter ? dst + offsets[k] : dst + k * width,
         kScatter ? src + k * width : src + offsets[k]);
  };
  if (ahead > 0) {
    const auto prefetch = [&](int64_t k) LACUNA_INLINE {
      if (width <= 8) {
        __builtin_prefetch((kScatter ? dst : src) + offsets[k], 0, kScatter ? 2 : 3);
      } else {
        prefetch_lines<kScatter>((kScatter ? dst : src) + offsets[k], width);
      }
    };
    int64_t prefetched = std::min(count, count + following - ahead);
    // A short slice whose following entries are not known: nothing has prefetched its first
    // entries, so all are prefetched by its middle. Measured:
    // docs/experiments/2026-11-26-kernel-choices.md.
    if (following == 0 && count <= 4 * ahead) {
      for (; 2 * j + 1 < count; ++j) {
        prefetch(2 * j);
        prefetch(2 * j + 1);
        one(j);
      }
      prefetched = j;
    }
    for (; j < prefetched; ++j) {
      prefetch(j + ahead);
      one(j);
    }
  }
  const Offset* entry = offsets + j;
  int64_t dense = j * width;
  const auto next = [&](int64_t k) LACUNA_INLINE {
    copy(kScatter ? dst + entry[k] : dst + dense + k * width,
         kScatter ? src + dense + k * width : src + entry[k]);
  };
  int64_t left = count - j;
  for (; left >= 4; left -= 4) {
    next(0);
    next(1);
    next(2);
    next(3);
    entry += 4;
    dense += 4 * width;
  }
  for (; left > 0; --left) {
    next(0);
    ++entry;
    dense += width;
  }
}

// Packs a row and prefetches its lines one after the other, kSweptAhead bytes ahead. For
// kSweptEntries entries at a time: how many lines lie before the next single entry no branch
// predictor could foresee. Unpacking so gains little
// (docs/experiments/2026-11-26-kernel-choices.md).
constexpr int64_t kSweptAhead = 4096;
constexpr int64_t kSweptEntries = 32;
template <int64_t kWidth, typename Offset>
[[gnu::always_inline]] inline void swept_row(const Offset* offsets, int64_t count,
                                             const std::byte* src, std::byte* dst) {
  if (count == 0) return;
  const std::byte* prefetched = src + offsets[0];
  for (int64_t j = 0; j < count;) {
    const int64_t end = std::min(count, j + kSweptEntries);
    const std::byte* const until = src + offsets[end - 1] + kSweptAhead;
    for (; prefetched < until; prefetched += 64) __builtin_prefetch(prefetched);
    for (; j < end; ++j) copy_block<kWidth>(dst + j * kWidth, src + offsets[j]);
  }
}

// Packs the first entries of a row by gather instructions and returns how many. Faster on Intel's
// CPUs, slower on Zen 5. Scatter instructions gain nothing: their stores leave one by one.
template <int64_t kWidth>
[[gnu::always_inline]] inline int64_t gather_lanes(const int32_t* places, int64_t count,
                                                   const std::byte* src, std::byte* dst) {
  int64_t j = 0;
#if HWY_TARGET == HWY_AVX3
  if constexpr (kWidth == 8) {
    for (; j + 8 <= count; j += 8) {
      const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places + j));
      _mm512_storeu_si512(dst + j * kWidth, _mm512_i32gather_epi64(at, src, 1));
    }
  } else if constexpr (kWidth == 4) {
    for (; j + 16 <= count; j += 16) {
      const __m512i at = _mm512_loadu_si512(places + j);
      _mm512_storeu_si512(dst + j * kWidth, _mm512_i32gather_epi32(at, src, 1));
    }
  }
#else
  (void)places;
  (void)count;
  (void)src;
  (void)dst;
#endif
  return j;
}

template <int64_t kWidth>
void gather_in_order(const KernelCall& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    m.list.places == nullptr ? swept_row<kWidth>(m.list.offsets, m.inner.count, src, dst)
                             : swept_row<kWidth>(m.list.places, m.inner.count, src, dst);
  });
}

// kLanes: use gather instructions.
template <int64_t kWidth, bool kScatter, bool kLanes = false>
void listed(const KernelCall& m) noexcept {
  const int64_t ahead = entries_ahead<kScatter, kWidth <= 8>(m);
  const auto copy = [](std::byte* dst, const std::byte* src)
                        LACUNA_INLINE { copy_block<kWidth>(dst, src); };
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    if (m.list.places == nullptr) {
      listed_row<kScatter>(m.list.offsets, 0, m.inner.count, m.list.following, kWidth, ahead, src,
                           dst, copy);
    } else {
      int64_t done = 0;
      if constexpr (kLanes) done = gather_lanes<kWidth>(m.list.places, m.inner.count, src, dst);
      listed_row<kScatter>(m.list.places, done, m.inner.count, m.list.following, kWidth, ahead, src,
                           dst, copy);
    }
  });
}

template <bool kScatter>
void listed_any(const KernelCall& m) noexcept {
  const int64_t ahead = entries_ahead<kScatter>(m);
  const Moves moves = {
      .line_in_halves = true, .half_lines = m.move.off_lines < 64, .masks = m.move.masked};
  with_copy(m.width, moves, [&](auto /*one_move*/, auto copy) LACUNA_INLINE {
    each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
      if (m.list.places == nullptr) {
        listed_row<kScatter>(m.list.offsets, 0, m.inner.count, m.list.following, m.width, ahead,
                             src, dst, copy);
      } else {
        listed_row<kScatter>(m.list.places, 0, m.inner.count, m.list.following, m.width, ahead, src,
                             dst, copy);
      }
    });
  });
}

template <bool kScatter>
void listed_runs(const KernelCall& m) noexcept {
  // Of a run: its first line, and the next one or its last.
  constexpr int64_t kPrefetchedBytes = 128;
  const bool by_half_lines = m.move.off_lines < 64;
  const int64_t ahead = entries_ahead<kScatter>(m);
  const int64_t count = m.inner.count;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    const auto bytes_of = [&](int64_t k) LACUNA_INLINE {
      return m.list.packed_offsets[k + 1] - m.list.packed_offsets[k];
    };
    const auto one = [&](int64_t k) LACUNA_INLINE {
      const int64_t packed = m.list.packed_offsets[k];
      copy_run_by(kScatter ? dst + m.list.offsets[k] : dst + packed,
                  kScatter ? src + packed : src + m.list.offsets[k], bytes_of(k), by_half_lines);
    };
    int64_t j = 0;
    for (const int64_t prefetched = ahead > 0 ? count - ahead : 0; j < prefetched; ++j) {
      const std::byte* const run = (kScatter ? dst : src) + m.list.offsets[j + ahead];
      __builtin_prefetch(run, kScatter ? 1 : 0, 3);
      __builtin_prefetch(run + std::min(bytes_of(j + ahead), kPrefetchedBytes) - 1,
                         kScatter ? 1 : 0, 3);
      one(j);
    }
    for (; j < count; ++j) one(j);
  });
}
