// SPDX-License-Identifier: BSD-3-Clause
//
// The programs' output for a problem and its times, one JSON object a line.
#ifndef LACUNA_BENCH_ENGINE_REPORT_HPP_
#define LACUNA_BENCH_ENGINE_REPORT_HPP_

#include <string>
#include <vector>

#include "bench/engine/measure.hpp"
#include "bench/engine/problem.hpp"
#include "bench/engine/rival.hpp"

namespace lacuna::bench {

// The row's numbers, its rivals, and the engine's prediction (lacuna_plan_cost_json).
std::string describe(const Problem& problem, const std::vector<Rival*>& rivals);

std::string line(const std::string& row, const Times& times);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_REPORT_HPP_
