// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of one contiguous run by vectors, which every kernel uses whose width is not 1, 2, 4, 8 or
// 16. Included once per SIMD target, inside its namespace (simd.cpp). Times behind the choices:
// docs/experiments/2026-11-26-kernel-choices.md.

// At most a line, so that longer runs hold at least one whole vector.
using Bytes = hn::CappedTag<uint8_t, 64>;

[[gnu::always_inline]] inline uint8_t* as_u8(std::byte* p) { return reinterpret_cast<uint8_t*>(p); }
[[gnu::always_inline]] inline const uint8_t* as_u8(const std::byte* p) {
  return reinterpret_cast<const uint8_t*>(p);
}

// One load and one store if the target has vectors of kBytes, else several. By GCC's vector types,
// since of several Highway copies in one loop GCC spilled some to the stack.
template <int64_t kBytes>
[[gnu::always_inline]] inline void copy_vector(std::byte* dst, const std::byte* src) {
  constexpr int64_t kMost = HWY_HAVE_SCALABLE ? 16 : HWY_MAX_BYTES;
  if constexpr (kBytes > kMost) {
    copy_vector<kBytes / 2>(dst, src);
    copy_vector<kBytes / 2>(dst + kBytes / 2, src + kBytes / 2);
  } else {
    typedef uint8_t Vector __attribute__((vector_size(kBytes), aligned(1), may_alias));
    *reinterpret_cast<Vector*>(dst) = *reinterpret_cast<const Vector*>(src);
  }
}

// Runs longer than 64 bytes by 32-byte vectors, which are faster on some CPUs beyond the L1,
// whatever the alignment (MoveWidth).
[[gnu::always_inline]] inline void copy_half_lines(std::byte* dst, const std::byte* src,
                                                   int64_t bytes) {
  int64_t i = 0;
  for (; i + 128 <= bytes; i += 128) {
    copy_vector<32>(dst + i, src + i);
    copy_vector<32>(dst + i + 32, src + i + 32);
    copy_vector<32>(dst + i + 64, src + i + 64);
    copy_vector<32>(dst + i + 96, src + i + 96);
  }
#pragma GCC unroll 1
  for (; i + 32 <= bytes; i += 32) copy_vector<32>(dst + i, src + i);
  if (i < bytes) copy_vector<32>(dst + bytes - 32, src + bytes - 32);
}

// Whole vectors, then one that overlaps them and ends with the last byte; bytes > a vector.
[[gnu::always_inline]] inline void copy_vectors(std::byte* dst, const std::byte* src,
                                                int64_t bytes) {
  // From the second vector on, stores are aligned; the first vector overlaps the second. Worth it
  // for long runs: a store that crosses lines costs more than a load that does.
  constexpr int64_t kAlignFrom = 8;
  const Bytes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst)) & (n - 1);
  if (past != 0 && bytes >= kAlignFrom * n) {
    hn::StoreU(hn::LoadU(d, as_u8(src)), d, as_u8(dst));
    i = n - past;
  }
  for (; i + 4 * n <= bytes; i += 4 * n) {
    const auto a = hn::LoadU(d, as_u8(src) + i);
    const auto b = hn::LoadU(d, as_u8(src) + i + n);
    const auto c = hn::LoadU(d, as_u8(src) + i + 2 * n);
    const auto e = hn::LoadU(d, as_u8(src) + i + 3 * n);
    hn::StoreU(a, d, as_u8(dst) + i);
    hn::StoreU(b, d, as_u8(dst) + i + n);
    hn::StoreU(c, d, as_u8(dst) + i + 2 * n);
    hn::StoreU(e, d, as_u8(dst) + i + 3 * n);
  }
  for (; i + n <= bytes; i += n) hn::StoreU(hn::LoadU(d, as_u8(src) + i), d, as_u8(dst) + i);
  if (i < bytes) hn::StoreU(hn::LoadU(d, as_u8(src) + bytes - n), d, as_u8(dst) + bytes - n);
}

// From here on the C library's memcpy is as good, and it knows the machine's string instructions.
constexpr int64_t kLibraryBytes = 2048;

// dst[0, bytes) <- src[0, bytes), bytes >= 1.
[[gnu::always_inline]] inline void copy_run(std::byte* dst, const std::byte* src, int64_t bytes) {
  const hn::CappedTag<uint8_t, 16> d16;
  const hn::CappedTag<uint8_t, 32> d32;
  if (bytes <= 16) {
    copy_upto16(dst, src, bytes);
  } else if (bytes <= 32) {
    const auto head = hn::LoadU(d16, as_u8(src));
    const auto tail = hn::LoadU(d16, as_u8(src) + bytes - 16);
    hn::StoreU(head, d16, as_u8(dst));
    hn::StoreU(tail, d16, as_u8(dst) + bytes - 16);
  } else if (bytes <= 64 && hn::Lanes(d32) == 32) {
    const auto head = hn::LoadU(d32, as_u8(src));
    const auto tail = hn::LoadU(d32, as_u8(src) + bytes - 32);
    hn::StoreU(head, d32, as_u8(dst));
    hn::StoreU(tail, d32, as_u8(dst) + bytes - 32);
  } else if (bytes < kLibraryBytes) {
    copy_vectors(dst, src, bytes);
  } else {
    std::memcpy(dst, src, static_cast<size_t>(bytes));
  }
}

