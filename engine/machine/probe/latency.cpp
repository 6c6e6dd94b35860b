// SPDX-License-Identifier: BSD-3-Clause
//
// Latencies of the TLB, of the caches, and over working set and stride, as in the microbenchmark of
// Saavedra that Byna 2003 (section 5.3) uses. Theirs walks the array in order, which today's
// prefetchers hide; here the order is random.
#include <algorithm>
#include <cmath>

#include "machine/probe/loops/chase.hpp"
#include "machine/probe/survey.hpp"

namespace lacuna::probe {
namespace {

constexpr double kFewestLines = 8;
constexpr double kMostTlbPages = 8192;
constexpr double kLeastBytes = 4096;
constexpr int kCloserPoints = 24;
// Larger sets get one round: linking them takes longer than timing them, and a disturbance evicts
// only a small part of them.
constexpr double kOneRoundBytes = 64.0 * 1024 * 1024;

uint64_t seed_of(int round) { return static_cast<uint64_t>(round) + 1; }

std::vector<double> octaves(double from, double to, int parts) {
  std::vector<double> xs;
  for (double x = from; x <= to * 1.001; x *= std::exp2(1.0 / parts)) xs.push_back(std::floor(x));
  return xs;
}

std::string kib(double bytes) { return std::to_string(std::lround(bytes / 1024)) + " KiB"; }

// The chase over sizes in bytes.
std::vector<Point> chase_sizes(const Effort& effort, const Region& region, int64_t stride,
                               const std::vector<double>& sizes) {
  const auto chase = [&](double bytes, int round) {
    const auto n = static_cast<uint64_t>(bytes) / static_cast<uint64_t>(stride);
    return chase_ns(region.data(), n, static_cast<size_t>(stride), effort.samples, seed_of(round));
  };
  const auto large =
      std::find_if(sizes.begin(), sizes.end(), [](double bytes) { return bytes > kOneRoundBytes; });
  std::vector<Point> points = rounds(effort, {sizes.begin(), large}, chase);
  Effort once = effort;
  once.rounds = 1;
  for (const Point& point : rounds(once, {large, sizes.end()}, chase)) points.push_back(point);
  return points;
}

}  // namespace

void measure_cycle(const Effort& effort, Survey* survey) {
  double ns = cycle_ns(effort.samples);
  for (int round = 1; round < effort.rounds; ++round) ns = std::min(ns, cycle_ns(effort.samples));
  survey->measured("cycle_ns", ns, "a chain of dependent additions");
}

void measure_tlb(const Effort& effort, Survey* survey) {
  const Machine& machine = survey->profile.machine;
  const int64_t line = machine.line_bytes;
  // A page and a line: the lines of all pages are spread over the sets of the caches.
  const int64_t stride = machine.page_bytes + line;
  const double most = std::min(kMostTlbPages, std::floor(1e9 / static_cast<double>(stride)));
  const Region region(static_cast<size_t>(most) * static_cast<size_t>(stride) + 4096,
                      Pages::kSmall);
  if (region.data() == nullptr) return;
  const auto chase = [&](int64_t distance) {
    return [&, distance](double n, int round) {
      return chase_ns(region.data(), static_cast<uint64_t>(n), static_cast<size_t>(distance),
                      effort.samples, seed_of(round));
    };
  };
  // Coarse sizes first, then finer ones around each step. Both kinds alternate, as the clock
  // frequency may change in between.
  const std::vector<double> coarse = octaves(kFewestLines, most, 2);
  std::vector<Point> packed;
  std::vector<Point> pages = rounds(effort, coarse, [&](double n, int round) {
    packed.push_back({n, chase(line)(n, round)});
    return chase(stride)(n, round);
  });
  std::vector<double> fine;
  for (const Step& step : find_tlb(pages, packed).steps) {
    const double from = step.begin_x * 0.9;
    const double to = std::min(step.end_x * 1.1, most);
    for (int i = 0; i <= kCloserPoints; ++i)
      fine.push_back(std::floor(from * std::pow(to / from, i / double{kCloserPoints})));
  }
  const std::vector<Point> closer = rounds(effort, fine, chase(stride));
  pages.insert(pages.end(), closer.begin(), closer.end());

  const TlbFound found = find_tlb(pages, packed);
  pages = envelope(pages);
  survey->curves.push_back({"tlb", "small", stride, pages});
  survey->curves.push_back({"tlb", "small", line, envelope(packed)});
  const std::string how =
      "loads of one line from each of n small pages, compared with n adjacent lines: ";
  if (!found.entries) {
    survey->evidence["tlb_entries"] = {how + "no step found", 0};
    return;
  }
  survey->measured("tlb_entries", static_cast<double>(*found.entries),
                   how + "the first step begins here");
  survey->measured("tlb_miss_ns", found.miss_ns, how + "the height of the first step");
  if (!found.entries2) {
    survey->evidence["tlb2_entries"] = {
        how + "no second step up to " + std::to_string(std::lround(most)) + " pages", 0};
    // The second level is at least as large as the first.
    if (machine.tlb2_entries < *found.entries)
      survey->profile.set("tlb2_entries", static_cast<double>(*found.entries), Source::kDefault);
    return;
  }
  survey->measured("tlb2_entries", static_cast<double>(*found.entries2),
                   how + "the second step begins here");
  survey->measured("tlb_walk_ns", found.walk_ns, how + "the height of both steps");
}

void measure_caches(const Effort& effort, int64_t most_bytes, Survey* survey) {
  Profile& profile = survey->profile;
  const Region region(static_cast<size_t>(most_bytes), Pages::kHuge);
  if (region.data() == nullptr) return;
  const bool is_huge = region.huge_bytes() >= region.bytes() / 2;
  const double most = static_cast<double>(most_bytes);
  const Curve curve = chase_sizes(effort, region, profile.machine.line_bytes,
                                  octaves(kLeastBytes, most, effort.parts_octave));
  survey->curves.push_back(
      {"latency", is_huge ? "huge" : "small", profile.machine.line_bytes, curve});
  const char* const sizes[] = {"l1_bytes", "l2_bytes", "l3_bytes"};
  std::array<double, 3> told{};
  for (size_t i = 0; i < told.size(); ++i) {
    const auto index = static_cast<size_t>(find_number(sizes[i]));
    if (profile.sources[index] == Source::kTold)
      told[i] = machine_numbers()[index].get(profile.machine);
  }
  const auto found = find_caches(curve, told);
  double below = 0;  // sizes must rise from level to level
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string saw = "latency steps up at " + kib(found[i].bytes);
    if (found[i].bytes == 0) {
      survey->evidence[sizes[i]] = {"the latency has no step near it, up to " + kib(most), 0};
    } else if (found[i].agrees) {
      survey->evidence[sizes[i]] = {saw, told[i]};
    } else if (found[i].bytes > below) {
      // Rounded to three bits: a knee is not more precise.
      const double unit = std::exp2(std::floor(std::log2(found[i].bytes)) - 2);
      const double bytes = std::round(found[i].bytes / unit) * unit;
      survey->measured(sizes[i], bytes, saw + ", not where the system says", told[i]);
    }
    below = machine_numbers()[static_cast<size_t>(find_number(sizes[i]))].get(profile.machine);
  }

