// SPDX-License-Identifier: BSD-3-Clause
//
// What the programs write of a problem and of its times, one JSON object a line.
#ifndef LACUNA_BENCH_ENGINE_REPORT_HPP_
#define LACUNA_BENCH_ENGINE_REPORT_HPP_

#include <string>
#include <vector>

#include "bench/engine/measure.hpp"
#include "bench/engine/problem.hpp"
#include "bench/engine/rival.hpp"

namespace lacuna::bench {

// The row's numbers, who packs it, and what the engine predicts for it (lacuna_plan_cost_json).
std::string describe(const Problem& problem, const std::vector<Rival*>& rivals);

std::string line(const std::string& row, const Times& times);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_REPORT_HPP_
