// SPDX-License-Identifier: BSD-3-Clause
//
// The formula of docs/internals/cost.md: max(instructions, traffic) + start, where the traffic
// includes TLB misses.
#include "plan/cost/cost.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/checked.hpp"
#include "plan/cost/cycles.hpp"

namespace lacuna {
namespace {

// Page walks that a core makes at the same time: Golden Cove has four walkers, Zen 4 six.
constexpr double kWalksAtOnce = 4;
// Entries of the store buffer: 56 (Skylake, Zen 3) to 72 (Golden Cove). Stalls when it is full are
// not modelled: tried, and four times too slow for dense sides, which the hardware prefetches.
constexpr double kStoreBuffer = 64;

using Shares = std::array<double, kLevels>;

struct Traffic {
  const Footprint& footprint;
  double packed_lines;
  bool is_pack;
  bool streams;  // the output is written by non-temporal stores
  bool is_cold;
};

// Which part of a working set that is traversed repeatedly a cache holds. With LRU replacement, a
// cache set with more lines than ways misses for all of them. The L1 is indexed by the offset in a
// page, so all its sets overflow at once. The others are indexed by physical pages, which are
// random: some sets overflow when the cache is half used, others not when it is full (Poisson, 16
// ways); a straight line approximates this.
double held(double set_bytes, double cache_bytes, Level level) {
  const double used = set_bytes / cache_bytes;
  if (level == Level::kL1) return std::clamp((1.5 - used) / 0.5, 0.0, 1.0);
  return std::clamp((1.4 - used) / 0.8, 0.0, 1.0);
}

// Which part of the working set is found in which level.
Shares shares(double set_bytes, const Machine& machine, bool is_cold) {
  Shares found{};
  if (is_cold) {
    found[kLevels - 1] = 1;
    return found;
  }
  const std::array<int64_t, kLevels - 1> sizes = {machine.l1_bytes, machine.l2_bytes,
                                                  machine.l3_bytes};
  double left = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    found[i] = left * held(set_bytes, static_cast<double>(sizes[i]), static_cast<Level>(i));
    left -= found[i];
  }
  found[kLevels - 1] = left;
  return found;
}

// Interpolates between two measured strides, by the logarithm of the stride.
double between(double stride, double from, double from_ns, double to, double to_ns) {
  const double part = std::clamp(std::log2(stride / from) / std::log2(to / from), 0.0, 1.0);
  return from_ns + part * (to_ns - from_ns);
}

struct LineTimes {  // ns for each line
  double dense;     // adjacent lines
  double skip;      // every fourth line
  double page;      // one line of each page
  double same;      // one line of each page, at the same offset in all
  double random;
};

LineTimes line_times(Level level, bool is_store, const Machine& machine) {
  const LevelSpeed& speed = machine.speed(level);
  const auto bytes = static_cast<double>(machine.line_bytes);
  const bool is_memory = level == Level::kMemory;
  if (is_store)
    return {bytes / speed.write_bytes_per_ns, speed.skip_store_ns, speed.page_store_ns,
            is_memory ? machine.memory_same_store_ns : speed.page_store_ns, speed.random_store_ns};
  return {bytes / speed.read_bytes_per_ns, speed.skip_load_ns, speed.page_load_ns,
          is_memory ? machine.memory_same_load_ns : speed.page_load_ns, speed.random_load_ns};
}

double line_ns(const LineTimes& times, const LineStream& stream, const Machine& machine) {
  const auto line = static_cast<double>(machine.line_bytes);
  const auto page = static_cast<double>(machine.page_bytes);
  const auto at = static_cast<double>(stream.stride);
  if (stream.stride == 0 || stream.irregular) return times.random;
  if (at <= line) return times.dense;
  if (at <= 4 * line) return between(at, line, times.dense, 4 * line, times.skip);
  return between(at, 4 * line, times.skip, page, times.page);
}

// The time of one line of each page. A stride with a large factor in common with a page leaves few
// offsets in a page for the lines: fewer cache sets and DRAM banks. The time falls by the same
// factor with each doubling of the offsets, from `same` at 1 to `page` at 16
// (docs/experiments/2026-11-27-plan-thresholds.md).
double crowded_page(const LineTimes& times, int64_t stride, const Machine& machine) {
  if (times.same <= times.page) return times.page;
  const double places = static_cast<double>(machine.page_bytes) /
                        static_cast<double>(std::gcd(stride, machine.page_bytes));
  const double part = std::max(0.0, 1 - std::log2(places) / 4);
  return std::pow(times.same, part) * std::pow(times.page, 1 - part);
}

// The profile measures DRAM with more pages than the TLB reaches, so its load times contain a page
// walk for each page. Loads of fewer pages have none. (Stores show no difference.) Cold data may
// well be in the TLB.
bool without_walks(const Traffic& traffic, Level level, const Machine& machine) {
  return traffic.is_pack && level == Level::kMemory &&
         traffic.footprint.pages <= static_cast<double>(machine.tlb2_entries);
}

// The time of the side with gaps, in one level; `mapped`: without TLB misses.
double memory_side_ns(const Traffic& traffic, Level level, const Machine& machine, bool mapped) {
  LineTimes times = line_times(level, !traffic.is_pack, machine);
  // Ascending order is not slower than random; a measurement that says so was disturbed.
  times.page = std::min(times.page, times.random);
  if (without_walks(traffic, level, machine)) {
    times.page = std::max(times.dense, times.page - machine.tlb_walk_ns);
    times.random = std::max(times.dense, times.random - machine.tlb_walk_ns);
  }
  double ns = 0;
  for (const LineStream& stream : traffic.footprint.streams) {
    LineTimes crowded = times;
    crowded.page = crowded_page(times, stream.stride, machine);
    const double spread = line_ns(times, stream, machine);
    double each = line_ns(crowded, stream, machine);
    if (mapped) each += std::min(spread, std::max(times.skip, times.dense)) - spread;
    ns += stream.lines * each;
  }
  // The last stores are still in the store buffer when the call returns.
  if (traffic.is_cold && !traffic.is_pack)
    ns *= std::max(0.0, 1 - kStoreBuffer / std::max(traffic.footprint.lines, 1.0));
  return ns;
}

// How far reads and writes of a level overlap, taken from the time of a copy: 1 is not at all.
double overlap(double read_ns, double write_ns, double copy_ns) {
  return std::clamp(copy_ns / (read_ns + write_ns), 0.5, 1.0);
}

double level_ns(const Traffic& traffic, Level level, const Machine& machine, bool mapped) {
  const LevelSpeed& speed = machine.speed(level);
  const auto line = static_cast<double>(machine.line_bytes);
  if (traffic.streams) {
    return std::max(traffic.packed_lines, traffic.footprint.lines) * line /
           speed.stream_copy_bytes_per_ns;
  }
  const double memory = memory_side_ns(traffic, level, machine, mapped);
  const double packed = traffic.packed_lines * line /
                        (traffic.is_pack ? speed.write_bytes_per_ns : speed.read_bytes_per_ns);
  const double both = overlap(1 / speed.read_bytes_per_ns, 1 / speed.write_bytes_per_ns,
                              1 / speed.copy_bytes_per_ns);
  return std::max({both * (memory + packed), memory, packed});
}

Bound bound_of(const Cost& cost) {
  if (cost.instructions_ns + cost.start_ns == 0) return Bound::kNone;
  if (cost.instructions_ns >= cost.traffic_ns()) return Bound::kInstructions;
  size_t most = 0;
  for (size_t i = 1; i < kLevels; ++i) {
    if (cost.level_ns[i] > cost.level_ns[most]) most = i;
  }
  if (cost.tlb_ns > cost.level_ns[most]) return Bound::kTlb;
  constexpr Bound kBounds[kLevels] = {Bound::kL1, Bound::kL2, Bound::kL3, Bound::kMemory};
  return kBounds[most];
}

// For both sides. Non-temporal stores count as no misses.
void add_misses(const Traffic& traffic, const Shares& found, const Shares& again,
                const Machine& machine, Cost* cost) {
  const Footprint& footprint = traffic.footprint;
  double lines = footprint.lines + traffic.packed_lines;
  if (traffic.streams) lines = traffic.is_pack ? footprint.lines : traffic.packed_lines;
  double gone = 1;
  double gone_again = 1;
  for (size_t i = 0; i < cost->level_misses.size(); ++i) {
    gone -= found[i];
    gone_again -= again[i];
    cost->level_misses[i] = gone * lines + gone_again * footprint.again;
  }
  const double packed_pages =
      std::ceil(traffic.packed_lines * static_cast<double>(machine.line_bytes) /
                static_cast<double>(machine.page_bytes));
  const double pages = footprint.pages + packed_pages;
  double anywhere = 0;  // part of the lines in random order, some of whose pages the TLB holds
  for (const LineStream& stream : footprint.streams) {
    if (stream.stride == 0) anywhere += stream.lines / footprint.lines;
  }
  const int64_t entries[] = {machine.tlb_entries, machine.tlb2_entries};
  for (size_t i = 0; i < cost->tlb_misses.size(); ++i) {
    if (pages >= static_cast<double>(entries[i])) {
      const double kept = anywhere * static_cast<double>(entries[i]) / pages;
      cost->tlb_misses[i] = std::max(footprint.turns * (1 - kept), footprint.pages) + packed_pages;
    } else {
      cost->tlb_misses[i] = traffic.is_cold ? pages : 0;
    }
  }
}

Cost cost_of(const Traffic& traffic, const Machine& machine) {
  const Footprint& footprint = traffic.footprint;
  Cost cost;
  cost.lines_mem = footprint.lines;
  cost.lines_packed = traffic.packed_lines;
  cost.pages = footprint.pages;
  cost.instructions_ns = footprint.cycles * machine.cycle_ns;
  cost.start_ns = kMessageCycles * machine.cycle_ns;
  const auto line = static_cast<double>(machine.line_bytes);
  // Non-temporal stores leave no lines in the caches: only the source counts.
  double set = (footprint.crowd + traffic.packed_lines) * line;
  if (traffic.streams) set = line * (traffic.is_pack ? footprint.crowd : traffic.packed_lines);
  const Shares found = shares(set, machine, traffic.is_cold);
  // Byna 2003, section 5.2: no TLB cost while the TLB reaches all pages.
  const bool mapped =
      !traffic.is_cold && footprint.pages < static_cast<double>(machine.tlb_entries);
  for (size_t i = 0; i < kLevels; ++i) {
    if (found[i] == 0) continue;
    const auto level = static_cast<Level>(i);
    const double known = level_ns(traffic, level, machine, true);
    cost.level_ns[i] = found[i] * known;
    if (!mapped) cost.tlb_ns += found[i] * (level_ns(traffic, level, machine, false) - known);
  }
  // Lines used again come from where the working set stays meanwhile, also if it was cold at first.
  const Shares kept = shares(set, machine, false);
  for (size_t i = 0; i < kLevels; ++i) {
    const LevelSpeed& speed = machine.levels[i];
    cost.level_ns[i] += kept[i] * footprint.again *
                        (traffic.is_pack ? speed.random_load_ns : speed.random_store_ns);
  }
  add_misses(traffic, found, kept, machine, &cost);
  // The profile measures the caches with pages that the second-level TLB reaches. Beyond its reach
  // the time of a load rises, up to 1.4 times as many pages (docs/internals/cost.md, "The TLB").
  const double reach = footprint.pages / static_cast<double>(machine.tlb2_entries);
  cost.tlb_ns += (1 - found[kLevels - 1]) * std::clamp((reach - 1) / 0.4, 0.0, 1.0) *
                 footprint.turns * machine.tlb_walk_ns / kWalksAtOnce;
  if (traffic.is_cold && footprint.lines > 0)
    cost.start_ns += machine.speed(Level::kMemory).latency_ns;
  cost.ns = std::max(cost.instructions_ns, cost.traffic_ns()) + cost.start_ns;
  cost.bound = bound_of(cost);
  return cost;
}

// Whether the kernels below `node` use non-temporal stores for a message of that size.
bool leaves_caches(const PlanNode& node, Direction way, int64_t bytes) {
  if (node.step.shape != Step::Shape::kParts)
    return node.step.regime(way, bytes, bytes).hints.non_temporal;
  return node.kind == LayoutNode::Kind::kLoop && leaves_caches(*node.children[0], way, bytes);
}

}  // namespace

