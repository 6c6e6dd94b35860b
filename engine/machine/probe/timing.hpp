// SPDX-License-Identifier: BSD-3-Clause
//
// Times work in many short samples: shorter than a scheduler's time slice, so that on a busy
// machine most of them are not interrupted, and longer than the clock's resolution.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_TIMING_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_TIMING_HPP_

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

// Times of one unit, from `samples` samples of work(units) with so many units that a sample takes
// kSampleNs, at least `least_units`.
template <typename Work>
std::vector<double> sample_ns(int samples, int64_t least_units, Work&& work) {
  int64_t units = least_units;
  while (true) {
    const double ns = time_ns([&] { work(units); });
    if (ns >= kSampleNs / 2) break;
    units = static_cast<int64_t>(static_cast<double>(units) *
                                 std::clamp(kSampleNs / std::max(ns, 1.0), 1.5, 10.0));
  }
  std::vector<double> times;
  for (int i = 0; i < samples; ++i)
    times.push_back(time_ns([&] { work(units); }) / static_cast<double>(units));
  std::sort(times.begin(), times.end());
  return times;
}

// For what has a floor, like a latency: everything else that happens only adds to it.
inline double least(const std::vector<double>& sorted) { return sorted.front(); }

// For what has none, like a bandwidth: not the one lucky sample, and not those of the disturbed
// half.
inline double lower_quartile(const std::vector<double>& sorted) {
  return sorted[sorted.size() / 4];
}

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_TIMING_HPP_
