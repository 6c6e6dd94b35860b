// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probe/survey.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "machine/probe/loops/moves.hpp"

namespace lacuna::probe {
namespace {

constexpr int64_t kMemoryBytes = int64_t{256} << 20;  // where the last cache does not need more
constexpr int64_t kLeastMemoryBytes = int64_t{64} << 20;

// What hwloc says of the caches replaces what the C library says.
void take_told(Survey* survey) {
  Profile& profile = survey->profile;
  const char* const prefixes[] = {"l1", "l2", "l3"};
  for (size_t i = 0; i < survey->topology.caches.size(); ++i) {
    const ToldCache& cache = survey->topology.caches[i];
    const std::string prefix = prefixes[i];
    if (cache.bytes > 0)
      profile.set(prefix + "_bytes", static_cast<double>(cache.bytes), Source::kTold);
    if (cache.cpus > 0)
      profile.set(prefix + "_cpus", static_cast<double>(cache.cpus), Source::kTold);
    if (i == 0 && cache.line_bytes > 0)
      profile.set("line_bytes", static_cast<double>(cache.line_bytes), Source::kTold);
  }
  derive_thresholds(profile);
}

// Large enough to exceed the L3, small enough to leave memory to other programs.
int64_t memory_bytes(const Effort& effort, const Machine& machine) {
  const int64_t free_bytes = int64_t{sysconf(_SC_AVPHYS_PAGES)} * machine.page_bytes;
  const int64_t wanted = std::max(kLeastMemoryBytes, 4 * machine.l3_bytes);
  return std::min({wanted, effort.most_bytes, std::max(free_bytes / 4, kLeastMemoryBytes)});
}

}  // namespace

void Survey::measured(const std::string& name, double value, const std::string& words,
                      double told) {
  profile.set(name, value, Source::kMeasured);
  evidence[name] = {words, told};
}

std::vector<Point> rounds(const Effort& effort, const std::vector<double>& xs,
                          const std::function<double(double x, int round)>& measure) {
  std::vector<Point> points;
  for (int round = 0; round < effort.rounds; ++round) {
    for (size_t i = 0; i < xs.size(); ++i) {
      const double ns = measure(xs[i], round);
      if (round == 0) points.push_back({xs[i], ns});
      points[i].ns = std::min(points[i].ns, ns);
    }
  }
  return points;
}

int64_t bytes_inside(const Machine& machine, Level level, int64_t most_bytes) {
  const auto l2 = static_cast<double>(machine.l2_bytes);
  const auto l3 = static_cast<double>(machine.l3_bytes);
  switch (level) {
    case Level::kL1:
      return machine.l1_bytes / 2;
    case Level::kL2:
      return machine.l2_bytes / 2;
    case Level::kL3: {
      // The geometric mean of both sizes where the L3 is hardly larger than the L2.
      const double inside = std::min(std::max(std::sqrt(l2 * l3), l3 / 4), 8 * l2);
      return std::min(static_cast<int64_t>(inside), most_bytes);
    }
    case Level::kMemory:
      return std::min(most_bytes, std::max(kMemoryBytes, 4 * machine.l3_bytes));
  }
  return most_bytes;
}

Survey survey(const Effort& effort, const Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  Survey found;
  stay_here();
  found.profile = told_profile();
  found.topology = ask_hwloc();
  found.isa = best_moves().isa;
  take_told(&found);
  const Machine& machine = found.profile.machine;
  const int64_t most_bytes = memory_bytes(effort, machine);

  struct Part {
    std::string what;
    std::function<void()> work;
  };
  std::vector<Part> parts;
  parts.push_back({"clock", [&] { measure_cycle(effort, &found); }});
  parts.push_back({"TLB", [&] { measure_tlb(effort, &found); }});
  parts.push_back({"caches", [&] { measure_caches(effort, most_bytes, &found); }});
  const int64_t line = machine.line_bytes;
  const int64_t page = machine.page_bytes;
  for (const int64_t stride : {line, 4 * line, 16 * line, page, page + line}) {
    parts.push_back({"latency, stride " + std::to_string(stride),
                     [&, stride] { measure_strides(effort, most_bytes, stride, &found); }});
  }
  const char* const names[] = {"first level", "second level", "third level", "memory"};
  for (size_t i = 0; i < kLevels; ++i) {
    parts.push_back({std::string("bandwidth, ") + names[i], [&, i] {
                       measure_speeds(effort, static_cast<Level>(i), most_bytes, &found);
                     }});
  }
  parts.push_back({"non-temporal copies", [&] { measure_streaming(effort, most_bytes, &found); }});
  int done = 0;
  for (const Part& part : parts) {
    progress(part.what, done++, static_cast<int>(parts.size()));
    part.work();
  }
  derive_thresholds(found.profile);
  progress("done", done, done);
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return found;
}

}  // namespace lacuna::probe
