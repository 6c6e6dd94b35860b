// SPDX-License-Identifier: BSD-3-Clause
//
// The part of a type's record (types/record.hpp) that log and report use.
#ifndef LACUNA_INTERPOSE_REPORT_OBSERVED_TYPE_HPP_
#define LACUNA_INTERPOSE_REPORT_OBSERVED_TYPE_HPP_

#include <atomic>
#include <cstdint>
#include <string>

#include "interpose/report/report.hpp"
#include "mpi/header.hpp"
#include "plan/plan.hpp"

namespace lacuna {

struct ObservedType {
  std::atomic<uintptr_t> handle{0};  // 0: not in use
  // Unique for each type, also if two have the same handle and record one after the other. 0: a
  // predefined type, or none.
  std::atomic<uint64_t> serial{0};
  int64_t size_bytes = 0;
  PlanPtr plan;       // null: never handled
  MPI_Datatype wire;  // messages of packed data are arrays of it
  std::string text;   // only for the log
  mutable std::atomic<TypeId> reported_as{kOtherTypes};
  mutable std::atomic<uint32_t> logged{0};  // a bit for each Outcome
  mutable std::atomic<bool> has_call_groups{
      false};  // calls on it may be only counted (sampling.hpp)
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_OBSERVED_TYPE_HPP_
