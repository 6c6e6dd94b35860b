// SPDX-License-Identifier: BSD-3-Clause
//
// The CPU's own counters, by perf_event: the events of a piece of work.
#ifndef LACUNA_COSTS_MISSES_COUNTERS_HPP_
#define LACUNA_COSTS_MISSES_COUNTERS_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lacuna::costs {

struct Counted {
  const char* name;  // as in the result file
  double value = 0;  // events of one repetition of the work
  std::string why;   // not empty: the reason why there is no value
};

// Counts one event at a time, so that counters need not be multiplexed: the work is done
// `repetitions` times for each. Events in the kernel are not counted.
std::vector<Counted> count(int repetitions, const std::function<void()>& work);

// The reason in words, for an errno of perf_event_open.
std::string why_not(int error, int paranoid);

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MISSES_COUNTERS_HPP_
