// SPDX-License-Identifier: BSD-3-Clause
//
// Checks every rival on a problem, then times them, interleaved.
//
// A sample is one rival's time for one call: the mean of so many calls that the clock does not
// matter (warm: the same buffers again and again), or one call after both buffers were evicted from
// all caches (cold). In each round every rival has one sample, in a new random order, so that no
// rival always follows the same one. A rival that is too slow for all its samples skips some
// rounds, so that its few samples are spread over the same time as the others'.
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
  int samples = 15;               // of each rival; fewer if the seconds do not suffice, at least 3
  double seconds = 0.6;           // for one direction of one problem in one state of the caches
  double sample_seconds = 20e-6;  // at least
};

struct Times {
  std::string rival;
  bool is_unpack;
  bool is_cold;
  int64_t calls;  // in one sample
  std::vector<double> ns;
};

// Packs and unpacks once with every rival, and compares with the typemap's bytes, gaps included.
// Empty, or which rival is wrong, and where.
std::string verify(const Problem& problem, const std::vector<Rival*>& rivals);

void measure(const Problem& problem, const std::vector<Rival*>& rivals, const Settings& settings,
             const std::function<void(const Times&)>& done);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_MEASURE_HPP_
