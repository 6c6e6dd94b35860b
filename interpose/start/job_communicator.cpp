// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/start/job_communicator.hpp"

#include <chrono>
#include <thread>

#include "interpose/direct/node/waits.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/start/discover.hpp"

namespace lacuna {

bool make_job_communicator(int64_t seconds, const char* what, MPI_Comm* comm) noexcept {
  if (runtime().outlives_failures) return false;
  using Clock = std::chrono::steady_clock;
  const Next& next = next_functions();
  MPI_Request request = runtime().request_null;
  if (next.MPI_Comm_idup(runtime().comm_world, comm, &request) != MPI_SUCCESS) return false;
  const direct::ListedWait note(what);
  const auto limit = Clock::now() + std::chrono::seconds(seconds);
  for (int done = 0;;) {
    if (next.MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) {
      set_own_handler(*comm);
      return true;
    }
    if (seconds != kNoLimit && Clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

}  // namespace lacuna
