// SPDX-License-Identifier: BSD-3-Clause
//
// Queries of communicators. If the output was not written, the query failed, whatever it returns:
// MPI_SUCCESS may also follow an error that the program's own error handler has seen.
#include "interpose/library/communicator.hpp"

#include <iterator>

#include "interpose/library/error_handlers.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {
namespace {

constexpr int kUnwritten = -123456789;  // no rank and no constant of any ABI

bool ask(int (*question)(MPI_Comm, int*), MPI_Comm comm, int* answer, int* code) {
  *answer = kUnwritten;
  *code = question(comm, answer);
  return *code == MPI_SUCCESS && *answer != kUnwritten;
}

// Each dimension has two neighbours, first the one before and then the one behind, as sources and
// as targets alike.
bool ask_grid(MPI_Comm comm, Neighbors* neighbors) {
  const Next& next = next_functions();
  int dimensions = 0;
  int code = 0;
  if (!ask(next.MPI_Cartdim_get, comm, &dimensions, &code) || dimensions < 0) return false;
  bool border = false;
  for (int i = 0; i < dimensions; ++i) {
    int before = kUnwritten;
    int behind = kUnwritten;
    if (next.MPI_Cart_shift(comm, i, 1, &before, &behind) != MPI_SUCCESS || before == kUnwritten ||
        behind == kUnwritten) {
      return false;
    }
    for (const int rank : {before, behind}) {
      neighbors->absent_sources.push_back(rank == MPI_PROC_NULL ? 1 : 0);
      border = border || rank == MPI_PROC_NULL;
    }
  }
  neighbors->sources = neighbors->targets = 2 * dimensions;
  if (!border) neighbors->absent_sources.clear();
  neighbors->absent_targets = neighbors->absent_sources;
  return true;
}

bool ask_graph(MPI_Comm comm, Neighbors* neighbors) {
  int rank = 0;
  int code = 0;
  int degree = kUnwritten;
  if (!ask(next_functions().MPI_Comm_rank, comm, &rank, &code) ||
      next_functions().MPI_Graph_neighbors_count(comm, rank, &degree) != MPI_SUCCESS ||
      degree < 0) {
    return false;
  }
  neighbors->sources = neighbors->targets = degree;
  return true;
}

bool ask_dist_graph(MPI_Comm comm, Neighbors* neighbors) {
  int weighted = 0;
  neighbors->sources = neighbors->targets = kUnwritten;
  return next_functions().MPI_Dist_graph_neighbors_count(
             comm, &neighbors->sources, &neighbors->targets, &weighted) == MPI_SUCCESS &&
         neighbors->sources >= 0 && neighbors->targets >= 0;
}

}  // namespace

bool is_communicator(MPI_Comm comm) {
  if (g_gate.threads) return true;
  if (comm == MPI_COMM_NULL) return false;
  // A fatal handler ends the job here; without the query, the program's own call would end it a
  // moment later.
  const SilencedErrors silence(false);
  int size = 0;
  int code = 0;
  return ask(next_functions().MPI_Comm_size, comm, &size, &code);
}

bool has_plain_ranks([[maybe_unused]] MPI_Comm comm) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  using TestFn = int (*)(MPI_Comm, int*);
  using StreamFn = int (*)(MPI_Comm, int, int*);
  constexpr int kNoStream = 0x3c000000;  // MPIX_STREAM_NULL
  static const auto has_threads =
      reinterpret_cast<TestFn>(mpi_data_symbol("MPIX_Comm_test_threadcomm"));
  static const auto get_stream =
      reinterpret_cast<StreamFn>(mpi_data_symbol("MPIX_Comm_get_stream"));
  int threads = 0;
  if (has_threads != nullptr && has_threads(comm, &threads) == MPI_SUCCESS && threads != 0)
    return false;
  int stream = kNoStream;
  if (get_stream != nullptr && get_stream(comm, 0, &stream) == MPI_SUCCESS && stream != kNoStream)
    return false;
