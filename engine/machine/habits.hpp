// SPDX-License-Identifier: BSD-3-Clause
//
// CpuHabits: what the cores of a micro-architecture do well and badly, as data. cpus.cpp has the
// values of each; the defaults here are those of a CPU of which nothing is known. plan/ and exec/
// choose by these numbers and by nothing else about the CPU. numbers.cpp has the name, the unit and
// the limits of each, and a profile may override each. What was timed to find them:
// docs/experiments/2026-11-26-cpu-habits.md.
#ifndef LACUNA_ENGINE_MACHINE_HABITS_HPP_
#define LACUNA_ENGINE_MACHINE_HABITS_HPP_

#include <cstdint>

namespace lacuna {

struct CpuHabits {
  // ---- stores

  // What one store writes at once; a wider vector is stored in two steps.
  int64_t store_bytes = 64;
  // Where queued stores fetch their lines before they commit: entries of the store queue for each
  // way of the L1. 0: they do not, or not known.
  int64_t early_stores = 0;
  // The hardware prefetcher follows stores under masks.
  bool follows_masked_stores = true;
  // A run that no single move writes exactly is faster as one move under a mask.
  bool fast_masked_moves = false;
  // Stores to lines of one L1 set wait less where each line is written by narrow moves.
  bool narrow_moves_avoid_conflicts = false;
  // A fence after non-temporal stores waits no longer than a cached copy of the same bytes takes.
  bool cheap_fences = false;

  // ---- loads and prefetches

  // A software prefetch gains nothing for misses that the L2 serves.
  bool hides_l2_misses = false;
  // Runs that are moved while one line comes from a cache, and from DRAM: the prefetch distance. A
  // miss to DRAM takes about as long as 16 that each wait for a line.
  int64_t miss_runs = 16;
  int64_t dram_miss_runs = 16;
  // The hardware prefetcher follows strides below this.
  int64_t followed_stride_bytes = 32;
  // The hardware prefetcher follows lists of offsets that ascend.
  bool follows_ascending_lists = false;
  // The load window does not reach far enough over runs of more than 16 bytes, or over lists, to
  // keep all line-fill buffers busy.
  bool short_load_window = false;
  // Prefetches of lines past the end of a short row cost more than those within it save.
  bool wasted_prefetches_cost = false;
  // The cache into which lines of a few L1 sets can be prefetched from DRAM without displacing each
  // other: 2; 0: no prefetch of such lines pays (plan/strategy/prefetch.cpp).
  int64_t conflict_prefetch_level = 0;
  // Cycles from one load to the next at which lines of one L1 set come fastest from the L2; 0: the
  // sooner the better.
  int64_t conflict_load_cycles = 0;
  // The stride prefetcher follows a loop of one load instruction: for runs of up to
  // learned_run_bytes, at strides that are multiples of learned_stride_bytes.
  int64_t learned_run_bytes = 16;
  int64_t learned_stride_bytes = 1;
  // But one load instruction keeps few misses in flight. Shorter runs than learned_run_least_bytes
  // are faster unrolled by four, and so are messages whose lines fill the L2 unrolled_from_l2s
  // times (0: none).
  int64_t learned_run_least_bytes = 0;
  int64_t unrolled_from_l2s = 0;
  // One gather instruction is faster than as many loads.
  bool fast_gathers = false;

  // ---- long runs

  // Runs from this size on are faster by the C library's memcpy than by loops of vectors: when
  // packing, and when unpacking to places with gaps. Small values are for CPUs with fast string
  // instructions, which that memcpy uses.
  int64_t fast_memcpy_bytes = 16384;
  int64_t fast_memcpy_scatter_bytes = 16384;
  // The C library's memcpy writes whole lines without reading them first (string instructions).
  bool memcpy_writes_whole_lines = false;
  // But it is slower than a loop of vectors for a run in the L1.
  bool slow_memcpy_in_l1 = false;
  // The widest vectors that gain beyond the L1, where moves cross lines.
  int64_t vector_bytes = 64;

  // ---- small records

  // One permute of a vector's bytes under masks is faster than a move for each run of a record; and
  // it is so beyond the L1, too.
  bool fast_byte_permutes = false;
  bool fast_permutes_beyond_l1 = false;
  // The longest single run for which a table of permutes may be faster than moves.
  int64_t permuted_run_bytes = 64;
  // A record is faster moved word by word than by a pass over all records for each of its runs.
  bool fast_words = false;
  // Cycles of each word of a record that has several; 0: by the length of its run
  // (plan/strategy/record_ways.cpp).
  double word_cycles = 0;

  // ---- transposes

  // Rows of a tile; 0: as many as half the TLB has pages for. With all rows, columns that begin
  // anywhere in a line are written from end to end (transpose.inl.hpp).
  int64_t tile_rows = 0;
  // Non-temporal stores to the same offset of several pages stall each other, so columns of whole
  // pages are written four lines at a time. In transposes up to this size, for elements of 16
  // bytes, and in proportion for others; 0: two lines at a time.
  int64_t four_lines_bytes = 0;
  // The same for elements of up to 4 bytes.
  int64_t four_lines_narrow_bytes = 0;
  // Rows of whole pages cause conflict misses: tiles along diagonals are faster.
  bool conflicts_stall_tiles = false;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_MACHINE_HABITS_HPP_
