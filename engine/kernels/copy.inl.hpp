// SPDX-License-Identifier: BSD-3-Clause
//
// Contiguous runs with vectors: the mover under every kernel whose width is not one of 1, 2, 4,
// 8, 16. Included once per SIMD target, inside its namespace (simd.cpp).

// At most a line: runs longer than that hold at least one vector.
using Bytes = hn::CappedTag<uint8_t, 64>;

[[gnu::always_inline]] inline uint8_t* as_u8(std::byte* p) { return reinterpret_cast<uint8_t*>(p); }
[[gnu::always_inline]] inline const uint8_t* as_u8(const std::byte* p) {
  return reinterpret_cast<const uint8_t*>(p);
}

// One load and one store where the target has vectors of so many bytes, else as many as it takes.
// Not by Highway's types: of several such copies in one loop GCC sent some through the stack.
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

// Runs longer than a line, by half lines wherever they lie: beyond the first level these are
// quicker on some CPUs (Move::half_lines).
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
  // From the second vector on at the destination's own boundaries, where that pays for the first
  // being half twice: a store in two lines costs more than a load from two. (768 bytes: 1.4
  // faster; from 3 vectors on: 160 bytes 1.15 slower.)
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

// From here on the C library's memcpy is as good and knows the machine's string instructions.
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

// As copy_run; what is longer than a line by half lines, if asked for.
[[gnu::always_inline]] inline void copy_run_by(std::byte* dst, const std::byte* src, int64_t bytes,
                                               bool by_half_lines) {
  if (by_half_lines && hn::Lanes(Bytes()) > 32 && bytes > 64 && bytes < kLibraryBytes) {
    copy_half_lines(dst, src, bytes);
  } else {
    copy_run(dst, src, bytes);
  }
}

// By which moves runs of one width go.
struct Moves {
  bool line_in_halves = false;  // 64 bytes: as two halves, or whole
  bool half_lines = false;      // other runs: by no more than half a line (Move::half_lines)
  bool masks = false;           // up to 31 bytes, no power of two: under a mask
};

// Calls f(one_move, copy), where copy(dst, src) moves `width` bytes, by one move or several; the
// choice among moves is made once for all of f's runs.
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
  // One load and one store under a mask. Zen 5, 4096 runs of 12 bytes at 128 by
  // moves and so 2.3 and 1.25 us; 20,000 of 24 bytes, listed, cold 106 and 56 us.
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
  // By half lines at most: wider moves, and masks of what is wider, lie across two lines more
  // often, and there cost several times as much on some CPUs. Zen 5, 512 KiB of runs at random
  // places, ns a run by whole lines' moves (up to 63 bytes under a mask), so, and by 16 bytes:
  // unpacked 40 bytes 2.6, 1.3, 1.35; 56 2.6, 1.4, 1.6; 96 3.3, 1.6, 1.9; 120 4.6, 2.3, 2.7;
  // 128 3.3, 1.8, 2.3; packed 40 1.7, 1.15, 1.3; 96 2.5, 1.8, 2.1; 128 2.5, 2.2, 2.7. At a stride:
  // 52 of 56 unpacked 1.65, 1.0, 1.3, packed 1.1, 0.9, 1.25; 96 of 128 unpacked 2.5, 1.4, 1.7; 128
  // of 136 3.3, 1.6, 2.2.
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
  // Up to here moves of 16 bytes: wider ones lie across two lines more often than they save an
  // instruction (40 bytes: 1.2 against 1.7 ns a run; from 128 bytes on the wider are ahead), but
  // for one line's worth (64 bytes: 0.7 by one move, 1.1 by two and 1.6 ns by four in the first
  // level; 1.6, 1.45 and 1.45 in the second).
  constexpr int64_t kSmallMoves = 96;
  const auto fixed = [](auto bytes) {
    return [](std::byte* dst, const std::byte* src)
               LACUNA_INLINE { std::memcpy(dst, src, decltype(bytes)::value); };
  };
  // So many moves of 16 bytes, and one that ends with the run. (A loop over the moves took 1.5
  // times as long with 52 bytes of 56.)
  const auto sixteens = [width](auto moves) {
    return [width](std::byte* dst, const std::byte* src) LACUNA_INLINE {
      constexpr int kMoves = decltype(moves)::value;
#pragma GCC unroll 8
      for (int i = 0; i < kMoves; ++i) copy_vector<16>(dst + 16 * i, src + 16 * i);
      copy_vector<16>(dst + width - 16, src + width - 16);
    };
  };
  // Three and five floats or doubles are common, and moves that do not overlap lie in two lines
  // less often.
  if (width == 12) {
    f(std::false_type(), fixed(std::integral_constant<size_t, 12>()));
  } else if (width == 20) {
    f(std::false_type(), fixed(std::integral_constant<size_t, 20>()));
  } else if (width == 24) {
    f(std::false_type(), fixed(std::integral_constant<size_t, 24>()));
  } else if (width == 32) {
    // One move where there are such: 300 of them at 64 bytes take 163 ns, by two 270; at 72, where
    // one in three lies in two lines, 150 and 258.
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
    // How many is asked for each run otherwise (AVX2's kernels, 100 of 128 bytes 143 and 79 ns).
    f(std::false_type(), [width](std::byte* dst, const std::byte* src) LACUNA_INLINE {
      for (int64_t at = 0; at < 96; at += 32) copy_vector<32>(dst + at, src + at);
      copy_vector<32>(dst + width - 32, src + width - 32);
    });
  } else {
    f(std::false_type(), [width, moves](std::byte* dst, const std::byte* src)
                             LACUNA_INLINE { copy_run_by(dst, src, width, moves.half_lines); });
  }
}
