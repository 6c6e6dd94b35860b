// SPDX-License-Identifier: BSD-3-Clause
//
// What the launcher tells a rank in its environment: which job this is, and how many of its ranks
// are on this node. The MPI library could be asked for both by collectives alone, which a rank
// without lacuna would not join.
#ifndef LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHED_HPP_
#define LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHED_HPP_

#include <cstdint>

#include "interpose/policy/policy.hpp"

namespace lacuna {

// A number that the ranks of one job on one node have in common, and no two jobs. 0: the launcher
// does not say. Found out once; to be asked before MPI_Init, which may close the descriptor that
// tells jobs of Hydra apart.
uint64_t job_id() noexcept;

// How many ranks of the job are on this node; 0: the launcher does not say. A job that a rank of
// another one has started may have that one's variables, too: those of its own library come first.
int ranks_on_node(Flavour library) noexcept;

namespace detail {
uint64_t find_job_id() noexcept;
// Of Slurm's "4(x2),3": how many tasks node `node` has. 0: it does not say.
int tasks_on_node(const char* counts, int64_t node) noexcept;
}  // namespace detail
}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHED_HPP_
