// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking collectives: the data are there when the request completes, whichever call completes
// it.
#include "tests/interpose/harness/collective_calls.hpp"

using namespace test;

TOPIC(nonblocking_collectives_same_bytes) {
  all_calls(collective_calls(), world(Way::kNonblocking), true, false);
  for (const CollectiveCall& call : collective_calls())
    CHECK(taken_somewhere(call.function(Way::kNonblocking, false)));
}

TOPIC(nonblocking_collectives_large_forms) {
  const bool large = collective_calls()[0].run_large != nullptr;
  all_calls(collective_calls(), world(Way::kNonblocking), true, large);
}

TOPIC(nonblocking_collectives_mixed_job) {
  all_calls(collective_calls(), world(Way::kNonblocking), g_rank % 2 == 0, false);
}

// All kinds active at once, with messages between them, and the types freed before the data arrive.
TOPIC(nonblocking_collectives_at_once) {
  std::vector<Buffer> results[2];
  for (const bool on : {false, true}) {
    lacuna(on);
    MPI_Datatype type = column(200);
    Scene scene = world(Way::kNonblocking);
    scene.count = 1;
    MPI_Type_dup(type, &scene.type);
    MPI_Type_dup(type, &scene.same);
    const auto calls = collective_calls();
    std::vector<Buffer> send, recv;
    send.reserve(calls.size());
    recv.reserve(calls.size());
    std::vector<MPI_Request> requests(calls.size() + 2, MPI_REQUEST_NULL);
    const int right = (g_rank + 1) % g_size, left = (g_rank + g_size - 1) % g_size;
    Buffer to(type, 1), from(type, 1);
    from.fill(static_cast<unsigned>(g_rank));
    to.fill(77);
    MPI_Irecv(to.base(), 1, type, left, 0, MPI_COMM_WORLD, &requests[calls.size()]);
    for (size_t i = 0; i < calls.size(); ++i) {
      send.emplace_back(type, room(scene));
      recv.emplace_back(type, room(scene));
      send[i].fill(static_cast<unsigned>(g_rank) + 1);
      recv[i].fill(static_cast<unsigned>(g_rank) + 101);
      scene.send = send[i].base();
      scene.recv = recv[i].base();
      CHECK(calls[i].run(scene, &requests[i]) == MPI_SUCCESS);
    }
    MPI_Isend(from.base(), 1, type, right, 0, MPI_COMM_WORLD, &requests[calls.size() + 1]);
    MPI_Type_free(&scene.type);
    MPI_Type_free(&scene.same);
    lacuna(true);  // calls that lacuna has begun are finished by it
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    results[on] = std::move(recv);
    results[on].push_back(to);
    MPI_Type_free(&type);
  }
  CHECK(results[0] == results[1]);
}

// On one rank: complete at once, and with a request whose handle other calls get, too.
TOPIC(nonblocking_collectives_alone) {
  Scene scene = scene_of(MPI_COMM_SELF);
  scene.way = Way::kNonblocking;
  scene.is_root = true;
  all_calls(collective_calls(), scene, true, false);
}
