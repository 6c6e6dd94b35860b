// SPDX-License-Identifier: BSD-3-Clause
#include "plan/strategy/prefetch.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace lacuna::strategy {
namespace {

// What was timed for each rule: docs/experiments/2026-11-27-plan-thresholds.md.

// Packed bytes from which runs of `width` bytes, `stride` bytes apart, fill a cache.
int64_t filling(int64_t cache_bytes, int64_t width, int64_t stride, const Machine& machine) {
  const int64_t lines = (width + machine.line_bytes - 1) / machine.line_bytes;
  return cache_bytes / std::min(stride, lines * machine.line_bytes) * width;
}

// Whether the inner loop has so many runs. In shorter rows prefetches go past the end.
bool has_rows_of(const Step& step, int64_t runs) {
  return step.open_loop == Step::OpenLoop::kInner || step.inner.count >= runs;
}

// The greatest common divisor of all loops' strides, at least a line and at most a page. Of the
// cache, only one line in so many bytes can hold the runs.
int64_t common_stride(const Step& step, const Machine& machine) {
  int64_t common = machine.page_bytes;
  const auto take = [&](const Loop& loop) {
    if (loop.count > 1) common = std::gcd(common, loop.mem_stride);
  };
  for (const Loop& loop : step.around) take(loop);
  take(step.outer);
  common = std::gcd(common, step.inner.mem_stride);
  return std::max(common, machine.line_bytes);
}

// Whether lines at this stride have at most four different offsets in their pages. They then share
// four sets of the L1, too few for all lines that should be in flight; the L2 has no such limit.
bool uses_few_l1_sets(int64_t stride, const Machine& machine) {
  return std::gcd(stride, machine.page_bytes) >= machine.page_bytes / 4;
}

// Prefetches such lines into the L2 once they outgrow their share of the L3; long rows at the
// distance for DRAM. Below that size prefetches lose
// (docs/experiments/2026-11-27-plan-thresholds.md, `set_second_ahead`). Short rows are
// prefetched as well: the next row often begins where the prefetch lands.
void prefetch_into_l2(PrefetchRule& rule, const Step& step, const Machine& machine) {
  const int64_t room = machine.l3_bytes / common_stride(step, machine);
  const int64_t all = machine.l3_bytes / machine.line_bytes;
  rule.pack = {std::min(4 * room, all) * step.width};
  rule.unpack = {std::min(2 * room, all) * step.width};
  if (has_rows_of(step, 4 * machine.miss_runs)) rule.far_bytes = 0;
  rule.into_l2 = true;
}

// Fewer loads under masks are in flight at a time, so they are prefetched as soon as their lines do
// not fit the L2. Lines at strides of powers of two use only a share of its sets.
void prefetch_masked(PrefetchRule& rule, const Step& step, int64_t stride, const Machine& machine) {
  const int64_t share = std::min(machine.page_bytes, stride & -stride);
  rule.pack = {machine.l2_bytes / std::max(machine.line_bytes, share) * step.width};
}

// Packing runs at strides from a line to half a page. Runs of 17 to 128 bytes are prefetched only
// where the load window is short and at least every other line is skipped; those that are moved
// under masks only when the data are in DRAM.
void prefetch_packing(PrefetchRule& rule, const Step& step, int64_t stride, int64_t beyond_l2,
                      bool masks, const Machine& machine) {
  const int64_t line = machine.line_bytes;
  const int64_t touched = (step.width + line - 1) / line * line;
  if (step.width <= 16 || step.width > 2 * line) {
    rule.pack = {beyond_l2};
  } else if (machine.short_load_window && stride >= 2 * touched &&
             has_rows_of(step, 4 * machine.miss_runs)) {
    const bool by_masks = masks && goes_under_masks(step.width, stride);
    rule.pack = {by_masks ? filling(machine.l3_bytes, step.width, stride, machine) : beyond_l2};
  }
}

// Packed bytes from which the lines of a list fill a cache. `way`: the memory that the list covers;
// `width`: the mean length of its runs. In a dense list several runs share a line.
int64_t beyond(int64_t cache_bytes, const LayoutNode& list, int64_t way, int64_t width,
               const Machine& machine) {
  const double lines = static_cast<double>(way) / static_cast<double>(machine.line_bytes);
  const double runs = static_cast<double>(list.size) / static_cast<double>(width);
  const double in_a_line = std::max(1.0, runs / std::max(lines, 1.0));
  const int64_t filled = filling(cache_bytes, width, width + machine.line_bytes, machine);
  return static_cast<int64_t>(in_a_line * static_cast<double>(filled));
}

// Whether the offsets ascend, in small steps.
bool rises(const std::vector<int64_t>& offsets) {
  constexpr int64_t kMostBytes = 2048;
  for (size_t i = 1; i < offsets.size(); ++i) {
    const int64_t way = offsets[i] - offsets[i - 1];
    if (way <= 0 || way > kMostBytes) return false;
  }
  return true;
}

// The offsets of a list: bytes of memory from the lowest to the highest, and whether they rise.
struct Offsets {
  int64_t way = 0;
  bool rise = false;
};

Offsets offsets_of(const LayoutNode& list) {
  const std::vector<int64_t>& offsets = list.mem_offsets;
  if (rises(offsets)) return {offsets.back() - offsets.front(), true};
  const auto [first, last] = std::ranges::minmax(offsets);
  return {last - first, false};
}

// Packing lists where the load window is short: it does not hold enough misses of the L3, although
// the loads are independent. Prefetching pays from half of the L3 on: the list, the packed data and
// other processes need the rest. Runs of 16 bytes and runs moved under masks do not gain. For
// ascending lists of up to 8 bytes, the kernel prefetches all lines in order, 4 KiB ahead
// (swept_row), which is faster than the line of each run.
void prefetch_gather(PrefetchRule& rule, const Step& step, const Offsets& offsets, bool masks,
                     const Machine& machine) {
  const bool by_mask = masks && step.width > 8 && step.width <= 32;
  if (by_mask || step.width == 16) return;
  const LayoutNode& list = *step.list;
  const int64_t from =
      step.width > machine.line_bytes ? machine.prefetch_from_bytes : machine.l3_bytes / 2;
  rule.pack = {beyond(from, list, offsets.way, step.width, machine)};
  rule.in_order = step.width <= 8 && offsets.rise &&
                  offsets.way <= 2 * machine.line_bytes * std::ssize(list.mem_offsets);
}

// Where the hardware prefetcher does not follow a list, unpacking prefetches as soon as its lines
// exceed the L2.
int64_t beyond_second(const Step& step, const Machine& machine) {
  const int64_t from = std::min(machine.prefetch_from_bytes, machine.l2_bytes);
  return filling(from, step.width, step.width + machine.line_bytes, machine);
}

// Unpacking lists where the hardware prefetcher follows those that ascend. It then needs no help
// within half of the L3. In DRAM stores under masks stall, in random order, too, so plain moves
// with prefetches take over.
void prefetch_scatter(PrefetchRule& rule, const Step& step, const Offsets& offsets,
                      const Machine& machine) {
  const LayoutNode& list = *step.list;
  const int64_t line = machine.line_bytes;
  if (step.width <= 8) {
    rule.unpack = {machine.l3_bytes / line * step.width};
    return;
  }
  const int64_t spread = offsets.way / std::max<int64_t>(1, list.size / step.width);
  const bool is_followed = spread <= 4 * line && offsets.rise;
  const int64_t far =
      beyond(machine.l3_bytes / (is_followed ? 2 : 4), list, offsets.way, step.width, machine);
  rule.unpack = {is_followed ? far : beyond_second(step, machine)};
  if (step.width > 16 || spread <= 2 * line) rule.masks_below = far;
}

}  // namespace

