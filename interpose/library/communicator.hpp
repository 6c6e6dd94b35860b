// SPDX-License-Identifier: BSD-3-Clause
//
// Who takes part in a collective, as far as lacuna must know: how many pairs each side has, and
// what this rank is to it.
#ifndef LACUNA_INTERPOSE_LIBRARY_COMMUNICATOR_HPP_
#define LACUNA_INTERPOSE_LIBRARY_COMMUNICATOR_HPP_

#include <cstdint>
#include <vector>

#include "mpi/header.hpp"

namespace lacuna {

enum class Role : uint8_t {
  kRoot,
  kOther,
  kNone,  // of the root's group in an intercommunicator, but not the root; or the root is no rank
};

struct Group {
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

// Whether this is a communicator. The program's error handlers do not hear of one that is not: they
// will by the call that names it. Where there are threads, whose errors nobody would hear
// meanwhile, it is not asked, and the answer is yes.
bool is_communicator(MPI_Comm comm);

// Whether its ranks are processes, each of which receives by MPI's own functions alone. Not so in
// MPICH's thread communicators, whose group is that of the threads' processes, nor in its stream
// communicators (MPIX_Stream_recv, MPIX_Recv_enqueue).
bool has_plain_ranks(MPI_Comm comm) noexcept;

// Whose error handler MPICH calls where an error is of no communicator: the world's, but 5.0.2 that
// of this process alone where somebody has set one there.
MPI_Comm hears_of_none();

// False: the library has raised its error, and `code` is the program's.
bool ask_group(MPI_Comm comm, Group* group, int* code);

// The neighbours of a topology: where data come from, and where they go to. In a grid some may be
// absent (MPI_PROC_NULL at the border); their parts of the buffers are not touched.
struct Neighbors {
  int sources = 0;
  int targets = 0;
  bool is_known = false;             // else there is no topology, or it could not be asked
  std::vector<char> absent_sources;  // empty: none
  std::vector<char> absent_targets;
};

// False: as ask_group. Where they are not known, there are none.
bool ask_neighbors(MPI_Comm comm, Neighbors* neighbors, int* code);

// Who they are, MPI_PROC_NULL for those that are absent. False: they cannot be asked.
bool ask_neighbor_ranks(MPI_Comm comm, std::vector<int>* sources, std::vector<int>* targets);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_COMMUNICATOR_HPP_
