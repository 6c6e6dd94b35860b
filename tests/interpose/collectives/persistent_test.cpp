// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent collectives: packed anew at each start, unpacked at each completion.
#include "tests/interpose/harness/collective_calls.hpp"

#if !defined(LACUNA_MPI_FAMILY_OMPI) || OMPI_MAJOR_VERSION >= 5

using namespace test;

TOPIC(persistent_collectives_same_bytes) {
  all_calls(collective_calls(), world(Way::kPersistent), true, false);
  for (const CollectiveCall& call : collective_calls())
    CHECK(taken_somewhere(call.function(Way::kPersistent, false)));
}

TOPIC(persistent_collectives_large_forms) {
  const bool large = collective_calls()[0].run_large != nullptr;
  all_calls(collective_calls(), world(Way::kPersistent), true, large);
}

TOPIC(persistent_collectives_mixed_job) {
  all_calls(collective_calls(), world(Way::kPersistent), g_rank % 2 == 0, false);
}

TOPIC(persistent_collectives_alone) {
  Scene scene = scene_of(MPI_COMM_SELF);
  scene.way = Way::kPersistent;
  scene.is_root = true;
  all_calls(collective_calls(), scene, true, false);
}

// Two requests of one kind, started together, the second made while the first is active. Open MPI
// 5.0.11 reads types that the program has freed: there they are freed after the requests.
TOPIC(persistent_collectives_at_once) {
  std::vector<Buffer> results[2];
  for (const bool on : {false, true}) {
    lacuna(on);
    MPI_Datatype type = column(200);
    MPI_Datatype freed;
    MPI_Type_dup(type, &freed);
    Buffer one[2] = {{type, 1}, {type, 1}}, all[2] = {{type, g_size}, {type, g_size}};
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i) {
      CHECK(MPI_Allgather_init(one[i].base(), 1, freed, all[i].base(), 1, freed, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &requests[i]) == MPI_SUCCESS);
      one[i].fill(static_cast<unsigned>(g_rank + i));
      all[i].fill(200);
      if (i == 0) CHECK(MPI_Start(&requests[0]) == MPI_SUCCESS);
    }
#if !defined(LACUNA_MPI_FAMILY_OMPI)
    MPI_Type_free(&freed);
#endif
    CHECK(MPI_Start(&requests[1]) == MPI_SUCCESS);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (unsigned round = 0; round < 5; ++round) {
      for (unsigned i = 0; i < 2; ++i) one[i].fill(static_cast<unsigned>(g_rank) + 7 * round + i);
      CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (const Buffer& buffer : all) results[on].push_back(buffer);
    }
    for (MPI_Request& request : requests) CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    if (freed != MPI_DATATYPE_NULL) MPI_Type_free(&freed);
    MPI_Type_free(&type);
  }
  lacuna(true);
  CHECK(results[0] == results[1]);
}

#endif
