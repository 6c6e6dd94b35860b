// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_INTERPOSE_START_PIPELINING_HPP_
#define LACUNA_INTERPOSE_START_PIPELINING_HPP_

#include <string_view>

#include "interpose/direct/agreement/agreement.hpp"

namespace lacuna {

// What LACUNA_PIPELINE says of pipelined messages between nodes (direct/pipeline/).
direct::OtherNodes pipelining_wanted() noexcept;

// Why the nodes have not agreed on pipelined messages, for the log. Empty: they have, or were not
// asked.
std::string_view why_nodes_disagree(direct::AllNodes found) noexcept;

// Collective over MPI_COMM_WORLD. Call it only where the user has said that all ranks run lacuna
// (kGiven), or all nodes have agreed. `willing`: this rank receives tokens. Returns why there are
// no pipelined messages; empty: there are. Costs at most 15 log2(ranks) messages of up to 32 bytes
// for a rank (mostly 6), those of MPI_Comm_idup, and up to five between neighbours on different
// nodes.
std::string_view agree_on_pipelining(bool willing) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_START_PIPELINING_HPP_
