// SPDX-License-Identifier: BSD-3-Clause
//
// The loops around a kernel's innermost one. Included by the reference, and once per SIMD target,
// so that rows are compiled with the target's instructions.

// Calls row(src, dst) for each row of a move.
template <typename Row>
[[gnu::always_inline]] inline void each_row(const KernelCall& m, Row row) {
  // Copies, since to the compiler a row may change m. Each loaded alone: a wider load would have to
  // wait for the count that was just stored.
  const int64_t blocks = m.around.count;
  const int64_t src_block_stride = m.around.src_stride;
  const int64_t dst_block_stride = m.around.dst_stride;
  const int64_t rows = m.outer.count;
  const int64_t src_stride = m.outer.src_stride;
  const int64_t dst_stride = m.outer.dst_stride;
  const std::byte* src_block = m.src;
  std::byte* dst_block = m.dst;
  for (int64_t k = blocks; k > 0; --k) {
    const std::byte* src = src_block;
    std::byte* dst = dst_block;
    for (int64_t i = rows; i > 0; --i) {
      row(src, dst);
      src += src_stride;
      dst += dst_stride;
    }
    src_block += src_block_stride;
    dst_block += dst_block_stride;
  }
}