#endif
  return true;
}

int do_not_copy_attribute(MPI_Comm, int, void*, void*, void*, int* flag) noexcept {
  *flag = 0;
  return MPI_SUCCESS;
}

MPI_Comm comm_of_unattached_errors() {
  const Runtime& rt = runtime();
  if (rt.flavour != Flavour::kMpich || rt.mpich_major < 5) return rt.comm_world;
  MPI_Errhandler handler = rt.errors_are_fatal;
  const int code = next_functions().MPI_Comm_get_errhandler(rt.comm_self, &handler);
  if (code != MPI_SUCCESS || handler == rt.errors_are_fatal) return rt.comm_world;
  free_handler(&handler);
  return rt.comm_self;
}

bool query_comm(MPI_Comm comm, CommInfo* group, int* code) {
  const Next& next = next_functions();
  int inter = 0;
  if (!ask(next.MPI_Comm_test_inter, comm, &inter, code) ||
      !ask(next.MPI_Comm_rank, comm, &group->rank, code)) {
    return false;
  }
  group->inter = inter != 0;
  return ask(group->inter ? next.MPI_Comm_remote_size : next.MPI_Comm_size, comm, &group->pairs,
             code);
}

bool query_neighbors(MPI_Comm comm, Neighbors* neighbors, int* code) {
  int topology = MPI_UNDEFINED;
  if (!ask(next_functions().MPI_Topo_test, comm, &topology, code)) return false;
  bool known = false;
  try {
    if (topology == MPI_CART) known = ask_grid(comm, neighbors);
    if (topology == MPI_GRAPH) known = ask_graph(comm, neighbors);
    if (topology == MPI_DIST_GRAPH) known = ask_dist_graph(comm, neighbors);
  } catch (...) {
  }
  if (!known) *neighbors = Neighbors{};
  neighbors->is_known = known;
  return true;
}

bool query_neighbor_ranks(MPI_Comm comm, std::vector<int>* sources, std::vector<int>* targets) {
  const Next& next = next_functions();
  int topology = MPI_UNDEFINED;
  int code = 0;
  Neighbors known;
  if (!ask(next.MPI_Topo_test, comm, &topology, &code) || !query_neighbors(comm, &known, &code) ||
      !known.is_known)
    return false;
  const auto some = [](int n) { return static_cast<size_t>(n) + 1; };  // so that data() is not null
  sources->resize(some(known.sources), MPI_PROC_NULL);
  targets->resize(some(known.targets), MPI_PROC_NULL);
  bool ok = false;
  if (topology == MPI_CART) {
    ok = true;
    for (int i = 0; ok && i < known.sources / 2; ++i) {
      int* pair = sources->data() + 2 * i;
      ok = next.MPI_Cart_shift(comm, i, 1, &pair[0], &pair[1]) == MPI_SUCCESS;
    }
    *targets = *sources;
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    ok = ask(next.MPI_Comm_rank, comm, &rank, &code) &&
         next.MPI_Graph_neighbors(comm, rank, known.sources, sources->data()) == MPI_SUCCESS;
    *targets = *sources;
  } else if (topology == MPI_DIST_GRAPH) {
    std::vector<int> of_sources(sources->size());
    std::vector<int> of_targets(targets->size());
    ok = next.MPI_Dist_graph_neighbors(comm, known.sources, sources->data(), of_sources.data(),
                                       known.targets, targets->data(),
                                       of_targets.data()) == MPI_SUCCESS;
  }
  sources->pop_back();
  targets->pop_back();
  return ok;
}

bool group_of_peers(MPI_Comm comm, MPI_Group* group, int* inter) noexcept {
  const Next& next = next_functions();
  if (next.MPI_Comm_test_inter(comm, inter) != MPI_SUCCESS) return false;
  return (*inter != 0 ? next.MPI_Comm_remote_group(comm, group)
                      : next.MPI_Comm_group(comm, group)) == MPI_SUCCESS;
}

}  // namespace lacuna