// The same, with non-temporal stores for every whole 64-byte line of the destination. The caller
// fences.
[[gnu::always_inline]] inline void copy_run_stream(std::byte* dst, const std::byte* src,
                                                   int64_t bytes) {
  const Bytes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) & 63);
  if (i + 64 > bytes) return copy_run(dst, src, bytes);
  if (i > 0) copy_run(dst, src, i);
  for (; i + 64 <= bytes; i += 64) {
    for (int64_t k = 0; k < 64; k += n)
      hn::Stream(hn::LoadU(d, as_u8(src) + i + k), d, as_u8(dst) + i + k);
  }
  if (i < bytes) copy_run(dst + i, src + i, bytes - i);
}

// As copy_run; runs of more than 64 bytes by 32-byte vectors if `by_half_lines`.
[[gnu::always_inline]] inline void copy_run_by(std::byte* dst, const std::byte* src, int64_t bytes,
                                               bool by_half_lines) {
  if (by_half_lines && hn::Lanes(Bytes()) > 32 && bytes > 64 && bytes < kLibraryBytes) {
    copy_half_lines(dst, src, bytes);
  } else {
    copy_run(dst, src, bytes);
  }
}

// Which moves copy runs of one width.
struct Moves {
  bool line_in_halves = false;  // runs of 64 bytes: two moves of 32
  bool half_lines = false;      // other runs: moves of at most 32 bytes (MoveWidth)
  bool masks = false;           // up to 31 bytes, no power of two: one masked move
};

