// SPDX-License-Identifier: BSD-3-Clause
//
// The reference kernels: portable, complete, one loop for each loop of the definition in
// kernel.hpp. Every other kernel may decline; these never do, and every other kernel is tested
// against them.
#include <cstring>

#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"
#include "kernels/tables.hpp"

namespace lacuna::kernels {
namespace {

void copy(std::byte* dst, const std::byte* src, int64_t bytes) noexcept {
  std::memcpy(dst, src, static_cast<size_t>(bytes));
}

#include "kernels/rows.inl.hpp"

// Transposes too: they differ only in the order of traversal, which is free.
void strided(const Move& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) {
    for (int64_t j = 0; j < m.inner.count; ++j)
      copy(dst + j * m.inner.dst_stride, src + j * m.inner.src_stride, m.width);
  });
}

template <bool kScatter>
void listed(const Move& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      const int64_t listed_at = m.places != nullptr ? m.places[j] : m.offsets[j];
      const int64_t packed_at = j * m.width;
      copy(dst + (kScatter ? listed_at : packed_at), src + (kScatter ? packed_at : listed_at),
           m.width);
    }
  });
}

template <bool kScatter>
void listed_runs(const Move& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      const int64_t listed_at = m.offsets[j];
      const int64_t packed_at = m.packed_offsets[j];
      copy(dst + (kScatter ? listed_at : packed_at), src + (kScatter ? packed_at : listed_at),
           m.packed_offsets[j + 1] - packed_at);
    }
  });
}

template <bool kScatter>
void fields(const Move& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      int64_t packed_at = 0;
      for (const Field& field : m.fields->fields) {
        const int64_t listed_at = field.mem_offset;
        copy(dst + j * m.inner.dst_stride + (kScatter ? listed_at : packed_at),
             src + j * m.inner.src_stride + (kScatter ? packed_at : listed_at), field.bytes);
        packed_at += field.bytes;
      }
    }
  });
}

}  // namespace

const KernelTable& reference_table() {
  static constexpr KernelTable kTable = {
      "reference",
      {{nullptr, nullptr, nullptr, nullptr, nullptr, &strided},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &strided},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &listed<false>},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &listed<true>},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &listed_runs<false>},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &listed_runs<true>},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &fields<false>},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &fields<true>}}};
  return kTable;
}

}  // namespace lacuna::kernels
