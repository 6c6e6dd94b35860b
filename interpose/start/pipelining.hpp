// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_INTERPOSE_START_PIPELINING_HPP_
#define LACUNA_INTERPOSE_START_PIPELINING_HPP_

#include <string_view>

namespace lacuna {

// Whether LACUNA_PIPELINE asks for pipelined messages between nodes (direct/pipeline/).
bool pipelining_wanted() noexcept;

// Collective over MPI_COMM_WORLD, of all ranks where pipelining is wanted: agrees on it. `willing`:
// this rank receives tokens. Returns why there is none; empty: there is. Costs 3 log2(ranks)
// messages of up to 32 bytes at most, those of MPI_Comm_idup, and some between two ranks.
std::string_view agree_on_pipelining(bool willing) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_START_PIPELINING_HPP_
