// SPDX-License-Identifier: BSD-3-Clause
//
// Times over message size, without gaps. They show the thresholds and internal buffers of a
// library. Sizes are requested while the program runs, since earlier results decide which to
// measure next.
#ifndef LACUNA_COSTS_MACHINE_SWEEP_HPP_
#define LACUNA_COSTS_MACHINE_SWEEP_HPP_

#include <string>

#include "bench/harness/json_lines.hpp"

namespace lacuna::costs {

// Answers the requests in `folder`, files 1, 2, ... that each hold "LANES ROUNDS SIZE..." (lanes: m
// for messages, c for copies, s for a stream of messages), until one holds "end". Lacuna is
// switched off. Two ranks.
void answer_requests(const std::string& folder, int rank, bench::JsonLines& out);

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MACHINE_SWEEP_HPP_
