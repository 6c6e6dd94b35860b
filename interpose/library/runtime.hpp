// SPDX-License-Identifier: BSD-3-Clause
//
// Runtime: what lacuna learns about the MPI library at MPI_Init and holds until MPI_Finalize.
// Read-only in between, so that any thread may read it; valid wherever a gate was open.
#ifndef LACUNA_INTERPOSE_LIBRARY_RUNTIME_HPP_
#define LACUNA_INTERPOSE_LIBRARY_RUNTIME_HPP_

#include "interpose/policy/table.hpp"
#include "mpi/functions.hpp"
#include "mpi/predefined.hpp"

namespace lacuna {

struct Runtime {
  MpiFunctions mpi;
  const PredefinedTypes* predefined = nullptr;

  // Handles that the code needs again and again; in Open MPI's ABI each costs a symbol lookup.
  MPI_Comm comm_world;
  MPI_Comm comm_self;
  MPI_Datatype datatype_null;
  MPI_Datatype byte;
  MPI_Datatype packed;
  MPI_Request request_null;
  MPI_Message message_null;
  MPI_Message message_no_proc;
  MPI_Win win_null;
  MPI_Errhandler errors_are_fatal;
  MPI_Errhandler errors_return;

  Flavour flavour = Flavour::kOther;
  int mpich_major = 0;  // MPICH's version
  const Table* table = nullptr;
  const Rulebook* messages = nullptr;  // the rules of that table for this job
  bool always = false;                 // LACUNA_ALWAYS
  int rank = 0;                        // in MPI_COMM_WORLD, for log and report
  int size = 1;                        // of MPI_COMM_WORLD
  bool spawned = false;                // by MPI_Comm_spawn
  bool on_one_node = false;            // all ranks of MPI_COMM_WORLD are
  bool outlives_failures = false;      // the job may go on after ranks have failed (ULFM)
  char library[64] = "";               // its name and version
  // A component is loaded that decides by the types of one rank whether it takes a collective, and
  // hangs where ranks decide differently (UCC, HCOLL: ucc#1300). So packed data must not change
  // types.
  bool has_type_component = false;
  bool nonblocking = false;  // all completions go through our wrappers
  bool one_sided = false;    // and all synchronisations of windows

  int type_keyval;      // the attribute that ties a TypeRecord to its type
  MPI_Comm probe_comm;  // a private copy of MPI_COMM_SELF that returns errors: for queries whose
                        // errors the program must not see
};

const Runtime& runtime() noexcept;

// On and off by MPI_Pcontrol, within what the options allow.
void switch_on(bool on) noexcept;
// Adds `change` to the number of the program's live MPI sessions.
void count_sessions(int change) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_RUNTIME_HPP_