const char* bound_name(Bound bound) {
  switch (bound) {
    case Bound::kNone:
      return "nothing";
    case Bound::kInstructions:
      return "instructions";
    case Bound::kL1:
      return "L1";
    case Bound::kL2:
      return "L2";
    case Bound::kL3:
      return "L3";
    case Bound::kMemory:
      return "memory";
    case Bound::kTlb:
      return "TLB";
  }
  return "nothing";
}

double Cost::traffic_ns() const {
  double all = tlb_ns;
  for (const double level : level_ns) all += level;
  return all;
}

bool has_cost(const Plan& plan, int64_t count) {
  if (count <= 0 || plan.is_empty()) return true;
  const Type& type = plan.type();
  const Checked last = (Checked(count) - 1) * plan.extent();
  const Checked ends[] = {Checked(count) * plan.size(), type.true_lb, type.true_ub,
                          last + type.true_lb, last + type.true_ub};
  return std::all_of(std::begin(ends), std::end(ends), [](const Checked& end) {
    return end.ok() && end.value() >= -kMostCostBytes && end.value() <= kMostCostBytes;
  });
}

Cost predict(const Plan& plan, int64_t count, Direction direction, Warmth warmth) {
  if (count <= 0 || plan.is_empty()) return {};
  const Machine& machine = plan.machine();
  const int64_t bytes = count * plan.size();
  const bool is_one_run = plan.is_run(count);
  const PlanNode& root = plan.root(count);
  const Footprint footprint = footprint_of(plan, count, direction);
  return cost_of(
      {footprint, std::ceil(static_cast<double>(bytes) / static_cast<double>(machine.line_bytes)),
       direction == Direction::kPack, !is_one_run && leaves_caches(root, direction, bytes),
       warmth == Warmth::kCold},
      machine);
}

Cost predict_memcpy(int64_t bytes, const Machine& machine, Warmth warmth) {
  if (bytes <= 0) return {};
  const Footprint footprint = dense_footprint(bytes, machine);
  Cost cost = cost_of({footprint, footprint.lines, true, false, warmth == Warmth::kCold}, machine);
  // A call of memcpy has no checks of lacuna.
  cost.start_ns -= kMessageCycles * machine.cycle_ns;
  cost.ns -= kMessageCycles * machine.cycle_ns;
  return cost;
}

}  // namespace lacuna
