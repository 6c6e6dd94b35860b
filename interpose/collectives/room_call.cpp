// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/collectives/room_call.hpp"

#include <algorithm>

namespace lacuna {
namespace {

bool is_some_twice(std::vector<int> ranks) {
  std::erase(ranks, MPI_PROC_NULL);
  std::sort(ranks.begin(), ranks.end());
  return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
}

}  // namespace

void MemberData::query_room_neighbors(MPI_Comm comm) try {
  std::vector<int> sources;
  std::vector<int> targets;
  if (!query_neighbor_ranks(comm, &sources, &targets)) return;
  const auto is_known = [&](int rank) { return rank == MPI_PROC_NULL || is_rank(rank); };
  const bool fit = !is_some_twice(sources) && !is_some_twice(targets) &&
                   std::all_of(sources.begin(), sources.end(), is_known) &&
                   std::all_of(targets.begin(), targets.end(), is_known);
  room_->sources = std::move(sources);
  room_->targets = std::move(targets);
  room_->neighborhood = fit ? direct::Neighborhood::kSuitable : direct::Neighborhood::kUnsuitable;
} catch (...) {
}

}  // namespace lacuna
