// SPDX-License-Identifier: BSD-3-Clause
//
// The reference kernels: portable, complete, one loop for each loop of the definition in
// kernel.hpp. Every other kernel may decline; these never do, and every other kernel is tested
// against them.
#include <cstring>

#include "kernels/kernel.hpp"
#include "kernels/record/record.hpp"
#include "kernels/tables.hpp"

namespace lacuna::kernels {
namespace {

void copy(std::byte* dst, const std::byte* src, int64_t bytes) noexcept {
  std::memcpy(dst, src, static_cast<size_t>(bytes));
}

#include "kernels/rows.inl.hpp"

// Transposes too: a transpose may be traversed in any order.
void strided(const KernelCall& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) {
    for (int64_t j = 0; j < m.inner.count; ++j)
      copy(dst + j * m.inner.dst_stride, src + j * m.inner.src_stride, m.width);
  });
}

template <bool kScatter>
void listed(const KernelCall& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      const int64_t listed_at = m.list.places != nullptr ? m.list.places[j] : m.list.offsets[j];
      const int64_t packed_at = j * m.width;
      copy(dst + (kScatter ? listed_at : packed_at), src + (kScatter ? packed_at : listed_at),
           m.width);
    }
  });
}

template <bool kScatter>
void listed_runs(const KernelCall& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      const int64_t listed_at = m.list.offsets[j];
      const int64_t packed_at = m.list.packed_offsets[j];
      copy(dst + (kScatter ? listed_at : packed_at), src + (kScatter ? packed_at : listed_at),
           m.list.packed_offsets[j + 1] - packed_at);
    }
  });
}

template <bool kScatter>
void record(const KernelCall& m) noexcept {
  each_row(m, [&](const std::byte* src, std::byte* dst) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      int64_t packed_at = 0;
      for (const RecordRun& field : m.record->runs) {
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
  static const KernelTable kTable = [] {
    KernelTable table{.isa = "reference"};
    const auto set = [&](Strategy strategy, KernelFn fn) {
      table.fn[static_cast<int>(strategy)][static_cast<int>(Width::kAny)] = fn;
    };
    set(Strategy::kStrided, &strided);
    set(Strategy::kTranspose, &strided);
    set(Strategy::kGather, &listed<false>);
    set(Strategy::kScatter, &listed<true>);
    set(Strategy::kGatherRuns, &listed_runs<false>);
    set(Strategy::kScatterRuns, &listed_runs<true>);
    set(Strategy::kGatherRecord, &record<false>);
    set(Strategy::kScatterRecord, &record<true>);
    return table;
  }();
  return kTable;
}

}  // namespace lacuna::kernels
