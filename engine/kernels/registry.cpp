// SPDX-License-Identifier: BSD-3-Clause
//
// Which kernels there are on this host, their names, and which one serves a shape and width: the
// most specialised first, the reference last.
#include <limits>
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

namespace {

constexpr int64_t kAnyWidth = std::numeric_limits<int64_t>::max();

struct StrategyFacts {
  std::string_view name;
  Strategy definition;
  // The widths that the entry for any width moves.
  int64_t least = 1;
  int64_t most = kAnyWidth;
  int64_t multiple_of = 1;
};

constexpr StrategyFacts kFacts[kStrategies] = {
    {"strided", Strategy::kStrided},
    {"strided.one_load", Strategy::kStrided, 64, 64},
    {"strided.short_rows", Strategy::kStrided},
    {"strided.repeated_stores", Strategy::kStrided, 64, kAnyWidth, 64},
    {"strided.spaced_loads", Strategy::kStrided, 64, 64},
    {"strided.narrow", Strategy::kStrided, 64, kAnyWidth, 64},
    {"strided.vectors", Strategy::kStrided, 65},
    {"strided.lines", Strategy::kStrided, 65, kMostByLines},
    {"strided.memcpy", Strategy::kStrided},
    {"strided.non_temporal", Strategy::kStrided},
    {"transpose", Strategy::kTranspose},
    {"gather", Strategy::kGather},
    {"gather.in_order", Strategy::kGather},
    {"gather.lanes", Strategy::kGather},
    {"scatter", Strategy::kScatter},
    {"gather_runs", Strategy::kGatherRuns},
    {"scatter_runs", Strategy::kScatterRuns},
    {"gather_record", Strategy::kGatherRecord},
    {"gather_record.table", Strategy::kGatherRecord},
    {"gather_record.shuffles", Strategy::kGatherRecord},
    {"gather_record.permutes", Strategy::kGatherRecord},
    {"gather_record.words", Strategy::kGatherRecord},
    {"gather_record.move_list", Strategy::kGatherRecord},
    {"scatter_record", Strategy::kScatterRecord},
    {"scatter_record.table", Strategy::kScatterRecord},
    {"scatter_record.permutes", Strategy::kScatterRecord},
    {"scatter_record.words", Strategy::kScatterRecord},
    {"scatter_record.move_list", Strategy::kScatterRecord},
};
static_assert(!kFacts[kStrategies - 1].name.empty(), "a row for each Strategy, in its order");

}  // namespace

std::string_view strategy_name(Strategy strategy) {
  return kFacts[static_cast<int>(strategy)].name;
}
Strategy definition_of(Strategy strategy) { return kFacts[static_cast<int>(strategy)].definition; }

std::string_view width_name(Width width) {
  static constexpr std::string_view kNames[kWidths] = {"w1", "w2", "w4", "w8", "w16", "any"};
  return kNames[static_cast<int>(width)];
}

std::string Kernel::id() const {
  return std::string(strategy_name(strategy)) + "." + std::string(width_name(width)) + "." +
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
  if (isa == "avx3") isa = "avx512";  // its name until version 0.2
  for (const KernelTable* table : kernel_tables()) {
    if (table->isa == isa) return table;
  }
  return nullptr;
}

Kernel find_kernel(const KernelTable& table, Strategy strategy, int64_t width) {
  const Width wanted = width_class(width);
  const auto serves = [&](Strategy s, Width w) {
    const StrategyFacts& facts = kFacts[static_cast<int>(s)];
    return w != Width::kAny ||
           (width >= facts.least && width <= facts.most && width % facts.multiple_of == 0) ||
           s == definition_of(s);
  };
  for (const KernelTable* t : {&table, &kernels::reference_table()}) {
    for (const Strategy s : {strategy, definition_of(strategy)}) {
      for (const Width w : {wanted, Width::kAny}) {
        const KernelFn fn = t->fn[static_cast<int>(s)][static_cast<int>(w)];
        if (fn != nullptr && serves(s, w)) return {fn, s, w, t->isa};
      }
    }
  }
  return {};
}

}  // namespace lacuna
