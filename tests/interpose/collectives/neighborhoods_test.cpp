// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives among the neighbours of a topology: grids with and without borders, graphs of both
// kinds, in all ways.
#include "tests/interpose/harness/collective_calls.hpp"

using namespace test;

namespace {

// Frees the communicator.
void on(MPI_Comm comm, int sources, int targets) {
  Scene scene;
  scene.comm = comm;
  scene.rank = g_rank;
  scene.pairs = targets;
  scene.sources = sources;
  const bool large = neighbor_calls()[0].run_large != nullptr;
  for (const Way way : ways()) {
    scene.way = way;
    const bool with = way != Way::kNonblocking || g_rank % 2 == 0;
    all_calls(neighbor_calls(), scene, with, false);
    if (large) all_calls(neighbor_calls(), scene, true, true);
  }
  MPI_Comm_free(&comm);
}

}  // namespace

TOPIC(neighborhoods_in_grids) {
  MPI_Comm comm;
  const int line[] = {g_size};
  for (const int periodic : {0, 1}) {
    MPI_Cart_create(MPI_COMM_WORLD, 1, line, &periodic, 0, &comm);
    on(comm, 2, 2);
  }
  const int plane[] = {2, g_size / 2};
  const int round[] = {0, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 2, plane, round, 0, &comm);
  on(comm, 4, 4);
  for (const CollectiveCall& call : neighbor_calls()) {
    for (const Way way : ways()) CHECK(taken_somewhere(call.function(way, false)));
  }
}

TOPIC(neighborhoods_in_graphs) {
  MPI_Comm comm;
  // A ring in which each rank is its own neighbour as well.
  const int sources[] = {(g_rank + g_size - 1) % g_size, g_rank};
  const int targets[] = {(g_rank + 1) % g_size, g_rank};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  on(comm, 2, 2);
  // From rank 0 to all others.
  std::vector<int> others;
  for (int i = 1; i < g_size; ++i) others.push_back(i);
  const int root[] = {0};
  const int in = g_rank == 0 ? 0 : 1, out = g_rank == 0 ? g_size - 1 : 0;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, root, MPI_UNWEIGHTED, out, others.data(),
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  on(comm, in, out);
  // Pairs of ranks.
  std::vector<int> index, edges;
  for (int i = 0; i < g_size; ++i) {
    index.push_back(i + 1);
    edges.push_back(i % 2 == 0 ? i + 1 : i - 1);
  }
  MPI_Graph_create(MPI_COMM_WORLD, g_size, index.data(), edges.data(), 0, &comm);
  on(comm, 1, 1);
}
