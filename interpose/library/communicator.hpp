// SPDX-License-Identifier: BSD-3-Clause
//
// What a collective must know of its communicator: how many ranks data go to or come from, the role
// of this rank, and the neighbours of a topology.
#ifndef LACUNA_INTERPOSE_LIBRARY_COMMUNICATOR_HPP_
#define LACUNA_INTERPOSE_LIBRARY_COMMUNICATOR_HPP_

#include <cstdint>
#include <vector>

#include "mpi/header.hpp"

namespace lacuna {

enum class Role : uint8_t {
  kRoot,
  kOther,
  kNone,  // in an intercommunicator, of the root's group but not the root; or `root` is invalid
};

struct CommInfo {
  bool inter = false;
  int rank = 0;   // in the own group
  int pairs = 0;  // ranks of the group that data go to or come from

  Role role(int root) const {
    if (inter) {
      if (root == MPI_ROOT) return Role::kRoot;
    } else if (root == rank) {
      return Role::kRoot;
    }
    return root >= 0 && root < pairs ? Role::kOther : Role::kNone;
  }
};

// Whether the handle is a communicator. If it is not, the program's error handlers are not called
// here: the program's own MPI call will call them. The check silences error handlers for a moment.
// With threads, whose errors would be lost meanwhile, it is not made, and the answer is yes.
bool is_communicator(MPI_Comm comm);

// Whether its ranks are processes that receive only by MPI's own functions. False for MPICH's
// thread communicators, whose group is that of the threads' processes, and for its stream
// communicators (MPIX_Stream_recv, MPIX_Recv_enqueue).
bool has_plain_ranks(MPI_Comm comm) noexcept;

// For attributes that a duplicate of a communicator does not inherit.
int do_not_copy_attribute(MPI_Comm, int, void*, void*, void*, int* flag) noexcept;

// The group whose ranks are the sources and destinations of messages on `comm`: the remote one of
// an intercommunicator (`inter`). The caller frees it. False: the library refused.
bool group_of_peers(MPI_Comm comm, MPI_Group* group, int* inter) noexcept;

// The communicator whose error handler MPICH calls for an error that belongs to none:
// MPI_COMM_WORLD; for MPICH 5, MPI_COMM_SELF if the program has set a handler there.
MPI_Comm comm_of_unattached_errors();

// False: the library has raised an error, and the program's call must return `code`.
bool query_comm(MPI_Comm comm, CommInfo* group, int* code);

// The neighbours of a topology: where data come from, and where they go to. In a grid some may be
// absent (MPI_PROC_NULL at the border); their parts of the buffers are not touched.
struct Neighbors {
  int sources = 0;
  int targets = 0;
  bool is_known = false;             // else there is no topology, or the query failed
  std::vector<char> absent_sources;  // empty: none
  std::vector<char> absent_targets;
};

// False: as query_comm(). If they are not known, the counts are 0.
bool query_neighbors(MPI_Comm comm, Neighbors* neighbors, int* code);

// Their ranks, MPI_PROC_NULL for those that are absent. False: the query failed.
bool query_neighbor_ranks(MPI_Comm comm, std::vector<int>* sources, std::vector<int>* targets);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_COMMUNICATOR_HPP_
