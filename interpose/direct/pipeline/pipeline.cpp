// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/pipeline/pipeline.hpp"

#include <algorithm>
#include <chrono>

#include "interpose/direct/pipeline/far_rank.hpp"
#include "interpose/direct/pipeline/pieces.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna::direct {
namespace detail {
constinit Pipeline g_pipeline{};
}  // namespace detail
using detail::g_pipeline;

void start_pipeline(const Pipeline& agreed) noexcept { g_pipeline = agreed; }

Shares shares_of(int ranks, int64_t bytes) noexcept {
  constexpr int64_t kLeast = int64_t{256} << 10;
  const int64_t others = std::max(ranks - 1, 1);
  int64_t first = bytes / 2 / others;
  if (first < kLeast) first = 0;
  return {first, bytes - first * others, bytes / 2};
}

void await_last_tokens(void (*finish_receives)()) noexcept {
  if (!has_pipeline()) return;
  end_sent_pieces();
  next_functions().MPI_Barrier(g_pipeline.comm);
  constexpr auto kOnTheirWay = std::chrono::milliseconds(100);
  const auto limit = std::chrono::steady_clock::now() + kOnTheirWay;
  while (any_freed_requests() && std::chrono::steady_clock::now() < limit) finish_receives();
}

// The communicator is left to MPI_Finalize: MPICH 5 ends the program if it is freed while a message
// on it has not been received, such as the pieces of a message that the program never receives.
void stop_pipeline() noexcept {
  if (!has_pipeline()) return;
  g_pipeline.shares.pool = 0;  // nobody would receive a note that grants something
  await_sent_notes();
  next_functions().MPI_Barrier(g_pipeline.comm);
  receive_notes();
  next_functions().MPI_Group_free(&g_pipeline.world);
  g_pipeline = Pipeline();
}

int rank_in_world(MPI_Comm comm, int rank) noexcept {
  const Next& next = next_functions();
  MPI_Group group;
  int inter = 0;
  if (rank < 0 || !is_communicator(comm) || !has_plain_ranks(comm) ||
      !group_of_peers(comm, &group, &inter)) {
    return -1;
  }
  int found = MPI_UNDEFINED;
  int size = 0;
  const bool ok =
      next.MPI_Group_size(group, &size) == MPI_SUCCESS && rank < size &&
      next.MPI_Group_translate_ranks(group, 1, &rank, g_pipeline.world, &found) == MPI_SUCCESS;
  next.MPI_Group_free(&group);
  return ok && found != MPI_UNDEFINED && found != runtime().rank ? found : -1;
}

}  // namespace lacuna::direct
