// SPDX-License-Identifier: BSD-3-Clause
//
// Records without vectors: by words, by a list of words, by a pass for each run. Included once per
// SIMD target, after strided_any.inl.hpp.

// Record by record, by words. Only unpacking prefetches: stores wait for their lines.
template <bool kScatter>
void record_words(const KernelCall& m) noexcept {
  const RecordWords& words = *m.record->words;
  const int64_t ahead = kScatter ? m.prefetch.runs * m.inner.dst_stride : 0;
  each_row(m, [&](const std::byte* src, std::byte* dst) LACUNA_INLINE {
    words.move(kScatter ? words.unpack : words.pack, src, dst, m.inner.count, ahead);
  });
}

// By a list of words, four records side by side.
template <bool kScatter>
void record_move_list(const KernelCall& m) noexcept {
  const Record& f = *m.record;
  each_row(m, [&](const std::byte* from, std::byte* dst) LACUNA_INLINE {
    auto* const src = const_cast<std::byte*>(from);  // one signature serves both directions
    f.list.move_all<!kScatter>(kScatter ? dst : src, f.extent, m.inner.count, kScatter ? src : dst,
                               f.size);
  });
}

// One pass for each run over a block of records that stays in the L1; a pass is one loop over moves
// of one width.
//
// Tried: records of more than a line by one pass over all their fields, so that each line is missed
// once. It was slower, as each run's length is examined each time
// (docs/experiments/2026-11-26-short-runs-and-records.md).
template <bool kScatter>
void record_passes(const KernelCall& m) noexcept {
  constexpr int64_t kBlockBytes = 16384;
  const Record& f = *m.record;
  const int64_t most = kBlockBytes / (f.span < kBlockBytes ? f.span : kBlockBytes);
  each_row(m, [&](const std::byte* src_row, std::byte* dst_row) LACUNA_INLINE {
    KernelCall pass;
    pass.inner.src_stride = m.inner.src_stride;
    pass.inner.dst_stride = m.inner.dst_stride;
    const int64_t stride = kScatter ? m.inner.dst_stride : m.inner.src_stride;
    for (int64_t e = 0; e < m.inner.count; e += most) {
      pass.inner.count = m.inner.count - e < most ? m.inner.count - e : most;
      const std::byte* src = src_row + e * m.inner.src_stride;
      std::byte* dst = dst_row + e * m.inner.dst_stride;
      int64_t packed = 0;
      pass.prefetch.runs = kScatter ? m.prefetch.runs : 0;
      for (const RecordRun& field : f.runs) {
        pass.src = src + (kScatter ? packed : field.mem_offset);
        pass.dst = dst + (kScatter ? field.mem_offset : packed);
        pass.width = field.bytes;
        // A block is in the L1: longer runs are moved by whole vectors there.
        const bool is_short =
            field.bytes < 64 || (field.bytes <= 128 && (kScatter || field.bytes != 64));
        pass.move.off_lines = is_short ? m.move.off_lines : 64;
        pass.move.masked = m.move.masked && goes_under_masks(field.bytes, stride);
        packed += field.bytes;
        pass.prefetch.bytes =
            static_cast<int32_t>(std::min<int64_t>(f.span - field.mem_offset, 256));
        strided_of_width(pass);
        pass.prefetch.runs = 0;  // the first run's pass has prefetched the records' lines
      }
    }
  });
}

// A few records, beside the periods of a table or in a slice.
template <bool kScatter>
void few_records(const KernelCall& m) noexcept {
  const Record& f = *m.record;
  if (f.words != nullptr) return record_words<kScatter>(m);
  if (goes_by_list(f, m.inner.count)) return record_move_list<kScatter>(m);
  if (f.is_run()) return strided_of_width(m);
  record_passes<kScatter>(m);
}
