// SPDX-License-Identifier: BSD-3-Clause
//
// The times by which a call's time is split into pieces: of copies, and of messages without gaps,
// measured when the job ends.
#ifndef LACUNA_INTERPOSE_REPORT_COSTS_HPP_
#define LACUNA_INTERPOSE_REPORT_COSTS_HPP_

#include "interpose/report/data.hpp"
#include "mpi/header.hpp"

namespace lacuna {

// Of memcpy, in this process.
CostCurve copy_costs();
// One way, between ranks 0 and 1 of the communicator, both of which call it. Some milliseconds.
CostCurve message_costs(MPI_Comm comm, int rank);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_COSTS_HPP_
