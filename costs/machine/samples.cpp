// SPDX-License-Identifier: BSD-3-Clause
#include "costs/machine/samples.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/harness/job.hpp"

namespace lacuna::costs {
namespace {

// Short, so that clock frequency and other programs are the same for all that a round measures.
constexpr double kBatchSeconds = 2e-4;
constexpr int kMostIterations = 1000;
constexpr int kClockReadings = 1000;

}  // namespace

double clock_seconds() {
  double least = 1;
  for (int i = 0; i < kClockReadings; ++i) least = std::min(least, seconds_since(Clock::now()));
  return least;
}

int iterations_for(double seconds) {
  int wanted = static_cast<int>(
      std::clamp(std::ceil(kBatchSeconds / std::max(seconds, 1e-9)), 1.0, double{kMostIterations}));
  MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return wanted;
}

void fail(const std::string& what) { bench::fail_job(kProgram, what); }

std::string json_list(const std::vector<double>& values) {
  std::string text = "[";
  for (const double value : values) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.5g", text.size() > 1 ? ", " : "", value);
    text += number;
  }
  return text + "]";
}

}  // namespace lacuna::costs
