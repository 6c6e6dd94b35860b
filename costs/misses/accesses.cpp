// SPDX-License-Identifier: BSD-3-Clause
#include "costs/misses/accesses.hpp"

#include <algorithm>

#include "base/address.hpp"
#include "exec/executor.hpp"
#include "kernels/record/record.hpp"
#include "plan/cost/cycles.hpp"

namespace lacuna::costs {
namespace {

constexpr int64_t kLine = 64;

Accesses* g_accesses = nullptr;  // a global, since a kernel's only argument is a KernelCall

// Bytes from `at` to the end of its line, at most `bytes`.
int64_t in_line(const std::byte* at, int64_t bytes) {
  return std::min(bytes, kLine - static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % kLine));
}

void read(const std::byte* at, int64_t bytes) {
  for (int64_t part = 0; bytes > 0; at += part, bytes -= part)
    g_accesses->read(at, part = in_line(at, bytes));
}

void write(std::byte* at, int64_t bytes, bool non_temporal) {
  for (int64_t part = 0; bytes > 0; at += part, bytes -= part) {
    part = in_line(at, bytes);
    non_temporal ? g_accesses->write_non_temporal(at, part) : g_accesses->write(at, part);
  }
}

// Copies in parts that cross no line on either side.
void copy(std::byte* dst, const std::byte* src, int64_t bytes, bool non_temporal) {
  while (bytes > 0) {
    const int64_t part = std::min(in_line(dst, bytes), in_line(src, bytes));
    read(src, part);
    write(dst, part, non_temporal);
    dst += part;
    src += part;
    bytes -= part;
  }
}

void strided(const KernelCall& m) noexcept {
  const bool non_temporal = m.non_temporal && m.width >= 2 * kLine;
  for (int64_t i = 0; i < m.outer.count; ++i) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      copy(address(m.dst, i * m.outer.dst_stride + j * m.inner.dst_stride),
           address(m.src, i * m.outer.src_stride + j * m.inner.src_stride), m.width, non_temporal);
    }
  }
}

// Tiles of a vector's elements, over strips of two lines of columns and two of rows; with
// non-temporal stores a strip is a page of columns (kernels/transpose/transpose.inl.hpp).
void transpose(const KernelCall& m) noexcept {
  const int64_t line = std::max<int64_t>(kLine / m.width, 1);
  const int64_t side = std::clamp<int64_t>(vector_bytes(default_kernels()) / m.width, 1, line);
  const int64_t columns = m.outer.count;
  const int64_t rows = m.inner.count;
  const auto tile = [&](int64_t r, int64_t c) {
    const int64_t n_rows = std::min(side, rows - r);
    const int64_t n_columns = std::min(side, columns - c);
    for (int64_t i = r; i < r + n_rows; ++i)
      read(address(m.src, i * m.inner.src_stride + c * m.width), n_columns * m.width);
    for (int64_t j = c; j < c + n_columns; ++j)
      write(address(m.dst, j * m.outer.dst_stride + r * m.width), n_rows * m.width, m.non_temporal);
  };
  const int64_t strip = m.non_temporal ? std::max(m.tile_columns, line) : 2 * line;
  for (int64_t c0 = 0; c0 < columns; c0 += strip) {
    for (int64_t r0 = 0; r0 < rows; r0 += 2 * line) {
      for (int64_t c = c0; c < std::min(c0 + strip, columns); c += side) {
        for (int64_t r = r0; r < std::min(r0 + 2 * line, rows); r += side) tile(r, c);
      }
    }
  }
}

template <typename T>
void read_entry(const T* at) {
  read(reinterpret_cast<const std::byte*>(at), sizeof(T));
}

// Both kinds of lists, in both directions; the lists themselves are read as well.
template <bool kScatter, bool kRuns>
void listed(const KernelCall& m) noexcept {
  for (int64_t i = 0; i < m.outer.count; ++i) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      m.list.places != nullptr ? read_entry(m.list.places + j) : read_entry(m.list.offsets + j);
      if (kRuns) read_entry(m.list.packed_offsets + j + 1);
      const int64_t gaps = m.list.places != nullptr ? m.list.places[j] : m.list.offsets[j];
      const int64_t dense = kRuns ? m.list.packed_offsets[j] : j * m.width;
      const int64_t bytes = kRuns ? m.list.packed_offsets[j + 1] - dense : m.width;
      copy(address(m.dst, i * m.outer.dst_stride + (kScatter ? gaps : dense)),
           address(m.src, i * m.outer.src_stride + (kScatter ? dense : gaps)), bytes, false);
    }
  }
}

template <bool kScatter>
void fields(const KernelCall& m) noexcept {
  for (int64_t i = 0; i < m.outer.count; ++i) {
    for (int64_t j = 0; j < m.inner.count; ++j) {
      int64_t dense = 0;
      for (const RecordRun& field : m.record->runs) {
        const int64_t dst = i * m.outer.dst_stride + j * m.inner.dst_stride;
        const int64_t src = i * m.outer.src_stride + j * m.inner.src_stride;
        copy(address(m.dst, dst + (kScatter ? field.mem_offset : dense)),
             address(m.src, src + (kScatter ? dense : field.mem_offset)), field.bytes, false);
        dense += field.bytes;
      }
    }
  }
}

// Recording kernels exactly where the host's table has kernels, so that plans are the same.
const KernelTable& recording_table() {
  static const KernelTable table = [] {
    const auto recording = [](Strategy shape) -> KernelFn {
      switch (shape) {
        case Strategy::kTranspose:
          return &transpose;
        case Strategy::kGather:
          return &listed<false, false>;
        case Strategy::kScatter:
          return &listed<true, false>;
        case Strategy::kGatherRuns:
          return &listed<false, true>;
        case Strategy::kScatterRuns:
          return &listed<true, true>;
        case Strategy::kGatherRecord:
          return &fields<false>;
        case Strategy::kScatterRecord:
          return &fields<true>;
        default:
          return &strided;
      }
    };
    KernelTable made = default_kernels();
    for (int i = 0; i < kStrategies; ++i) {
      const Strategy shape = definition_of(static_cast<Strategy>(i));
      for (int width = 0; width < kWidths; ++width) {
        KernelFn& one = made.fn[i][width];
        const bool is_definition = static_cast<Strategy>(i) == shape;
        if (one != nullptr || (is_definition && static_cast<Width>(width) == Width::kAny))
          one = recording(shape);
      }
    }
    return made;
  }();
  return table;
}

template <bool kPack>
void follow_way(const Plan& plan, std::byte* mem, int64_t count, std::byte* packed) {
  const int64_t total = count * plan.size();
  if (plan.is_run(count)) return copy(kPack ? packed : mem, kPack ? mem : packed, total, false);
  Executor<kPack>(total).message(plan, mem, count, packed);
}

}  // namespace

PlanPtr make_recording_plan(const TypePtr& type, const Machine& host) {
  return make_plan(type, recording_table(), host);
}

void follow(const Plan& plan, bool is_pack, std::byte* mem, int64_t count, std::byte* packed,
            Accesses& accesses) {
  if (count <= 0 || plan.is_empty()) return;
  g_accesses = &accesses;
  mem = address(mem, plan.offset());
  if (is_pack) {
    follow_way<true>(plan, mem, count, packed);
  } else {
    follow_way<false>(plan, mem, count, packed);
  }
  g_accesses = nullptr;
}

}  // namespace lacuna::costs
