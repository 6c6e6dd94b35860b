// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/in_room.hpp"

#include <algorithm>

namespace lacuna {
namespace {

bool is_some_twice(std::vector<int> ranks) {
  std::erase(ranks, MPI_PROC_NULL);
  std::sort(ranks.begin(), ranks.end());
  return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
}

}  // namespace

bool Places::learn_neighbors(MPI_Comm comm) noexcept try {
  std::vector<int> sources;
  std::vector<int> targets;
  if (!ask_neighbor_ranks(comm, &sources, &targets) || is_some_twice(sources) ||
      is_some_twice(targets)) {
    return false;
  }
  const auto is_known = [&](int rank) { return rank == MPI_PROC_NULL || is_rank(rank); };
  if (!std::all_of(sources.begin(), sources.end(), is_known) ||
      !std::all_of(targets.begin(), targets.end(), is_known)) {
    return false;
  }
  room_->sources = std::move(sources);
  room_->targets = std::move(targets);
  room_->has_neighbors = true;
  return true;
} catch (...) {
  return false;
}

}  // namespace lacuna
