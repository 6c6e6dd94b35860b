// SPDX-License-Identifier: BSD-3-Clause
//
// What the launcher tells a rank in its environment: which job this is, and how many of its ranks
// are on this node. The MPI library tells both by collectives only, which a rank without lacuna
// would not join.
#ifndef LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHED_HPP_
#define LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHED_HPP_

#include <cstdint>
#include <string_view>

#include "interpose/policy/policy.hpp"

namespace lacuna {

// The same number in all ranks of a job on a node, different for different jobs. 0: the launcher
// does not tell. Computed once, before MPI_Init, which may close the descriptor that tells jobs of
// Hydra apart.
uint64_t job_id() noexcept;

// The same number in all ranks of a job on all nodes, different for different jobs of a launcher.
// 0: the launcher does not tell (PALS; Slurm's srun, except to Intel MPI by PMI2). Needs that
// job_id() was called before MPI_Init. Reads a file.
uint64_t job_of_all_nodes() noexcept;

// The same in all processes that one kernel runs, also in containers. 0: unknown.
uint64_t this_machine() noexcept;

// How many ranks of the job are on this node. 0: the launcher does not tell. A job that was started
// by a rank of another job may have inherited that one's variables, so those of the own library are
// read first.
int ranks_on_node(Flavour library) noexcept;

namespace detail {
uint64_t find_job_id() noexcept;
uint64_t find_job_of_all_nodes(int32_t proxy) noexcept;
// The argument after `option` in a command line as /proc shows it, each argument ended by '\0'.
// Empty: there is none.
std::string_view argument_after(std::string_view option, std::string_view command_line) noexcept;
// How many tasks node `node` has, from a list like Slurm's "4(x2),3". 0: the list does not tell.
int tasks_on_node(const char* counts, int64_t node) noexcept;
}  // namespace detail
}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHED_HPP_
