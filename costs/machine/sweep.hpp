// SPDX-License-Identifier: BSD-3-Clause
//
// Times over message size, without gaps: what thresholds and hidden buffers are read from. The
// sizes come while the program runs, as what has been seen decides where to look next.
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
