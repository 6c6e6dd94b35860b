// SPDX-License-Identifier: BSD-3-Clause
//
// The formula of docs/internals/cost.md: the longer of instructions and traffic, what the TLB adds
// to the traffic, and the start of a call.
#include "plan/cost.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/checked.hpp"
#include "plan/cycles.hpp"

namespace lacuna {
namespace {

// Page walks that a core makes at the same time: Golden Cove has four walkers, Zen 4 six.
//
// Tried: that small stores to lines in memory wait for each other once the store buffer is full of
// them. It explained some rows of the corpus and was four times too slow for others of the same
// kernel: the hardware asks for the lines of a dense side ahead.
constexpr double kWalksAtOnce = 4;
// Stores that wait for their lines: 56 (Skylake, Zen 3) to 72 (Golden Cove).
constexpr double kStoreBuffer = 64;

using Shares = std::array<double, kLevels>;

// What a message needs of a machine, apart from who asks.
struct Traffic {
  const Demand& demand;
  double packed_lines;
  bool is_pack;
  bool streams;  // the output goes past the caches
  bool is_cold;
};

// Which part of a set that is gone through again and again a cache holds. Once a set of lines that
// share a place outgrows that place, the least recently used goes first and none of it is there
// when its turn comes again. In the first level, which is chosen by the place in a page, that
// happens everywhere at once. Beyond, pages lie anywhere: some places are full when the cache is
// half used and some are not when it is used up (Poisson, with 16 ways), here as a straight line.
double held(double set_bytes, double cache_bytes, Level level) {
  const double used = set_bytes / cache_bytes;
  if (level == Level::kL1) return std::clamp((1.5 - used) / 0.5, 0.0, 1.0);
  return std::clamp((1.4 - used) / 0.8, 0.0, 1.0);
}

// Which part is found in which level.
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

// Between two strides that were measured, in proportion to the doublings.
double between(double stride, double from, double from_ns, double to, double to_ns) {
  const double part = std::clamp(std::log2(stride / from) / std::log2(to / from), 0.0, 1.0);
  return from_ns + part * (to_ns - from_ns);
}

struct LineTimes {
  double dense;  // one after the other
  double skip;   // every fourth
  double page;   // one of each page
  double same;   // one of each page, at the same place in all
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

// The time of one line of each page: strides that are multiples of much of a page leave their
// lines few places in their pages. From the time at one place to that at 16 and more by the
// same factor for each doubling (out of memory, Zen 5, ns of 131072 lines at 1, 2, 4, 8, 16, 64
// places, loaded 13.4, 11.2, 7.3, 6.3, 4.6, 4.3, stored 18.2, 11.4, 7.4, 5.1, 4.0, 3.9; asked for
// ahead, 1, 2 and 4 loaded 6.0, 6.1, 6.5, stored 8.4, 8.8, 5.7).
double crowded_page(const LineTimes& times, int64_t stride, const Machine& machine) {
  if (times.same <= times.page) return times.page;
  const double places = static_cast<double>(machine.page_bytes) /
                        static_cast<double>(std::gcd(stride, machine.page_bytes));
  const double part = std::max(0.0, 1 - std::log2(places) / 4);
  return std::pow(times.same, part) * std::pow(times.page, 1 - part);
}

// The profile's line times of memory are of sets that no TLB reaches: a walk is in each load from
// another page. (Stores wait for each other in any case and show no difference.) Cold data is not
// cold for the TLB.
bool without_walks(const Traffic& traffic, Level level, const Machine& machine) {
  return traffic.is_pack && level == Level::kMemory &&
         traffic.demand.pages <= static_cast<double>(machine.tlb2_entries);
}

// The memory's side of a message in one level; `mapped`: as if the TLB reached all of it.
double memory_side_ns(const Traffic& traffic, Level level, const Machine& machine, bool mapped) {
  LineTimes times = line_times(level, !traffic.is_pack, machine);
  // In order is no slower than in none: if it was measured so, something disturbed it.
  times.page = std::min(times.page, times.random);
  if (without_walks(traffic, level, machine)) {
    times.page = std::max(times.dense, times.page - machine.tlb_walk_ns);
    times.random = std::max(times.dense, times.random - machine.tlb_walk_ns);
  }
  double ns = 0;
  for (const LineStream& stream : traffic.demand.streams) {
    LineTimes crowded = times;
    crowded.page = crowded_page(times, stream.stride, machine);
    const double spread = line_ns(times, stream, machine);
    double each = line_ns(crowded, stream, machine);
    if (mapped) each += std::min(spread, std::max(times.skip, times.dense)) - spread;
    ns += stream.lines * each;
  }
  // A call does not wait for its last stores: they are in the store buffer when it returns.
  if (traffic.is_cold && !traffic.is_pack)
    ns *= std::max(0.0, 1 - kStoreBuffer / std::max(traffic.demand.lines, 1.0));
  return ns;
}

// Reads and writes of a level overlap as far as they do in a copy.
double overlap(double read_ns, double write_ns, double copy_ns) {
  return std::clamp(copy_ns / (read_ns + write_ns), 0.5, 1.0);
}

double level_ns(const Traffic& traffic, Level level, const Machine& machine, bool mapped) {
  const LevelSpeed& speed = machine.speed(level);
  const auto line = static_cast<double>(machine.line_bytes);
  if (traffic.streams) {
    return std::max(traffic.packed_lines, traffic.demand.lines) * line /
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

// Of both sides; what goes past the caches misses none.
void add_misses(const Traffic& traffic, const Shares& found, const Shares& again,
                const Machine& machine, Cost* cost) {
  const Demand& demand = traffic.demand;
  double lines = demand.lines + traffic.packed_lines;
  if (traffic.streams) lines = traffic.is_pack ? demand.lines : traffic.packed_lines;
  double gone = 1;
  double gone_again = 1;
  for (size_t i = 0; i < cost->level_misses.size(); ++i) {
    gone -= found[i];
    gone_again -= again[i];
    cost->level_misses[i] = gone * lines + gone_again * demand.again;
  }
  const double packed_pages =
      std::ceil(traffic.packed_lines * static_cast<double>(machine.line_bytes) /
                static_cast<double>(machine.page_bytes));
  const double pages = demand.pages + packed_pages;
  double anywhere = 0;  // the part of the turns that may find any of the pages that are kept
  for (const LineStream& stream : demand.streams) {
    if (stream.stride == 0) anywhere += stream.lines / demand.lines;
  }
  const int64_t entries[] = {machine.tlb_entries, machine.tlb2_entries};
  for (size_t i = 0; i < cost->tlb_misses.size(); ++i) {
    if (pages >= static_cast<double>(entries[i])) {
      const double kept = anywhere * static_cast<double>(entries[i]) / pages;
      cost->tlb_misses[i] = std::max(demand.turns * (1 - kept), demand.pages) + packed_pages;
    } else {
      cost->tlb_misses[i] = traffic.is_cold ? pages : 0;
    }
  }
}

Cost cost_of(const Traffic& traffic, const Machine& machine) {
  const Demand& demand = traffic.demand;
  Cost cost;
  cost.lines_mem = demand.lines;
  cost.lines_packed = traffic.packed_lines;
  cost.pages = demand.pages;
  cost.instructions_ns = demand.cycles * machine.cycle_ns;
  cost.start_ns = kMessageCycles * machine.cycle_ns;
  const auto line = static_cast<double>(machine.line_bytes);
  // Non-temporal stores leave no line behind: only the source takes room.
  double set = (demand.crowd + traffic.packed_lines) * line;
  if (traffic.streams) set = line * (traffic.is_pack ? demand.crowd : traffic.packed_lines);
  const Shares found = shares(set, machine, traffic.is_cold);
  // Byna 2003, section 5.2: as many pages as the TLB reaches cost nothing more.
  const bool mapped = !traffic.is_cold && demand.pages < static_cast<double>(machine.tlb_entries);
  for (size_t i = 0; i < kLevels; ++i) {
    if (found[i] == 0) continue;
    const auto level = static_cast<Level>(i);
    const double known = level_ns(traffic, level, machine, true);
    cost.level_ns[i] = found[i] * known;
    if (!mapped) cost.tlb_ns += found[i] * (level_ns(traffic, level, machine, false) - known);
  }
  // Lines that come again are where the set stays between two visits; cold, that is the same.
  const Shares kept = shares(set, machine, false);
  for (size_t i = 0; i < kLevels; ++i) {
    const LevelSpeed& speed = machine.levels[i];
    cost.level_ns[i] +=
        kept[i] * demand.again * (traffic.is_pack ? speed.random_load_ns : speed.random_store_ns);
  }
  add_misses(traffic, found, kept, machine, &cost);
  // The line times of caches are of sets that the second-level TLB reaches, those of memory are
  // not. From its reach on the time of a load rises until 1.4 times as many pages.
  const double reach = demand.pages / static_cast<double>(machine.tlb2_entries);
  cost.tlb_ns += (1 - found[kLevels - 1]) * std::clamp((reach - 1) / 0.4, 0.0, 1.0) * demand.turns *
                 machine.tlb_walk_ns / kWalksAtOnce;
  if (traffic.is_cold && demand.lines > 0)
    cost.start_ns += machine.speed(Level::kMemory).latency_ns;
  cost.ns = std::max(cost.instructions_ns, cost.traffic_ns()) + cost.start_ns;
  cost.bound = bound_of(cost);
  return cost;
}

// Whether the kernels that `node` leads to use non-temporal stores for a message of that size.
bool leaves_caches(const PlanNode& node, int64_t bytes, const Machine& machine) {
  if (node.sweep.how == Sweep::How::kTranspose) return bytes >= machine.stream_transpose_bytes;
  if (node.sweep.how == Sweep::How::kStrided)
    return bytes >= machine.stream_run_bytes && node.sweep.width >= 2 * machine.line_bytes;
  return node.sweep.how == Sweep::How::kEach && node.kind == LayoutNode::Kind::kLoop &&
         leaves_caches(*node.children[0], bytes, machine);
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
  const Demand demand = demand_of(plan, count, direction);
  return cost_of(
      {demand, std::ceil(static_cast<double>(bytes) / static_cast<double>(machine.line_bytes)),
       direction == Direction::kPack, !is_one_run && leaves_caches(root, bytes, machine),
       warmth == Warmth::kCold},
      machine);
}

Cost predict_memcpy(int64_t bytes, const Machine& machine, Warmth warmth) {
  if (bytes <= 0) return {};
  const Demand demand = dense_demand(bytes, machine);
  Cost cost = cost_of({demand, demand.lines, true, false, warmth == Warmth::kCold}, machine);
  // Its caller has not lacuna's checks before it.
  cost.start_ns -= kMessageCycles * machine.cycle_ns;
  cost.ns -= kMessageCycles * machine.cycle_ns;
  return cost;
}

}  // namespace lacuna