// Unpacking gains most: only few stores can wait for their lines at a time. No prefetch where it
// was slower:
//   - at strides below machine.followed_stride_bytes, which the hardware prefetcher follows;
//   - at strides above a third of a page that touch more pages than the TLB reaches, for runs of
//     less than a line: each line waits for its page walk first;
//   - from the L2, packing, or unpacking runs of at least a line that are more than four apart;
//   - from the L2 at all, where the hardware hides its latency (machine.prefetch_from_bytes);
//   - short rows, where that costs (machine.wasted_prefetches_cost): most prefetches would go past
//     their ends. Rows of records are prefetched all the same.
// Long rows in DRAM are prefetched at twice the distance.
PrefetchRule prefetch_strided(const Step& step, int64_t span, const Host& host) {
  PrefetchRule rule;
  const Machine& machine = host.machine;
  const bool masks = host.has_masks();
  const int64_t line = machine.line_bytes;
  const int64_t page = machine.page_bytes;
  const int64_t stride = std::abs(step.inner.mem_stride);
  if (stride < machine.followed_stride_bytes) return rule;
  const int64_t beyond_near = filling(machine.prefetch_from_bytes, step.width, stride, machine);
  const int64_t beyond_l2 =
      filling(std::max(machine.l2_bytes, machine.prefetch_from_bytes), step.width, stride, machine);
  const int64_t beyond_tlb =
      machine.tlb2_entries * std::max<int64_t>(1, page / stride) * step.width;
  if (stride >= line && stride <= page / 2)
    prefetch_packing(rule, step, stride, beyond_l2, masks, machine);
  if (stride >= line && span < line) {
    rule.unpack = {beyond_near, stride <= page / 3 ? Regime::kNoEnd : beyond_tlb};
  } else if (stride >= line && stride <= 4 * line) {
    rule.unpack = {beyond_near};
  } else {
    rule.unpack = {beyond_l2};
  }
  rule.bytes = span;
  if (step.shape != Step::Shape::kStrided) return rule;
  if (masks && goes_under_masks(step.width, stride) && step.width <= 16 && stride <= page / 2)
    prefetch_masked(rule, step, stride, machine);
  if (machine.wasted_prefetches_cost && !has_rows_of(step, 2 * machine.miss_runs))
    rule.pack = rule.unpack = {};
  if (machine.dram_miss_runs > machine.miss_runs && has_rows_of(step, 8 * machine.miss_runs))
    rule.far_bytes = filling(machine.l3_bytes, step.width, stride, machine);
  if (machine.conflict_prefetch_level == 2 && uses_few_l1_sets(stride, machine) && span <= line)
    prefetch_into_l2(rule, step, machine);
  return rule;
}