  // Latency of each level at a size well inside it; of DRAM only if the set is large enough.
  const Machine& m = profile.machine;
  const Curve sorted = envelope(curve);
  const std::string how =
      is_huge ? "random loads from huge pages" : "random loads, TLB misses included";
  const char* const names[] = {"l1_latency_ns", "l2_latency_ns", "l3_latency_ns",
                               "memory_latency_ns"};
  for (size_t i = 0; i < kLevels; ++i) {
    const int64_t bytes = bytes_inside(m, static_cast<Level>(i), most_bytes);
    if (static_cast<Level>(i) == Level::kMemory && bytes < 2 * m.l3_bytes) {
      survey->evidence[names[i]] = {
          "not measured: the largest working set, " + kib(most) + ", is smaller than twice the L3",
          0};
      continue;
    }
    survey->measured(names[i], value_at(sorted, static_cast<double>(bytes)),
                     how + ", " + kib(static_cast<double>(bytes)));
  }
}

void measure_strides(const Effort& effort, int64_t most_bytes, int64_t stride, Survey* survey) {
  most_bytes = bytes_inside(survey->profile.machine, Level::kMemory, most_bytes);
  const Region region(static_cast<size_t>(most_bytes), Pages::kSmall);
  if (region.data() == nullptr) return;
  const double least = std::max(kLeastBytes, kFewestLines * static_cast<double>(stride));
  std::vector<double> sizes =
      octaves(std::exp2(std::ceil(std::log2(least))), static_cast<double>(most_bytes), 2);
  survey->curves.push_back(
      {"latency", "small", stride, chase_sizes(effort, region, stride, sizes)});
}

}  // namespace lacuna::probe