// Calls f(one_move, copy), where copy(dst, src) moves `width` bytes, and one_move says whether by
// one load and one store. The moves are chosen once for all runs that f moves.
template <typename F>
[[gnu::always_inline]] inline void with_copy(int64_t width, Moves moves, F f) {
  const auto twice = [width](auto bytes) {
    return [width](std::byte* dst, const std::byte* src) LACUNA_INLINE {
      constexpr int64_t kBytes = decltype(bytes)::value;
      copy_vector<kBytes>(dst, src);
      copy_vector<kBytes>(dst + width - kBytes, src + width - kBytes);
    };
  };
#if HWY_TARGET == HWY_AVX3
  // One masked load and one masked store.
  if (moves.masks && width < 32 && (width & (width - 1)) != 0) {
    if (width < 16) {
      const auto data = static_cast<__mmask16>((1u << width) - 1);
      f(std::true_type(), [data](std::byte* dst, const std::byte* src) LACUNA_INLINE {
        _mm_mask_storeu_epi8(dst, data, _mm_maskz_loadu_epi8(data, src));
      });
    } else {
      const auto data = static_cast<__mmask32>((1u << width) - 1);
      f(std::true_type(), [data](std::byte* dst, const std::byte* src) LACUNA_INLINE {
        _mm256_mask_storeu_epi8(dst, data, _mm256_maskz_loadu_epi8(data, src));
      });
    }
    return;
  }
  // At most 32 bytes a move: wider moves, and wider masks, cross lines more often, which costs
  // several times as much on some CPUs.
  if (moves.half_lines && width > 32 && width <= 128 && width != 64) {
    const auto halves = [width](auto whole) {
      return [width](std::byte* dst, const std::byte* src) LACUNA_INLINE {
        constexpr int64_t kWhole = decltype(whole)::value;
        for (int64_t at = 0; at < kWhole; at += 32) copy_vector<32>(dst + at, src + at);
        copy_vector<32>(dst + width - 32, src + width - 32);
      };
    };
    const auto half_and = [](auto rest) {
      return [](std::byte* dst, const std::byte* src) LACUNA_INLINE {
        copy_vector<32>(dst, src);
        copy_vector<decltype(rest)::value>(dst + 32, src + 32);
      };
    };
    if (width == 40) {
      f(std::false_type(), half_and(std::integral_constant<int64_t, 8>()));
    } else if (width == 48) {
      f(std::false_type(), half_and(std::integral_constant<int64_t, 16>()));
    } else if (width < 64) {
      f(std::false_type(), halves(std::integral_constant<int64_t, 32>()));
    } else if (width <= 96) {
      f(std::false_type(), halves(std::integral_constant<int64_t, 64>()));
    } else {
      f(std::false_type(), halves(std::integral_constant<int64_t, 96>()));
    }
    return;
  }
  if (moves.half_lines && width > 128 && width <= 256) {
    f(std::false_type(), [width](std::byte* dst, const std::byte* src) LACUNA_INLINE {
      for (int64_t at = 0; at < 128; at += 32) copy_vector<32>(dst + at, src + at);
      if (width > 160) copy_vector<32>(dst + 128, src + 128);
      if (width > 192) copy_vector<32>(dst + 160, src + 160);
      if (width > 224) copy_vector<32>(dst + 192, src + 192);
      copy_vector<32>(dst + width - 32, src + width - 32);
    });
    return;
  }
#endif
  const auto overlapping = [width](auto word) {
    return [width](std::byte* dst, const std::byte* src)
               LACUNA_INLINE { copy_overlapping<decltype(word)>(dst, src, width); };
  };
  const hn::CappedTag<uint8_t, 32> d32;
  const hn::CappedTag<uint8_t, 64> d64;
  // Up to here moves of 16 bytes: wider ones cross lines more often than they save an instruction,
  // except one move for 64 bytes.
  constexpr int64_t kSmallMoves = 96;
  const auto fixed = [](auto bytes) {
    return [](std::byte* dst, const std::byte* src)
               LACUNA_INLINE { std::memcpy(dst, src, decltype(bytes)::value); };
  };
  // `number` moves of 16 bytes, and one that ends with the run. Unrolled, as a loop is
  // slower (docs/experiments/2026-11-26-kernel-choices.md).
  const auto sixteens = [width](auto number) {
    return [width](std::byte* dst, const std::byte* src) LACUNA_INLINE {
      constexpr int kMoves = decltype(number)::value;
#pragma GCC unroll 8
      for (int i = 0; i < kMoves; ++i) copy_vector<16>(dst + 16 * i, src + 16 * i);
      copy_vector<16>(dst + width - 16, src + width - 16);
    };
  };
  // Three and five floats or doubles are common, and moves that do not overlap cross lines less
  // often.
  if (width == 12) {
    f(std::false_type(), fixed(std::integral_constant<size_t, 12>()));
  } else if (width == 20) {
    f(std::false_type(), fixed(std::integral_constant<size_t, 20>()));
  } else if (width == 24) {
    f(std::false_type(), fixed(std::integral_constant<size_t, 24>()));
  } else if (width == 32) {
    // One move, if the target has 32-byte vectors: faster than two, even if one run in three
    // crosses a line.
    f(std::true_type(), fixed(std::integral_constant<size_t, 32>()));
  } else if (width == 40) {
    f(std::false_type(), fixed(std::integral_constant<size_t, 40>()));
  } else if (width == 48) {
    f(std::false_type(), fixed(std::integral_constant<size_t, 48>()));
  } else if (width >= 2 && width <= 4) {
    f(std::false_type(), overlapping(uint16_t{}));
  } else if (width > 4 && width <= 8) {
    f(std::false_type(), overlapping(uint32_t{}));
  } else if (width > 8 && width <= 16) {
    f(std::false_type(), overlapping(uint64_t{}));
  } else if (width > 16 && width <= 32) {
    f(std::false_type(), twice(std::integral_constant<int64_t, 16>()));
  } else if (width == 64 && moves.line_in_halves && hn::Lanes(d32) == 32) {
    f(std::true_type(), twice(std::integral_constant<int64_t, 32>()));
  } else if (width == 64) {
    f(std::true_type(),
      [](std::byte* dst, const std::byte* src) LACUNA_INLINE { copy_vector<64>(dst, src); });
  } else if (width > 32 && width < 48) {
    f(std::false_type(), sixteens(std::integral_constant<int, 2>()));
  } else if (width >= 48 && width <= 64) {
    f(std::false_type(), sixteens(std::integral_constant<int, 3>()));
  } else if (width > 64 && width <= 80) {
    f(std::false_type(), sixteens(std::integral_constant<int, 4>()));
  } else if (width > 80 && width <= kSmallMoves) {
    f(std::false_type(), sixteens(std::integral_constant<int, 5>()));
  } else if (width > kSmallMoves && width <= 128 && hn::Lanes(d64) == 64) {
    f(std::false_type(), twice(std::integral_constant<int64_t, 64>()));
  } else if (width > kSmallMoves && width <= 128 && hn::Lanes(d32) == 32) {
    // The number of moves is fixed here; copy_run would find it for each run.
    f(std::false_type(), [width](std::byte* dst, const std::byte* src) LACUNA_INLINE {
      for (int64_t at = 0; at < 96; at += 32) copy_vector<32>(dst + at, src + at);
      copy_vector<32>(dst + width - 32, src + width - 32);
    });
  } else {
    f(std::false_type(), [width, moves](std::byte* dst, const std::byte* src)
                             LACUNA_INLINE { copy_run_by(dst, src, width, moves.half_lines); });
  }
}