// Runs of up to 8 bytes gain on some CPUs only (docs/experiments/2026-11-26-cpu-habits.md).
PrefetchRule prefetch_list(const Step& step, const Host& host) {
  PrefetchRule rule;
  const Machine& machine = host.machine;
  const bool needs_offsets = machine.short_load_window || machine.follows_ascending_lists;
  const Offsets offsets = needs_offsets ? offsets_of(*step.list) : Offsets();
  if (machine.short_load_window) prefetch_gather(rule, step, offsets, host.has_masks(), machine);
  if (machine.follows_ascending_lists) {
    prefetch_scatter(rule, step, offsets, machine);
  } else if (step.width > 8) {
    rule.unpack = {beyond_second(step, machine)};
  }
  return rule;
}

// A run of another length is a mispredicted branch, and the CPU does not look past it for misses.
// Packing gains for short runs, unpacking for long ones.
PrefetchRule prefetch_runs(const Step& step, const Host& host) {
  constexpr int64_t kLeastUnpacked = 48, kMostPacked = 256;
  PrefetchRule rule;
  const Machine& machine = host.machine;
  if (!machine.short_load_window) return rule;
  const LayoutNode& list = *step.list;
  const int64_t mean = std::max<int64_t>(1, list.size / std::ssize(list.mem_offsets));
  const Sizes far = {beyond(machine.l3_bytes / 4, list, offsets_of(list).way, mean, machine)};
  if (mean <= kMostPacked) rule.pack = far;
  if (mean >= kLeastUnpacked) rule.unpack = far;
  return rule;
}

Prefetch PrefetchRule::at(Direction way, int64_t message, int64_t output,
                          const Machine& machine) const {
  if (!sizes(way).hold(message, output)) return {};
  constexpr int64_t kMost = 1 << 20;
  const int64_t runs = message < far_bytes ? machine.miss_runs : machine.dram_miss_runs;
  return {static_cast<int32_t>(std::min(runs, kMost)), static_cast<int32_t>(std::min(bytes, kMost)),
          into_l2};
}

void PrefetchRule::cut(Direction way, Cuts& messages, Cuts& outputs) const {
  if (sizes(way).from == Regime::kNoEnd) return;
  messages.add(sizes(way).from);
  outputs.add(sizes(way).below);
  messages.add(far_bytes);
}

}  // namespace lacuna::strategy
