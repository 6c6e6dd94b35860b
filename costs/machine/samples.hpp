// SPDX-License-Identifier: BSD-3-Clause
//
// What the measurements of `lacuna costs machine` share: the clock, how often to repeat, and the
// form in which samples are written.
#ifndef LACUNA_COSTS_MACHINE_SAMPLES_HPP_
#define LACUNA_COSTS_MACHINE_SAMPLES_HPP_

#include <chrono>
#include <string>
#include <vector>

namespace lacuna::costs {

using Clock = std::chrono::steady_clock;

inline constexpr int kTag = 1;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The least time between two readings of the clock.
double clock_seconds();

// How often to repeat work that takes `seconds`, so that clock and barrier are negligible. Rank 0
// decides for all ranks.
int iterations_for(double seconds);

inline constexpr const char* kProgram = "lacuna-costs";
// One line on stderr, and all ranks end.
[[noreturn]] void fail(const std::string& what);

// "[1.5e-06, 2e-06]"
std::string json_list(const std::vector<double>& values);

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MACHINE_SAMPLES_HPP_
