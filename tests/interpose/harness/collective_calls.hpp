// SPDX-License-Identifier: BSD-3-Clause
//
// The collectives as a list. Each uses the same two buffers and the same description, in its three
// ways (blocking, nonblocking, persistent) and with int or large counts, so that native results and
// lacuna's can be compared.
#ifndef LACUNA_TESTS_INTERPOSE_HARNESS_COLLECTIVE_CALLS_HPP_
#define LACUNA_TESTS_INTERPOSE_HARNESS_COLLECTIVE_CALLS_HPP_

#include <span>
#include <string>

#include "tests/interpose/harness/harness.hpp"

namespace test {

enum class Way { kBlocking, kNonblocking, kPersistent };
// The ways that work in this library.
std::span<const Way> ways();

// What a call is made of. `send` and `recv` have room for room(scene) elements.
struct Scene {
  MPI_Comm comm = MPI_COMM_WORLD;
  Way way = Way::kBlocking;
  bool inter = false;
  int rank = 0;
  int pairs = 0;    // of the group that data go to or come from; neighbours in a topology
  int sources = 0;  // neighbours that data come from
  int root = 0;     // the argument of this rank
  bool is_root = false;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Datatype same = MPI_DATATYPE_NULL;  // another handle of the same layout
  int count = 0;
  void* send = nullptr;
  void* recv = nullptr;
};
int room(const Scene& scene);
Scene scene_of(MPI_Comm comm);

struct CollectiveCall {
  const char* name;                                            // "Bcast"
  const char* how;                                             // "", "in place"
  bool inter;                                                  // allowed on an intercommunicator
  int (*run)(const Scene& scene, MPI_Request* request);        // which a blocking call leaves alone
  int (*run_large)(const Scene& scene, MPI_Request* request);  // nullptr: the library has none
  std::string function(Way way, bool large) const;
};
std::span<const CollectiveCall> collective_calls();
// Those of topologies.
std::span<const CollectiveCall> neighbor_calls();

// collective_scenes.cpp
// Runs a call on new buffers, natively and then with lacuna in the ranks where `with` is set, and
// compares all bytes of both buffers. Requests are completed in a different way each time.
void same_bytes(const CollectiveCall& call, Scene scene, bool with, bool large);
// All calls of a list with all shapes.
void all_calls(std::span<const CollectiveCall> calls, Scene scene, bool with, bool large);
// All ranks, and rank 0 is the root.
Scene world(Way way = Way::kBlocking);
// Whether lacuna has handled a call in some rank.
bool taken_somewhere(const std::string& function);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_HARNESS_COLLECTIVE_CALLS_HPP_
