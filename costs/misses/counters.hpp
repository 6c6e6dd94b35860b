// SPDX-License-Identifier: BSD-3-Clause
//
// The processor's own counters, by perf_event: what a piece of work takes of each.
#ifndef LACUNA_COSTS_MISSES_COUNTERS_HPP_
#define LACUNA_COSTS_MISSES_COUNTERS_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lacuna::costs {

struct Counted {
  const char* name;  // as in the result file
  double value = 0;  // of one turn of the work
  std::string why;   // not empty: why there is none
};

// One counter at a time, so that none has to share the processor's: the work is done `turns` times
// for each. The kernel's part of it is left out.
std::vector<Counted> count(int turns, const std::function<void()>& work);

// In words, for an errno of perf_event_open.
std::string why_not(int error, int paranoid);

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MISSES_COUNTERS_HPP_
