// SPDX-License-Identifier: BSD-3-Clause
//
// Many short rows of runs of one width of at most 16 bytes: a function for each number of runs in a
// row, with the offsets in registers, so that a row costs its moves and two additions. Included
// once per SIMD target, after strided.inl.hpp.

template <int64_t kWidth, int64_t kRuns, bool kScatter>
[[gnu::noinline]] void short_rows_of(const KernelCall& m) noexcept {
  const int64_t stride = kScatter ? m.inner.dst_stride : m.inner.src_stride;
  // Multiples that are no addressing mode; without the asm the compiler would add them up again in
  // each row.
  int64_t thrice = 3 * stride;
  int64_t fivefold = 5 * stride;
  int64_t sevenfold = 7 * stride;
  asm("" : "+r"(thrice), "+r"(fivefold), "+r"(sevenfold));
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
#pragma GCC unroll 8
    for (int64_t k = 0; k < kRuns; ++k) {
      const int64_t at = k == 7   ? sevenfold
                         : k == 6 ? 2 * thrice
                         : k == 5 ? fivefold
                         : k == 3 ? thrice
                                  : k * stride;
      if constexpr (kScatter) {
        scatter_block<kWidth>(dst + at, src + k * kWidth);
      } else {
        copy_block<kWidth>(dst + k * kWidth, src + at);
      }
    }
  });
}

// Rows of more runs, which only a slice of other rows could have, are moved by the plain loop.
template <int64_t kWidth>
void short_rows(const KernelCall& m) noexcept {
  const int64_t runs = m.inner.count;
  if (runs > kMostShortRow || runs < 1) return strided<kWidth>(m);
  const bool scatters = m.inner.dst_stride != kWidth;
  static constexpr KernelFn kRows[2][kMostShortRow] = {
      {&short_rows_of<kWidth, 1, false>, &short_rows_of<kWidth, 2, false>,
       &short_rows_of<kWidth, 3, false>, &short_rows_of<kWidth, 4, false>,
       &short_rows_of<kWidth, 5, false>, &short_rows_of<kWidth, 6, false>,
       &short_rows_of<kWidth, 7, false>, &short_rows_of<kWidth, 8, false>},
      {&short_rows_of<kWidth, 1, true>, &short_rows_of<kWidth, 2, true>,
       &short_rows_of<kWidth, 3, true>, &short_rows_of<kWidth, 4, true>,
       &short_rows_of<kWidth, 5, true>, &short_rows_of<kWidth, 6, true>,
       &short_rows_of<kWidth, 7, true>, &short_rows_of<kWidth, 8, true>}};
  kRows[scatters ? 1 : 0][runs - 1](m);
}
