// SPDX-License-Identifier: BSD-3-Clause
//
// The register tile of the transpose: N x N elements of W bytes, N*W = one vector. Included once
// per SIMD target (simd.cpp), before transpose.inl.hpp, which drives it.

template <int64_t kWidth>
struct TileLane;
template <>
struct TileLane<1> {
  using T = uint8_t;
};
template <>
struct TileLane<2> {
  using T = uint16_t;
};
template <>
struct TileLane<4> {
  using T = uint32_t;
};
template <>
struct TileLane<8> {
  using T = uint64_t;
};
template <>
struct TileLane<16> {
  using T = uint64_t;
};

template <int64_t kWidth>
struct Tile {
  using T = typename TileLane<kWidth>::T;
  // Narrow elements with wide vectors would make tiles of more vectors than there are registers;
  // 16-byte vectors make them 16 and 8.
  static constexpr int64_t kBytes = kWidth <= 2 ? 16 : (HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64);
  static constexpr int64_t kN = kBytes / kWidth;    // rows and columns
  static constexpr int64_t kInBlock = 16 / kWidth;  // elements in a 128-bit block
  static constexpr int64_t kBlocks = kBytes / 16;
  using D = hn::CappedTag<T, static_cast<size_t>(kBytes) / sizeof(T)>;
  using V = hn::Vec<D>;

  // cols[c] <- element c of each of the kN rows at row(0), row(1), ...
  template <typename Row>
  [[gnu::always_inline]] static inline void load(Row row, V* cols) {
    const D d;
#pragma GCC unroll 16
    for (int64_t r = 0; r < kN; ++r) cols[r] = hn::LoadU(d, reinterpret_cast<const T*>(row(r)));
    transpose(cols);
  }

  // kN rows become kN columns.
  [[gnu::always_inline]] static inline void transpose(V* rows) {
    transpose_in_blocks(rows);
    transpose_blocks(rows);
  }

  template <bool kStream>
  [[gnu::always_inline]] static inline void store(V v, std::byte* dst) {
    const D d;
    if constexpr (kStream) {
      hn::Stream(v, d, reinterpret_cast<T*>(dst));
    } else {
      hn::StoreU(v, d, reinterpret_cast<T*>(dst));
    }
  }

  template <bool kStream>
  [[gnu::always_inline]] static inline void run(const std::byte* src, int64_t src_pitch,
                                                std::byte* dst, int64_t dst_pitch) {
    V cols[kN];
    load([&](int64_t r) { return src + r * src_pitch; }, cols);
#pragma GCC unroll 16
    for (int64_t c = 0; c < kN; ++c) store<kStream>(cols[c], dst + c * dst_pitch);
  }

  // Whether one instruction takes any kN neighbouring elements out of two vectors.
#if HWY_TARGET == HWY_AVX3
  static constexpr bool kShifts = kBytes == 64;
#else
  static constexpr bool kShifts = false;
#endif
  struct Lanes {
    static constexpr size_t kLanesInVector = static_cast<size_t>(kBytes) / sizeof(T);
    constexpr Lanes() {
      for (size_t i = 0; i < std::size(from); ++i) {
        for (size_t j = 0; j < kLanesInVector; ++j)
          from[i][j] = static_cast<T>(i * (static_cast<size_t>(kWidth) / sizeof(T)) + j);
      }
    }
    alignas(64) T from[static_cast<size_t>(kN)][kLanesInVector] = {};
  };
  static constexpr Lanes kLanes{};

  // Lane numbers for `shifted`: elements first, first + 1, ... of the two vectors, 0 <= first < kN.
  // From a table: as local variables, those of kN columns would take a KiB of stack.
  [[gnu::always_inline]] static inline V lanes_from(int64_t first) {
    const D d;
    return hn::Load(d, kLanes.from[first]);
  }

  [[gnu::always_inline]] static inline V shifted(V low, V high, V lanes) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (kShifts) {
      // Highway 1.0.3 has no lookup in two vectors.
      if constexpr (sizeof(T) == 8)
        return V{_mm512_permutex2var_epi64(low.raw, lanes.raw, high.raw)};
      return V{_mm512_permutex2var_epi32(low.raw, lanes.raw, high.raw)};
    }
#endif
    (void)high;
    (void)lanes;
    return low;
  }

 private:
  // Each group of kInBlock rows: log2(kInBlock) perfect shuffles transpose every 128-bit block of
  // the group.
  [[gnu::always_inline]] static inline void transpose_in_blocks(V* rows) {
    const D d;
#pragma GCC unroll 4
    for (int64_t step = 1; step < kInBlock; step *= 2) {
#pragma GCC unroll 4
      for (int64_t g = 0; g < kBlocks; ++g) {
        V* group = rows + g * kInBlock;
        V shuffled[kInBlock];
#pragma GCC unroll 8
        for (int64_t i = 0; i < kInBlock / 2; ++i) {
          shuffled[2 * i] = hn::InterleaveLower(d, group[i], group[i + kInBlock / 2]);
          shuffled[2 * i + 1] = hn::InterleaveUpper(d, group[i], group[i + kInBlock / 2]);
        }
#pragma GCC unroll 16
        for (int64_t i = 0; i < kInBlock; ++i) group[i] = shuffled[i];
      }
    }
  }

  // Vectors (g, c) hold column b*kInBlock + c of group g in block b; afterwards vector b*kInBlock +
  // c holds that column of all groups.
  [[gnu::always_inline]] static inline void transpose_blocks(V* rows) {
    const D d;
    if constexpr (kBlocks == 2) {
#pragma GCC unroll 8
      for (int64_t c = 0; c < kInBlock; ++c) {
        const V a = rows[c];
        const V b = rows[kInBlock + c];
        rows[c] = hn::ConcatLowerLower(d, b, a);
        rows[kInBlock + c] = hn::ConcatUpperUpper(d, b, a);
      }
    } else if constexpr (kBlocks == 4) {
#pragma GCC unroll 8
      for (int64_t c = 0; c < kInBlock; ++c) {
        const V a0 = rows[c];
        const V a1 = rows[kInBlock + c];
        const V a2 = rows[2 * kInBlock + c];
        const V a3 = rows[3 * kInBlock + c];
        const V even01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a1), a0);
        const V odd01 = hn::OddEvenBlocks(a1, hn::SwapAdjacentBlocks(a0));
        const V even23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a3), a2);
        const V odd23 = hn::OddEvenBlocks(a3, hn::SwapAdjacentBlocks(a2));
        rows[c] = hn::ConcatLowerLower(d, even23, even01);
        rows[kInBlock + c] = hn::ConcatLowerLower(d, odd23, odd01);
        rows[2 * kInBlock + c] = hn::ConcatUpperUpper(d, even23, even01);
        rows[3 * kInBlock + c] = hn::ConcatUpperUpper(d, odd23, odd01);
      }
    }
  }
};
