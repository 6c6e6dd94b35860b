// SPDX-License-Identifier: BSD-3-Clause
//
// With LACUNA_COSTS: types are kept until the job ends, when packing and unpacking them is timed,
// by the library and by lacuna: what was saved, and what might have been.
#ifndef LACUNA_INTERPOSE_REPORT_LIBRARY_TIMES_HPP_
#define LACUNA_INTERPOSE_REPORT_LIBRARY_TIMES_HPP_

#include <cstdint>

#include "interpose/report/data.hpp"
#include "mpi/header.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// `hash`: as in TypeFacts.
void keep_for_timing(uint64_t hash, const PlanPtr& plan, MPI_Datatype datatype) noexcept;

// Times the kept types that occur in the report, with the mean number of bytes of their calls.
void time_kept_types(Report* report);
// Before the library stops.
void drop_kept_types() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_LIBRARY_TIMES_HPP_
