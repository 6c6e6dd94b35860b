// SPDX-License-Identifier: BSD-3-Clause
//
// Machine: numbers about the host, as data. plan/ and exec/ take every threshold from here, so that
// none is a literal in code. A number comes from the profile of this CPU if there is one (`lacuna
// machine --measure` writes it, profile.hpp reads it), else from what the host tells (sysconf),
// else from the defaults below, which are those of a current server. numbers.cpp has the name, unit
// and limits of each.
#ifndef LACUNA_ENGINE_MACHINE_MACHINE_HPP_
#define LACUNA_ENGINE_MACHINE_MACHINE_HPP_

#include <array>
#include <cstddef>
#include <cstdint>

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

struct Machine {
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
  // cycles (plan/cycles.hpp).
  double cycle_ns = 0.3;
  // Transposes with an output from this size on write past the caches (non-temporal stores): whole
  // lines go out without being read first, and no two lines fight for a cache set. Two machines
  // with second levels of 1 and 2 MiB cross between 1 and 2 MiB (docs/kernels.md).
  int64_t stream_transpose_bytes = int64_t{2} << 20;
  // The same for copies of long runs, which gain only once the output would not stay in the last
  // level anyway.
  int64_t stream_run_bytes = int64_t{16} << 20;
  // By Level. Rounded from a Zen 4 and two Xeons, the slower of them where they differ.
  std::array<LevelSpeed, kLevels> levels = {{
      {100, 50, 50, 10, 10, 1.5, 0.3, 0.4, 0.3, 0.4, 0.3, 0.4},
      {40, 25, 20, 10, 9, 5, 1.5, 2, 1.8, 2.5, 1.5, 2},
      {20, 12, 10, 10, 8, 25, 5, 6, 5, 7, 4, 5},
      {12, 7, 6, 10, 8, 100, 12, 18, 12, 18, 7, 12},
  }};
  // The memory's page_load_ns and page_store_ns where each line is at the same place of its page,
  // asked for far ahead or not, whichever is less: few banks serve all of them, and few places of
  // the caches hold them. Not measured on those three: as page_*.
  double memory_same_load_ns = 12;
  double memory_same_store_ns = 18;

  // Unpacking asks for its lines ahead where they take this many bytes: more than the first level,
  // or on AMD's (Zen 5), whose stores gain nothing by it sooner, than twice the second.
  int64_t ask_bytes = int64_t{32} << 10;
  // Strides from so many bytes on: lines that follow each other the hardware finds by itself (Zen
  // 5), or still fetches too late for stores.
  int64_t ask_stride_bytes = 32;
  // So many runs ahead. A miss to memory takes about as long as 16 that each wait for a line
  // (Granite Rapids: from memory 32, 64 and 128 are within 10 %; within the second level 8 and 32
  // are up to 1.3 slower). Zen 5, which asks beyond the second level only: 32768 doubles at 64 to
  // 256 bytes packed 21.4 and, by 32, 20.3 us; 64 bytes at 4096 out of memory unpacked 14.1 by
  // 8, 11.5 ns by 32.
  int64_t ask_runs = 16;
  // The level of cache into which lines at multiples of a quarter of a page are asked for, out of
  // memory; 0: they are not (plan/ahead.cpp).
  int64_t ask_level = 0;
  // What one store of a vector writes at once; a wider one takes twice as long (AMD's before Zen 5:
  // 32).
  int64_t store_bytes = 64;
  // Stores in the CPU's queue whose lines are fetched before they leave, for each way of the first
  // level; 0: not so, or not known. AMD's: 8, of 104 entries and 12 ways (Zen 5), 3, of 64 and 8
  // (Zen 4: stored so often, us, 4096 of 8 bytes at 1024 1, 2, 3 and 6 times 7.4, 5.8, 4.8, 8.0, at
  // 2048 1, 4, 6, 12 times 11.6, 10.4, 12.9, 25.9, 1024 at 4096 1, 9, 12, 16 times 7.5, 3.3, 3.7,
  // 4.8).
  int64_t early_stores = 0;
  // Cycles from one load to the next at which lines of the second level that all meet in one place
  // of the first come fastest; 0: the sooner the better. AMD's: 8 (Zen 5).
  int64_t pace_cycles = 0;
  // Runs from this size on are left to the C library's memcpy. With string instructions that are
  // quick from there on (Zen 5: runs of 3 to 12 KiB 1.2 to 1.5 times as fast; Zen 4: packed out of
  // memory 1.15, unpacked up to 1.3 times slower, plan/moves.cpp); else its own loop of vectors is
  // no better, and from memory 1.25 times slower for runs of 2 KiB.
  int64_t library_run_bytes = 16384;
  // Many runs of one load each are moved by one instruction, which is what the hardware learns
  // strides by: runs up to so many bytes, at strides that are multiples of so many (Zen 5: 64,
  // 128).
  int64_t one_by_one_bytes = 16;
  // But not below that: one instruction has few lines on their way, so with cold caches it takes up
  // to twice as long, and for short runs warm no less (Zen 5: 64. One and four at a time, us, warm
  // and cold: 4096 of 16 bytes at 128 2.75, 16.4 and 2.78, 11.3, at 256 3.6, 22 and 3.4, 12; 8192
  // of 8 at 256 11.4, 46 and 9.0, 25; 1024 of 64 at 128 level).
  int64_t one_by_one_least_bytes = 0;
  int64_t learned_stride_bytes = 1;
  // Not of more lines than that: where they come from memory, four at a time have more on their way
  // (Zen 5, 16 bytes, 64 MiB at 128 1.9 and 1.3 ms, at 256 0.95 and 0.70; 4 MiB 28 and 29 us).
  int64_t one_by_one_lines = int64_t{1} << 40;
  // The vectors that move runs of many lines beyond the first level, and a line's worth that lies
  // in two lines (Zen 5: 32).
  int64_t vector_bytes = 64;
  // The rows of a transpose that tiles take. 0: as many as half the TLB has pages for. With all
  // (AMD's) columns that begin anywhere in a line are written from end to end: transpose.inl.hpp.
  int64_t tile_rows = 0;
  // Transposes of 16-byte elements up to this size (of others in proportion) write columns of whole
  // pages four lines at a time, as non-temporal stores to one place of several pages wait for each
  // other (transpose.inl.hpp). 0: two lines, as elsewhere.
  int64_t four_lines_bytes = 0;
  // Of elements of 4 bytes up to this size: a quarter of that, but on CPUs of narrow stores all
  // (Zen 4, ms of two lines and four: 2048^2 floats 1.46 and 1.05, cold 1.9 and 1.4, 3072^2 3.6 and
  // 2.4, 4096^2 10 and 4.9, cold 20 and 5.8; 1024^2 cold 0.45 and 0.31; 2560^2 doubles 3.2
  // and 3.8).
  int64_t four_lines_narrow_bytes = 0;

  const LevelSpeed& speed(Level level) const { return levels[static_cast<size_t>(level)]; }
  // What a further thread must have to move: waking one takes 5 to 50 us, in which a core moves
  // 50 KiB to 500 KiB.
  int64_t parallel_bytes = int64_t{1} << 20;
};

// The host's numbers, read once, at the first question. Never fails.
const Machine& machine();

}  // namespace lacuna

#endif  // LACUNA_ENGINE_MACHINE_MACHINE_HPP_
