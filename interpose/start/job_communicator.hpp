// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_INTERPOSE_START_JOB_COMMUNICATOR_HPP_
#define LACUNA_INTERPOSE_START_JOB_COMMUNICATOR_HPP_

#include <cstdint>

#include "mpi/header.hpp"

namespace lacuna {

constexpr int64_t kNoLimit = -1;

// Makes a communicator of all ranks, which returns errors, if all ranks take part within so many
// seconds. kNoLimit: where all are known to come. (MPI_Comm_dup would hang if some rank ran without
// lacuna.) `what`: the wait, for `lacuna doctor`. After that the duplication is still pending, and
// a rank that did not take part meets it with its next nonblocking collective on MPI_COMM_WORLD.
// Not if ranks may have failed (ULFM): that would be an error on the program's communicator.
bool make_job_communicator(int64_t seconds, const char* what, MPI_Comm* comm) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_START_JOB_COMMUNICATOR_HPP_
