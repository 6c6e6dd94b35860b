// SPDX-License-Identifier: BSD-3-Clause
//
// The report of a job: from all ranks of MPI_COMM_WORLD to where the user wants it.
#ifndef LACUNA_INTERPOSE_START_GATHER_HPP_
#define LACUNA_INTERPOSE_START_GATHER_HPP_

namespace lacuna {

// Whether LACUNA_REPORT asks for one.
bool report_wanted() noexcept;
// After MPI_Init.
void start_report() noexcept;
// Before MPI_Finalize, while all of MPI still works. Collective over the ranks that report; where
// some rank does not (it runs without lacuna), it is given up after LACUNA_REPORT_WAIT seconds.
void give_report() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_START_GATHER_HPP_
