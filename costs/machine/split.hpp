// SPDX-License-Identifier: BSD-3-Clause
//
// Times of a message with gaps, from which its parts are computed, after Byna et al. (2003),
// section 4: what copying, packing, the library and the network each cost
// (docs/internals/costs.md).
#ifndef LACUNA_COSTS_MACHINE_SPLIT_HPP_
#define LACUNA_COSTS_MACHINE_SPLIT_HPP_

#include "bench/engine/problem.hpp"
#include "bench/harness/json_lines.hpp"
#include "mpi/predefined.hpp"

namespace lacuna::costs {

struct SplitOptions {
  double seconds = 0.25;  // for a row
  int rounds = 41;        // at most
};

// Times one message in all ways (lanes), alternating between them; with lacuna's only where it is
// loaded. Two ranks.
void measure_split(const bench::Row& row, const SplitOptions& options,
                   const PredefinedTypes& predefined, int rank, bench::JsonLines& out);

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MACHINE_SPLIT_HPP_
