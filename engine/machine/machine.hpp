// SPDX-License-Identifier: BSD-3-Clause
//
// Machine: numbers about the host, as data. What depends on the host in plan/ and exec/ is here;
// what holds for all hosts is a constant there. A number comes from the profile of this CPU if
// there is one (`lacuna machine --measure` writes it, profile.hpp reads it), else from the C
// library or the kernel, else from the row of the CPU (habits.hpp, cpus.cpp) or the defaults below,
// which are those of a current server. numbers.cpp has the name, unit and limits of each.
#ifndef LACUNA_ENGINE_MACHINE_MACHINE_HPP_
#define LACUNA_ENGINE_MACHINE_MACHINE_HPP_

#include <array>
#include <cstddef>
#include <cstdint>

#include "machine/habits.hpp"

namespace lacuna {

enum class Level : uint8_t { kL1, kL2, kL3, kMemory };
inline constexpr size_t kLevels = 4;

// What one CPU does with data that is in one level. Bandwidths are of runs far longer than a page
// and count each byte once (a copy of n bytes is n bytes). "Stream" is by non-temporal stores,
// which go to memory whatever level their target was in; a stream copy reads from the level.
struct LevelSpeed {
  double read_bytes_per_ns;
  double write_bytes_per_ns;
  double copy_bytes_per_ns;
  double stream_write_bytes_per_ns;
  double stream_copy_bytes_per_ns;
  // From one load to the next that needs its result, without the cost of a TLB miss.
  double latency_ns;
  // Time of each of many independent accesses of 8 bytes, one to a line, TLB misses included:
  // lines in random order, one line of each page (at another place in each), every fourth line.
  double random_load_ns;
  double random_store_ns;
  double page_load_ns;
  double page_store_ns;
  double skip_load_ns;
  double skip_store_ns;
};

struct Machine : CpuHabits {
  int64_t line_bytes = 64;
  int64_t page_bytes = 4096;
  int64_t l1_bytes = int64_t{32} << 10;
  int64_t l2_bytes = int64_t{1} << 20;
  int64_t l3_bytes = int64_t{32} << 20;
  // How many CPUs (hardware threads) share one cache of the level.
  int64_t l1_cpus = 1;
  int64_t l2_cpus = 1;
  int64_t l3_cpus = 1;
  // First-level data TLB, in pages of page_bytes. 64 is the least of current x86 and AArch64
  // servers (Zen 4: 72, Golden Cove: 96); the probe measures it after Byna 2003, section 5.3.
  int64_t tlb_entries = 64;
  // Second level (Skylake: 1536, Golden Cove: 2048, Zen 4: 3072).
  int64_t tlb2_entries = 1536;
  // What a first-level TLB miss adds to a load: found in the second level, or walked for.
  double tlb_miss_ns = 2.5;
  double tlb_walk_ns = 12;
  // One cycle of the clock, under the load of a single busy CPU: what kernels cost is known in
  // cycles (plan/cost/cycles.hpp).
  double cycle_ns = 0.3;
  // Transposes with outputs from this size on use non-temporal stores: whole lines are written
  // without being read first, and cause no conflict misses. Two machines with an L2 of 1 and 2 MiB
  // break even between 1 and 2 MiB (docs/experiments/2026-11-26-transpose-kernels.md).
  int64_t stream_transpose_bytes = int64_t{2} << 20;
  // The same for copies of long runs, which gain only where the output would not stay in the L3.
  int64_t stream_run_bytes = int64_t{16} << 20;
  // By Level. Rounded from a Zen 4 and two Xeons, the slower of them where they differ.
  std::array<LevelSpeed, kLevels> levels = {{
      {100, 50, 50, 10, 10, 1.5, 0.3, 0.4, 0.3, 0.4, 0.3, 0.4},
      {40, 25, 20, 10, 9, 5, 1.5, 2, 1.8, 2.5, 1.5, 2},
      {20, 12, 10, 10, 8, 25, 5, 6, 5, 7, 4, 5},
      {12, 7, 6, 10, 8, 100, 12, 18, 12, 18, 7, 12},
  }};
  // page_load_ns and page_store_ns of DRAM where each line is at the same offset of its page: few
  // banks and few cache sets serve all of them. With prefetches or without, whichever is faster.
  // The defaults are those of page_*.
  double memory_same_load_ns = 12;
  double memory_same_store_ns = 18;

  // Unpacking prefetches where its lines take more bytes than this: more than the L1, or, where the
  // CPU hides misses that the L2 serves, more than twice the L2.
  int64_t prefetch_from_bytes = int64_t{32} << 10;
  // Runs of one load instruction are unrolled by four where they take more lines than this
  // (unrolled_from_l2s).
  int64_t learned_lines = int64_t{1} << 40;

  const LevelSpeed& speed(Level level) const { return levels[static_cast<size_t>(level)]; }
  // The least bytes for each further thread: while one wakes, a core moves up to half as many.
  int64_t parallel_bytes = int64_t{1} << 20;
};

// The host's numbers, read once, at the first call. Never fails.
const Machine& machine();

}  // namespace lacuna

#endif  // LACUNA_ENGINE_MACHINE_MACHINE_HPP_
