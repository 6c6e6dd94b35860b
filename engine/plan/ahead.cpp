// SPDX-License-Identifier: BSD-3-Clause
#include "plan/ahead.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "plan/moves.hpp"

namespace lacuna {
namespace {

// Packed bytes from which runs of `width` bytes, `stride` bytes apart, fill a cache.
int64_t filling(int64_t cache_bytes, int64_t width, int64_t stride, const Machine& machine) {
  const int64_t lines = (width + machine.line_bytes - 1) / machine.line_bytes;
  return cache_bytes / std::min(stride, lines * machine.line_bytes) * width;
}

// Whether the inner loop has so many runs: what is asked for lies past the end of a shorter one.
bool has_rows_of(const Sweep& sweep, int64_t runs) {
  return sweep.own == Sweep::Own::kInner || sweep.inner.count >= runs;
}

// The bytes of memory for each line that the strides of all loops have in common.
int64_t common_stride(const Sweep& sweep, const Machine& machine) {
  int64_t common = machine.page_bytes;
  const auto take = [&](const Loop& loop) {
    if (loop.count > 1) common = std::gcd(common, loop.mem_stride);
  };
  for (const Loop& loop : sweep.around) take(loop);
  take(sweep.outer);
  common = std::gcd(common, sweep.inner.mem_stride);
  return std::max(common, machine.line_bytes);
}

// Whether lines have at most four places in their pages. They meet in as many of the first level,
// which has room for fewer of them than should be under way (Zen 5: 12 in each); the second level
// has not that limit.
bool meets_in_few_places(int64_t stride, const Machine& machine) {
  return std::gcd(stride, machine.page_bytes) >= machine.page_bytes / 4;
}

// Such lines are asked for into the second level, twice as far ahead, once they outgrow their part
// of the third. Zen 5, in a loop of nothing else, ns a line, not asked for, asked for 32 and 64
// ahead into the first level and 32, 64 and 128 into the second: 65536 at 1024 packed 4.9, 4.6,
// 4.5, 4.3, 4.1, 4.2, unpacked 4.9, 4.8, 4.2, 4.3, 4.1, 4.3; at 2048 8.2, 6.8, 6.2, 5.6, 4.9, 4.9
// and 6.6, 6.1, 5.9, 6.0, 5.8, 5.7; at 3072 5.9, 5.4, 5.3, 5.1, 4.8, 4.9 and 5.0, 4.8, 4.6, 4.8,
// 4.4, 4.3; at 4096 13.7, 11.9, 11.3, 10.6, 9.4, 9.3 and 11.2, 9.7, 9.5, 9.5, 8.9, 8.7. 16384 at
// 2048 packed 3.2, 3.7, 3.8, 3.7, 3.8, 3.7: too early, and what begins there loses up to 1.5 times.
// Lines at other strides gain less by the second level than by the first, and out of the third
// level they are 1.5 times as slow (8 bytes at 192). Short rows are asked for, too: the next ones
// often begin where that lies (2048 rows of 32 at 4096, 262144 apart: not asked for 0.7 to 0.97
// times as fast). Non-temporal stores: 6.4 ns and less for 64
// bytes at 4096, but in one process of six 115, for a reason not found.
void set_second_ahead(Sweep& sweep, const Machine& machine) {
  const int64_t room = machine.l3_bytes / common_stride(sweep, machine);
  const int64_t all = machine.l3_bytes / machine.line_bytes;
  sweep.pack_ahead = {std::min(4 * room, all) * sweep.width};
  sweep.unpack_ahead = {std::min(2 * room, all) * sweep.width};
  if (has_rows_of(sweep, 4 * machine.miss_runs)) sweep.far_bytes = 0;
  sweep.ahead_second = true;
}

// Of loads under masks fewer are on their way, so they are asked for as soon as their lines do not
// fit the second level, in which strides of powers of two meet in a share of the places. Zen 5, us,
// 12 bytes at 128 packed, not asked for and so: 11440 cold 45 and 24.5, warm 10.2 and 9.9; 5461,
// which fit, cold 23 and 12.6, but warm 2.35 and 3.6.
void set_masked_ahead(Sweep& sweep, int64_t stride, const Machine& machine) {
  const int64_t share = std::min(machine.page_bytes, stride & -stride);
  sweep.pack_ahead = {machine.l2_bytes / std::max(machine.line_bytes, share) * sweep.width};
}

// Packing runs at strides of lines to half a page. Wider than 16 bytes it loses 1.3 on Granite
// Rapids (40 and 128 bytes) but gains where the load window is short, every other line is skipped
// at least, and, moved under masks, the data are in DRAM. Zen 5, not asked for over asked for, out
// of memory and out of the third level: 24 bytes at 128 to 576 1.27 to 1.43, 0.63 to 1.1; 40 and 64
// bytes 1.1 to 1.5, 1.1 to 1.3; 96 at 256 and more 1.0 to 1.2, 1.05 to 1.4, but at 96 to 192 0.9
// to 1.0. In rows of 16 to 64 runs at 192 0.88 to 0.97: what is asked for lies past their ends.
void set_pack_ahead(Sweep& sweep, int64_t stride, int64_t beyond_l2, bool masks,
                    const Machine& machine) {
  const int64_t line = machine.line_bytes;
  const int64_t touched = (sweep.width + line - 1) / line * line;
  if (sweep.width <= 16 || sweep.width > 2 * line) {
    sweep.pack_ahead = {beyond_l2};
  } else if (machine.short_load_window && stride >= 2 * touched &&
             has_rows_of(sweep, 4 * machine.miss_runs)) {
    const bool by_masks = masks && goes_under_masks(sweep.width, stride);
    sweep.pack_ahead = {by_masks ? filling(machine.l3_bytes, sweep.width, stride, machine)
                                 : beyond_l2};
  }
}

// From the first to the last run of a list.
int64_t way_of(const LayoutNode& list) {
  const auto [first, last] = std::ranges::minmax(list.mem_offsets);
  return last - first;
}

// Packed bytes of a list, so long a way from its first to its last run, from which the lines of its
// runs, of `width` bytes in the mean, fill a cache: of dense ones several share a line.
int64_t beyond(int64_t cache_bytes, const LayoutNode& list, int64_t way, int64_t width,
               const Machine& machine) {
  const double lines = static_cast<double>(way) / static_cast<double>(machine.line_bytes);
  const double runs = static_cast<double>(list.size) / static_cast<double>(width);
  const double in_a_line = std::max(1.0, runs / std::max(lines, 1.0));
  const int64_t filled = filling(cache_bytes, width, width + machine.line_bytes, machine);
  return static_cast<int64_t>(in_a_line * static_cast<double>(filled));
}

// Whether a list goes up, by at most so many bytes at a time.
bool rises(const std::vector<int64_t>& offsets) {
  constexpr int64_t kMostBytes = 2048;
  for (size_t i = 1; i < offsets.size(); ++i) {
    const int64_t way = offsets[i] - offsets[i - 1];
    if (way <= 0 || way > kMostBytes) return false;
  }
  return true;
}

// Packing by lists where the load window is short: it does not reach far enough out of the last
// level, though loads wait for nothing (Zen 5, 450,000 to a million runs in 64 to 512 MiB, in order
// and in random order, not asked for over asked for: 4 and 8 bytes 1.05 to 1.22, 40 to 64 bytes 1.2
// to 1.5, 128 and 256 bytes 1.4 to 1.85, those in 8 MiB, too, 1.05). Half of that level is where it
// begins to pay: others have a share, and the list and the packed data take one. Where there are no
// masks, of 12, 24 and 32 bytes 1.24 to 1.8; of 16 0.93 to 1.05. Under masks those lose (0.67
// to 1.0): by moves, asked for, they take 0.95 (random order) to 1.2 of what they do under masks.
// Lines of lists in order one after the other, 4 KiB ahead: 8 bytes up to 1.27 times as fast as by
// their places (swept_row), in a loop of nothing else every eighth of 24 bytes 4.0 ns a run
// and 2.6.
void set_gather_ahead(Sweep& sweep, int64_t way, bool masks, const Machine& machine) {
  const bool by_mask = masks && sweep.width > 8 && sweep.width <= 32;
  if (by_mask || sweep.width == 16) return;
  const LayoutNode& list = *sweep.list;
  const int64_t from =
      sweep.width > machine.line_bytes ? machine.prefetch_from_bytes : machine.l3_bytes / 2;
  sweep.pack_ahead = {beyond(from, list, way, sweep.width, machine)};
  sweep.ahead_in_order = sweep.width <= 8 &&
                         way <= 2 * machine.line_bytes * std::ssize(list.mem_offsets) &&
                         rises(list.mem_offsets);
}

// No hardware follows lists: beyond the second level in any case (Zen 5, 20,000 of 24 bytes in 2
// MiB, in random order, 19 and, not asked for, 26 us).
int64_t beyond_second(const Sweep& sweep, const Machine& machine) {
  const int64_t from = std::min(machine.prefetch_from_bytes, machine.l2_bytes);
  return filling(from, sweep.width, sweep.width + machine.line_bytes, machine);
}

// Unpacking lists where the hardware follows those that ascend: those of runs wider than 8 bytes
// (set_listed_ahead has the others). Zen 5, every other place to every eighth, not
// asked for over asked for, 1 to 16 MiB: 12 bytes 1.0 to 1.6 times as fast, 16 1.0 to 1.36, 20 and
// 24 1.0 to 1.3, from 32 on level; out of all caches 1.0 to 1.4 (16 bytes 0.9 to 1.1). Every
// sixteenth level. Out of memory masks keep stores from leaving, in random order, too. By moves,
// asked for, and under masks: 12 bytes, every other of 128 MiB in order 6.2 and 11.3 ms, every
// fourth 4.5 and 6.1, in random order 22.1 and 24.1, but every sixteenth of 64 1.2 times as long;
// 24 bytes 5.1 and 8.7, 4.0 and 5.2, 11.8 and 14.2. In the third level those in random order win
// warm (1.06 to 1.17) what they lose out of all caches.
void set_scatter_ahead(Sweep& sweep, int64_t way, const Machine& machine) {
  const LayoutNode& list = *sweep.list;
  const int64_t line = machine.line_bytes;
  if (sweep.width <= 8) {
    sweep.unpack_ahead = {machine.l3_bytes / line * sweep.width};
    return;
  }
  const int64_t spread = way / std::max<int64_t>(1, list.size / sweep.width);
  const bool is_followed = spread <= 4 * line && rises(list.mem_offsets);
  const int64_t far =
      beyond(machine.l3_bytes / (is_followed ? 2 : 4), list, way, sweep.width, machine);
  sweep.unpack_ahead = {is_followed ? far : beyond_second(sweep, machine)};
  if (sweep.width > 16 || spread <= 2 * line) sweep.masks_below = far;
}

}  // namespace

// Of elements `width` bytes are data. Stores gain most, as few of them wait for lines at a time. On
// Granite Rapids, unpacking out of memory, 40 KiB to 8 MiB: 1.3 to 2.8 times faster; out of the
// second level, from the first on, up to 1.1; out of the third up to 2. Not done where it lost 1.2
// to 1.7 out of a cache:
//   - more pages than the TLB holds, at strides near a page and over it: each line waits for its
//     page first, and asking for both twice is no help (faces of cubes of 200^3 and 514^3 doubles),
//     but for whole lines;
//   - whole lines out of the second level at strides of many lines;
//   - packing out of the second level.
// On Zen 5 what is in the second level is not asked for either (machine.prefetch_from_bytes): 16 of
// 128 bytes 2.1 and 2.7 us, 64 of 128 0.74 and 0.81. Nor what takes twice that: 4 bytes at 64, so
// many lines that they fill it, packed 8.7 and 10.2 us, unpacked 8.4 and 9.3, twice as many 22.6
// and 22.3, 22.0 and 19.7. Nor lines that all hold data, which the hardware follows
// (machine.followed_stride_bytes): of 16 MiB, 8 bytes at 64 packed 0.21 and 0.26 ms, unpacked 0.20
// and 0.22, 16 bytes 0.28 and 0.33, 0.25 and 0.27; at 96 level, at 128 and 256 1.05 times faster;
// out of memory, 64 ahead, 4 to 24 bytes at 16 to 80 0.92 to 1.02. Nor short rows, whose ends most
// of it would lie past: not asked for, rows of 8 to 60 runs of 8 bytes at 128 to 256 packed 1.12
// to 1.54 times faster, unpacked 1.0 to 1.4; of 24 and 64 bytes unpacked 1.05 to 1.5, in one case
// of twelve 0.86. But elements of several fields: 0.88 to 1.09.
// Long rows out of memory are asked for twice as far ahead: 8 bytes at 128 to 576 packed 1.09
// to 1.14 times faster, unpacked 1.05 to 1.1; in the third level 8 bytes at 256 unpacked 0.75.
void set_ahead(Sweep& sweep, int64_t span, const KernelTable& kernels, const Machine& machine) {
  const bool masks = moves_by_masks(kernels, machine);
  const int64_t line = machine.line_bytes;
  const int64_t page = machine.page_bytes;
  const int64_t stride = std::abs(sweep.inner.mem_stride);
  if (stride < machine.followed_stride_bytes) return;
  const int64_t beyond_near = filling(machine.prefetch_from_bytes, sweep.width, stride, machine);
  const int64_t beyond_l2 = filling(std::max(machine.l2_bytes, machine.prefetch_from_bytes),
                                    sweep.width, stride, machine);
  const int64_t beyond_tlb =
      machine.tlb2_entries * std::max<int64_t>(1, page / stride) * sweep.width;
  if (stride >= line && stride <= page / 2)
    set_pack_ahead(sweep, stride, beyond_l2, masks, machine);
  if (stride >= line && span < line) {
    sweep.unpack_ahead = {beyond_near, stride <= page / 3 ? Sizes::kNoEnd : beyond_tlb};
  } else if (stride >= line && stride <= 4 * line) {
    sweep.unpack_ahead = {beyond_near};
  } else {
    sweep.unpack_ahead = {beyond_l2};
  }
  sweep.ahead_bytes = span;
  if (sweep.how != Sweep::How::kStrided) return;
  if (masks && goes_under_masks(sweep.width, stride) && sweep.width <= 16 && stride <= page / 2)
    set_masked_ahead(sweep, stride, machine);
  if (machine.wasted_prefetches_cost && !has_rows_of(sweep, 2 * machine.miss_runs))
    sweep.pack_ahead = sweep.unpack_ahead = {};
  if (machine.dram_miss_runs > machine.miss_runs && has_rows_of(sweep, 8 * machine.miss_runs))
    sweep.far_bytes = filling(machine.l3_bytes, sweep.width, stride, machine);
  if (machine.conflict_prefetch_level == 2 && meets_in_few_places(stride, machine) && span <= line)
    set_second_ahead(sweep, machine);
}

// Blocks of 12 and 24 bytes gain by it, those of 4 and 8 bytes on Zen 5 alone
// (docs/experiments/2026-11-26-cpu-habits.md).
void set_listed_ahead(Sweep& sweep, const KernelTable& kernels, const Machine& machine) {
  const bool masks = moves_by_masks(kernels, machine);
  const bool needs_way = machine.short_load_window || machine.follows_ascending_lists;
  const int64_t way = needs_way ? way_of(*sweep.list) : 0;
  if (machine.short_load_window) set_gather_ahead(sweep, way, masks, machine);
  if (machine.follows_ascending_lists) {
    set_scatter_ahead(sweep, way, machine);
  } else if (sweep.width > 8) {
    sweep.unpack_ahead = {beyond_second(sweep, machine)};
  }
}

// Runs of unequal lengths wait for a length that nobody could foresee, and nothing looks past that.
// Zen 5, out of memory, by two lines of each: 250,000 of 3 to 40 bytes packed 1.5 to 1.7 times as
// fast, unpacked 0.94 to 1.0; of 20 to 120 1.6, 1.1 to 1.2; of 100 to 600 0.95 to 1.02, 1.06
// to 1.17. By all lines of each, a loop over them, 20 to 120 bytes 1.3, 0.84. Out of the second
// level 0.9.
void set_unequal_ahead(Sweep& sweep, const Machine& machine) {
  constexpr int64_t kLeastUnpacked = 48, kMostPacked = 256;
  if (!machine.short_load_window) return;
  const LayoutNode& list = *sweep.list;
  const int64_t mean = std::max<int64_t>(1, list.size / std::ssize(list.mem_offsets));
  const Sizes far = {beyond(machine.l3_bytes / 4, list, way_of(list), mean, machine)};
  if (mean <= kMostPacked) sweep.pack_ahead = far;
  if (mean >= kLeastUnpacked) sweep.unpack_ahead = far;
}

}  // namespace lacuna
