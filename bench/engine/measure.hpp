// SPDX-License-Identifier: BSD-3-Clause
//
// Checks every rival on a problem, then times them in turns.
//
// A sample is one rival's time for one call: of enough calls in a row that the clock does not show
// (warm: the same buffers again and again), or of one call after both buffers were taken out of all
// caches (cold). In each round every rival gives one sample, in an order drawn anew, so that nobody
// always follows the same one. A rival too slow for all its samples sits out rounds here and there:
// its few are as spread in time as the others' many.
#ifndef LACUNA_BENCH_ENGINE_MEASURE_HPP_
#define LACUNA_BENCH_ENGINE_MEASURE_HPP_

#include <functional>
#include <string>
#include <vector>

#include "bench/engine/problem.hpp"
#include "bench/engine/rival.hpp"

namespace lacuna::bench {

struct Settings {
  bool warm = true;
  bool cold = true;
  int samples = 15;               // of each rival; fewer, but 3, where the seconds do not suffice
  double seconds = 0.6;           // for one direction of one problem in one state of the caches
  double sample_seconds = 20e-6;  // least
};

struct Times {
  std::string rival;
  bool is_unpack;
  bool is_cold;
  int64_t calls;  // in one sample
  std::vector<double> ns;
};

// Packs and unpacks once with every rival and compares with the typemap's bytes, gaps included.
// Empty, or which rival is wrong where.
std::string verify(const Problem& problem, const std::vector<Rival*>& rivals);

void measure(const Problem& problem, const std::vector<Rival*>& rivals, const Settings& settings,
             const std::function<void(const Times&)>& done);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_MEASURE_HPP_
