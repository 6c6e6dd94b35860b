// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level strided movers and index-list movers for one width, and for any. Included once per SIMD
// target, inside its namespace (simd.cpp).

// One block of kWidth bytes, 1 to 16; the compiler makes one load and one store of it.
template <int64_t kWidth>
[[gnu::always_inline]] inline void copy_block(std::byte* dst, const std::byte* src) {
  std::memcpy(dst, src, static_cast<size_t>(kWidth));
}

// Four blocks in flight; the loads of a large stride each miss a line of their own, and it is their
// number in flight that hides the latency. Tried: software prefetch 8 and 16 blocks ahead, no gain
// (out-of-order execution runs further ahead than that).
template <int64_t kWidth>
void strided(const Move& m) noexcept {
  const int64_t src_stride = m.inner.src_stride;
  const int64_t dst_stride = m.inner.dst_stride;
  for (int64_t i = 0; i < m.outer.count; ++i) {
    const std::byte* src = m.src + i * m.outer.src_stride;
    std::byte* dst = m.dst + i * m.outer.dst_stride;
    int64_t j = 0;
    for (; j + 4 <= m.inner.count; j += 4) {
      copy_block<kWidth>(dst, src);
      copy_block<kWidth>(dst + dst_stride, src + src_stride);
      copy_block<kWidth>(dst + 2 * dst_stride, src + 2 * src_stride);
      copy_block<kWidth>(dst + 3 * dst_stride, src + 3 * src_stride);
      src += 4 * src_stride;
      dst += 4 * dst_stride;
    }
    for (; j < m.inner.count; ++j) {
      copy_block<kWidth>(dst, src);
      src += src_stride;
      dst += dst_stride;
    }
  }
}

inline void strided_any(const Move& m) noexcept {
  const auto each = [&m](auto copy) {
    for (int64_t i = 0; i < m.outer.count; ++i) {
      const std::byte* src = m.src + i * m.outer.src_stride;
      std::byte* dst = m.dst + i * m.outer.dst_stride;
      for (int64_t j = 0; j < m.inner.count; ++j) {
        copy(dst, src);
        src += m.inner.src_stride;
        dst += m.inner.dst_stride;
      }
    }
  };
  // A line is written whole only by runs that hold one; shorter ones go through the caches.
  if (m.stream && m.width >= 128) {
    each([&m](std::byte* dst, const std::byte* src) { copy_run_stream(dst, src, m.width); });
    hwy::FlushStream();
  } else {
    with_copy(m.width, each);
  }
}

inline void strided_of_width(const Move& m) noexcept {
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

// kScatter: the offsets are the destination's.
template <int64_t kWidth, bool kScatter>
void listed(const Move& m) noexcept {
  for (int64_t i = 0; i < m.outer.count; ++i) {
    const std::byte* src = m.src + i * m.outer.src_stride;
    std::byte* dst = m.dst + i * m.outer.dst_stride;
    for (int64_t j = 0; j < m.inner.count; ++j) {
      copy_block<kWidth>(kScatter ? dst + m.offsets[j] : dst + j * kWidth,
                         kScatter ? src + j * kWidth : src + m.offsets[j]);
    }
  }
}

template <bool kScatter>
void listed_any(const Move& m) noexcept {
  with_copy(m.width, [&m](auto copy) {
    for (int64_t i = 0; i < m.outer.count; ++i) {
      const std::byte* src = m.src + i * m.outer.src_stride;
      std::byte* dst = m.dst + i * m.outer.dst_stride;
      for (int64_t j = 0; j < m.inner.count; ++j) {
        copy(kScatter ? dst + m.offsets[j] : dst + j * m.width,
             kScatter ? src + j * m.width : src + m.offsets[j]);
      }
    }
  });
}

template <bool kScatter>
void listed_runs(const Move& m) noexcept {
  for (int64_t i = 0; i < m.outer.count; ++i) {
    const std::byte* src = m.src + i * m.outer.src_stride;
    std::byte* dst = m.dst + i * m.outer.dst_stride;
    for (int64_t j = 0; j < m.inner.count; ++j) {
      const int64_t packed = m.packed_offsets[j];
      copy_run(kScatter ? dst + m.offsets[j] : dst + packed,
               kScatter ? src + packed : src + m.offsets[j], m.packed_offsets[j + 1] - packed);
    }
  }
}

// Elements of several fields, one pass per field over a block of elements that stays in the
// first-level cache: each pass is one loop over moves of one width.
template <bool kScatter>
void by_field(const Move& m) noexcept {
  constexpr int64_t kBlockBytes = 8192;
  const Fields& f = *m.fields;
  const int64_t most = kBlockBytes / (f.span < kBlockBytes ? f.span : kBlockBytes);
  for (int64_t i = 0; i < m.outer.count; ++i) {
    Move pass;
    pass.inner.src_stride = m.inner.src_stride;
    pass.inner.dst_stride = m.inner.dst_stride;
    for (int64_t e = 0; e < m.inner.count; e += most) {
      pass.inner.count = m.inner.count - e < most ? m.inner.count - e : most;
      const std::byte* src = m.src + i * m.outer.src_stride + e * m.inner.src_stride;
      std::byte* dst = m.dst + i * m.outer.dst_stride + e * m.inner.dst_stride;
      int64_t packed = 0;
      for (const Field& field : f.fields) {
        pass.src = src + (kScatter ? packed : field.mem_offset);
        pass.dst = dst + (kScatter ? field.mem_offset : packed);
        pass.width = field.bytes;
        packed += field.bytes;
        strided_of_width(pass);
      }
    }
  }
}
