// SPDX-License-Identifier: BSD-3-Clause
//
// Which kernels there are on this host, their names, and which one serves a shape and width: the
// most specialised first, the reference last.
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/tables.hpp"

namespace lacuna {

Width width_class(int64_t width) {
  switch (width) {
    case 1:
      return Width::k1;
    case 2:
      return Width::k2;
    case 4:
      return Width::k4;
    case 8:
      return Width::k8;
    case 16:
      return Width::k16;
    default:
      return Width::kAny;
  }
}

std::string_view shape_name(Shape shape) {
  static constexpr std::string_view kNames[kShapes] = {
      "strided",     "transpose",    "gather",        "scatter",
      "gather_runs", "scatter_runs", "gather_fields", "scatter_fields"};
  return kNames[static_cast<int>(shape)];
}

std::string_view width_name(Width width) {
  static constexpr std::string_view kNames[kWidths] = {"w1", "w2", "w4", "w8", "w16", "any"};
  return kNames[static_cast<int>(width)];
}

std::string Kernel::id() const {
  return std::string(shape_name(shape)) + "." + std::string(width_name(width)) + "." +
         std::string(isa);
}

std::span<const KernelTable* const> kernel_tables() {
  // Never destroyed: functions that run at the end of the process may use it.
  static const std::vector<const KernelTable*>& tables = []() -> auto& {
    const auto simd = kernels::simd_tables();
    auto& all = *new std::vector<const KernelTable*>(simd.begin(), simd.end());
    all.push_back(&kernels::reference_table());
    return all;
  }();
  return tables;
}

const KernelTable* find_table(std::string_view isa) {
  for (const KernelTable* table : kernel_tables()) {
    if (table->isa == isa) return table;
  }
  return nullptr;
}

Kernel find_kernel(const KernelTable& table, Shape shape, int64_t width, bool gathers_lanes) {
  const Width wanted = width_class(width);
  if (gathers_lanes && shape == Shape::kGather) {
    const KernelFn fn = table.lane_gathers[static_cast<int>(wanted)];
    if (fn != nullptr) return {fn, shape, wanted, table.isa};
  }
  for (const KernelTable* t : {&table, &kernels::reference_table()}) {
    for (const Width w : {wanted, Width::kAny}) {
      const KernelFn fn = t->fn[static_cast<int>(shape)][static_cast<int>(w)];
      if (fn != nullptr) return {fn, shape, w, t->isa};
    }
  }
  return {};
}

}  // namespace lacuna
