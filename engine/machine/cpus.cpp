// SPDX-License-Identifier: BSD-3-Clause
#include "machine/cpus.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <cstring>

#include "base/options.hpp"

namespace lacuna {
namespace {

using Maker = CpuId::Maker;

constexpr int kZenFamily = 25;  // of Zen 3 and Zen 4
constexpr int64_t kAny = int64_t{1} << 40;

bool is_golden_cove(const CpuId& id) { return id.maker == Maker::kIntel; }

bool is_zen4(const CpuId& id) {
  const bool is_its_model = (id.model >= 0x10 && id.model <= 0x1f) || id.model >= 0x60;
  return id.maker == Maker::kAmd && id.family == kZenFamily && is_its_model;
}

bool is_zen3(const CpuId& id) {
  return id.maker == Maker::kAmd && id.family <= kZenFamily && !is_zen4(id);
}

bool is_zen5(const CpuId& id) { return id.maker == Maker::kAmd && id.family > kZenFamily; }

bool is_arm(const CpuId& id) { return id.maker == Maker::kArm; }

constexpr CpuHabits kGoldenCove = {.fast_gathers = true};

constexpr CpuHabits kZen4 = {
    .store_bytes = 32,
    .early_stores = 3,
    .follows_masked_stores = false,
    .fast_masked_moves = true,
    .narrow_moves_avoid_conflicts = true,
    .cheap_fences = true,
    .hides_l2_misses = true,
    .miss_runs = 32,
    .dram_miss_runs = 64,
    .followed_stride_bytes = 96,
    .follows_ascending_lists = true,
    .short_load_window = true,
    .wasted_prefetches_cost = true,
    .conflict_prefetch_level = 2,
    .conflict_load_cycles = 8,
    .learned_run_bytes = 64,
    .learned_stride_bytes = 128,
    .learned_run_least_bytes = 64,
    .unrolled_from_l2s = 2,
    .fast_memcpy_bytes = 3072,
    .memcpy_writes_whole_lines = true,
    .slow_memcpy_in_l1 = true,
    .vector_bytes = 32,
    .fast_byte_permutes = true,
    .permuted_run_bytes = 8,
    .fast_words = true,
    .word_cycles = 1.25,
    .tile_rows = int64_t{1} << 20,
    .four_lines_bytes = int64_t{16} << 20,
    .four_lines_narrow_bytes = kAny,
    .conflicts_stall_tiles = true,
};

constexpr CpuHabits kZen5 = [] {
  CpuHabits habits = kZen4;
  habits.store_bytes = 64;
  habits.early_stores = 8;
  habits.narrow_moves_avoid_conflicts = false;
  habits.cheap_fences = false;
  habits.fast_memcpy_scatter_bytes = habits.fast_memcpy_bytes;
  habits.fast_permutes_beyond_l1 = true;
  habits.four_lines_narrow_bytes = habits.four_lines_bytes / 4;
  habits.conflicts_stall_tiles = false;
  return habits;
}();

// Events that count L2 misses: L2_RQSTS.MISS (Intel SDM, since Skylake); L2_CACHE_REQ_STAT, data
// misses (AMD PPR, since Zen 2).
constexpr Cpu kRows[] = {
    {"generic", "not measured: safe defaults", nullptr, {}},
    {"golden-cove", "Sapphire, Emerald and Granite Rapids; also for Intel's other CPUs",
     is_golden_cove, kGoldenCove, 0x3f24},
    {"zen3", "Zen 3 (byte shuffles), Zen 4 (the rest); also for AMD's older CPUs", is_zen3, kZen4,
     0x0864},
    {"zen4", "Zen 4; masked moves, lists and strides on Zen 5", is_zen4, kZen4, 0x0864},
    {"zen5", "Zen 5; also for AMD's newer CPUs", is_zen5, kZen5, 0x0864},
    {"neoverse", "not measured: as generic; for all AArch64 CPUs", is_arm, {}},
};

std::string described(const CpuId& id) {
  if (id.maker == Maker::kArm) return "AArch64";
  return "family " + std::to_string(id.family) + " model " + std::to_string(id.model);
}

std::string names() {
  std::string all;
  for (const Cpu& row : kRows) {
    if (&row != kRows) all += &row == std::end(kRows) - 1 ? " or " : ", ";
    all += row.name;
  }
  return all;
}

}  // namespace

CpuId host_cpu_id() {
#if defined(__aarch64__)
  return {.maker = Maker::kArm};
#elif defined(__x86_64__) || defined(__i386__)
  unsigned eax = 0;
  unsigned words[3] = {};  // in the order of the maker's name
  unsigned ecx = 0;
  unsigned edx = 0;
  CpuId id;
  if (__get_cpuid(0, &eax, &words[0], &words[2], &words[1]) == 0) return id;
  if (std::memcmp(words, "AuthenticAMD", sizeof words) == 0) id.maker = Maker::kAmd;
  if (std::memcmp(words, "GenuineIntel", sizeof words) == 0) id.maker = Maker::kIntel;
  unsigned ebx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return id;
  const unsigned family = eax >> 8 & 15;
  id.family = static_cast<int>(family + (family == 15 ? eax >> 20 & 255 : 0));
  id.model = static_cast<int>((eax >> 4 & 15) + (eax >> 16 & 15) * 16);
  return id;
#else
  return {};
#endif
}

std::span<const Cpu> cpu_rows() { return kRows; }

const Cpu* find_cpu_row(std::string_view name) {
  for (const Cpu& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

CpuChoice choose_cpu(std::string_view wanted, const CpuId& id) {
  if (const Cpu* const named = find_cpu_row(wanted)) return {named, "LACUNA_CPU", ""};
  CpuChoice choice{kRows, "no row matches " + described(id), ""};
  for (const Cpu& row : kRows) {
    if (row.match != nullptr && row.match(id)) choice = {&row, described(id), ""};
  }
  if (!wanted.empty()) {
    choice.complaint = "LACUNA_CPU=" + std::string(wanted) + " is not understood: it must be " +
                       names() + "; " + std::string(choice.row->name) +
                       " is used, the row of this CPU (" + choice.why + ")";
  }
  return choice;
}

const CpuChoice& cpu_in_force() {
  static const CpuChoice* const choice =
      new CpuChoice(choose_cpu(option_text(OptionId::kCpu), host_cpu_id()));
  return *choice;
}

}  // namespace lacuna
