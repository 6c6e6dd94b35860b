// SPDX-License-Identifier: BSD-3-Clause
//
// Times work in many short samples: shorter than a scheduler's time slice, so that on a busy
// machine most of them are not interrupted, and longer than the clock's resolution.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_LOOPS_TIMING_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_LOOPS_TIMING_HPP_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace lacuna::probe {

inline constexpr double kSampleNs = 3e5;

template <typename Work>
double time_ns(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

// How many units take about kSampleNs, at least `least_units`; `ns_of(units)` times them. A count
// that seems long enough is timed again: an interruption may have made it seem so. All samples
// would then be so short that the clock's own time dominates (cycle_ns was once 2.1 instead of
// 0.27).
template <typename Time>
int64_t units_of_sample(int64_t least_units, Time&& ns_of) {
  constexpr int kTries = 4;
  int64_t units = least_units;
  while (true) {
    double ns = ns_of(units);
    for (int i = 1; i < kTries && ns >= kSampleNs / 2; ++i) ns = std::min(ns, ns_of(units));
    if (ns >= kSampleNs / 2) return units;
    units = static_cast<int64_t>(static_cast<double>(units) *
                                 std::clamp(kSampleNs / std::max(ns, 1.0), 1.5, 10.0));
  }
}

// Times of one unit, from `samples` samples of work(units) that take about kSampleNs.
template <typename Work>
std::vector<double> sample_ns(int samples, int64_t least_units, Work&& work) {
  const int64_t units =
      units_of_sample(least_units, [&](int64_t some) { return time_ns([&] { work(some); }); });
  std::vector<double> times;
  for (int i = 0; i < samples; ++i)
    times.push_back(time_ns([&] { work(units); }) / static_cast<double>(units));
  std::sort(times.begin(), times.end());
  return times;
}

// For latencies: disturbances only add to them.
inline double least(const std::vector<double>& sorted) { return sorted.front(); }

// For bandwidths, which vary both ways: neither one lucky sample, nor the disturbed ones.
inline double lower_quartile(const std::vector<double>& sorted) {
  return sorted[sorted.size() / 4];
}

// For what depends on physical addresses, which no program chooses.
inline double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_LOOPS_TIMING_HPP_
