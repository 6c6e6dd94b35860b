// SPDX-License-Identifier: BSD-3-Clause
//
// One run of a random program (program.hpp), and its results.
#ifndef LACUNA_TESTS_INTERPOSE_RANDOM_RUN_HPP_
#define LACUNA_TESTS_INTERPOSE_RANDOM_RUN_HPP_

#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"
#include "tests/interpose/random/program.hpp"

namespace test {

// The results of a run, for comparison.
struct Trace {
  std::vector<std::string> names;
  std::vector<Buffer> buffers;
  std::vector<std::string> status_names;
  std::vector<int> statuses;
};

// Runs `program` among the ranks of `comm`, all of which run the same one.
void run_program(const Program& program, MPI_Comm comm, Trace* trace);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_RANDOM_RUN_HPP_
