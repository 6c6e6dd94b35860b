// SPDX-License-Identifier: BSD-3-Clause
//
// Puts and gets in windows of MPI_Win_allocate_shared: the target is mapped in this process, too,
// so one copy from layout to layout does it.
#ifndef LACUNA_INTERPOSE_RMA_SHARED_WINDOWS_HPP_
#define LACUNA_INTERPOSE_RMA_SHARED_WINDOWS_HPP_

#include "interpose/functions/answer.hpp"
#include "interpose/policy/rma_rules.hpp"
#include "mpi/header.hpp"

namespace lacuna {

struct SharedMove {
  Access access;  // kPuts or kGets
  void* origin;
  MPI_Count origin_count;
  MPI_Datatype origin_type;
  int target;
  MPI_Aint displacement;
  MPI_Count target_count;
  MPI_Datatype target_type;
  MPI_Win win;
  MPI_Request* request;  // null for calls without a request
};

// Declined: another kind of window, or the copy would not pay.
Answer handle_shared_move(const SharedMove& move) noexcept;

// In rma.cpp.
int window_flavour(MPI_Win win) noexcept;
bool tells_errors(MPI_Win win) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_RMA_SHARED_WINDOWS_HPP_
