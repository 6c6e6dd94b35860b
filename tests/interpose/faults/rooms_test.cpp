// SPDX-License-Identifier: BSD-3-Clause
//
// Allocations or calls that fail in one rank only, where all ranks of a communicator wait for each
// other: in its first collective, and when ranks query their neighbours.
#include <thread>

#include "tests/interpose/faults/faults.hpp"
#include "tests/interpose/faults/faulty_below.hpp"
#include "tests/interpose/faults/refused_memory.hpp"

using namespace test;

namespace {

// The first collective of a communicator, with faults by `arm` in rank 1 only: it ends, with the
// same data as without lacuna. So do the next one, and messages.
void meet_on_new_communicator(const std::function<void()>& arm,
                              const std::function<void()>& disarm) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Datatype type = new_type();
  Buffer from(type, 1), to(type, g_size), expected(type, g_size);
  from.fill(static_cast<unsigned>(g_rank));
  to.fill(8);
  expected.fill(8);
  lacuna(false);
  MPI_Allgather(from.base(), 1, type, expected.base(), 1, type, MPI_COMM_WORLD);
  lacuna(true);
  if (g_rank == 1) arm();
  MPI_Allgather(from.base(), 1, type, to.base(), 1, type, comm);
  if (g_rank == 1) disarm();
  CHECK(to == expected);
  to.fill(8);
  MPI_Allgather(from.base(), 1, type, to.base(), 1, type, comm);
  CHECK(to == expected);
  MPI_Sendrecv(from.base(), 1, type, other(), 0, to.base(), 1, type, other(), 0, comm,
               MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

}  // namespace

// A rank whose allocation fails does not make the others wait for it in a room.
TOPIC(faults_rooms) {
  find_lacuna();
  for (const bool all : {false, true}) {
    const int64_t rounds = refuse_each(
        "", all, true, 200, [](const Arm& arm) { meet_on_new_communicator(arm, disarm); });
    CHECK(rounds > 1);
  }
}

// Two threads of a rank whose allocations fail, each in the first collective of a communicator:
// what lacuna sends for one must not get into the library's data for the other.
TOPIC(faults_rooms_of_threads) {
  constexpr int kRounds = 60;
  find_lacuna();
  MPI_Datatype type = new_type();
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(type, &lb, &extent);
  for (int round = 0; round < kRounds; ++round) {
    context("round " + std::to_string(round));
    MPI_Comm comms[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, round % 2 == 0 ? 0 : g_rank / 2, -g_rank, &comms[1]);
    const auto meet = [&](MPI_Comm comm) {
      int size = 0;
      MPI_Comm_size(comm, &size);
      Buffer from(type, 1), to(type, size), expected(type, size);
      from.fill(7);  // the same in all
      to.fill(8);
      expected.fill(8);
      for (int i = 0; i < size; ++i) {
        MPI_Sendrecv(from.base(), 1, type, 0, 0, static_cast<char*>(expected.base()) + i * extent,
                     1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      }
      for (int i = 0; i < 3; ++i) MPI_Allgather(from.base(), 1, type, to.base(), 1, type, comm);
      CHECK(to == expected);
    };
    g_all.store(true);
    if (g_rank == 1) g_until.store(0);
    std::thread other([&] { meet(comms[1]); });
    meet(comms[0]);
    other.join();
    disarm();
    for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  }
  MPI_Type_free(&type);
  context("");
  CHECK(anywhere(g_failed.load() > 0));
}

// A failed query of the neighbours must not count as a rank without neighbours.
TOPIC(faults_neighbors) {
  find_lacuna();
  for (const bool all : {false, true}) {
    const int64_t rounds = refuse_each("", all, g_rank == 1, 200, [](const Arm& arm) {
      const int no = 0;
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Cart_create(MPI_COMM_WORLD, 1, &g_size, &no, 0, &comm);
      MPI_Datatype type = new_type();
      Buffer from(type, 1), to(type, 2), expected(type, 2);
      from.fill(static_cast<unsigned>(g_rank));
      to.fill(8);
      expected.fill(8);
      lacuna(false);
      MPI_Neighbor_allgather(from.base(), 1, type, expected.base(), 1, type, comm);
      lacuna(true);
      MPI_Barrier(comm);
      arm();
      MPI_Neighbor_allgather(from.base(), 1, type, to.base(), 1, type, comm);
      disarm();
      CHECK(to == expected);
      MPI_Type_free(&type);
      MPI_Comm_free(&comm);
    });
    CHECK(rounds > 1);
  }
}

// A rank that gets no access to another rank's memory. Both topics need ranks that have not read
// from each other yet. Here: a payload. It is lost, but the program does not get the token instead.
TOPIC(faults_no_access) {
  find_lacuna();
  MPI_Datatype type = column(4096, 3);
  Buffer from(type, 1);
  from.fill(1);
  return_errors(MPI_COMM_WORLD);
  if (g_rank == 2) MPI_Send(from.base(), 1, type, 3, 1, MPI_COMM_WORLD);
  if (g_rank == 3) {
    std::vector<double> got(4096);
    refuse_access(true);
    const int code =
        MPI_Recv(got.data(), 4096, MPI_DOUBLE, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    refuse_access(false);
    CHECK(class_of(code) == MPI_ERR_OTHER);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

// In a collective through shared memory: it ends in all ranks, and the next ones bring the same
// bytes as without lacuna.
TOPIC(faults_rooms_no_access) {
  constexpr int kElements = 50;
  find_lacuna();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return_errors(comm);
  MPI_Datatype type = new_type();
  Buffer from(type, kElements * g_size), to(type, kElements * g_size);
  Buffer expected(type, kElements * g_size);
  from.fill(static_cast<unsigned>(g_rank));
  to.fill(8);
  expected.fill(8);
  lacuna(false);
  MPI_Alltoall(from.base(), kElements, type, expected.base(), kElements, type, MPI_COMM_WORLD);
  lacuna(true);
  if (g_rank == 1) refuse_access(true);
  const int code = MPI_Alltoall(from.base(), kElements, type, to.base(), kElements, type, comm);
  refuse_access(false);
  CHECK(class_of(code) == MPI_ERR_OTHER);
  for (int i = 0; i < 12; ++i) {
    to.fill(8);
    MPI_Alltoall(from.base(), kElements, type, to.base(), kElements, type, comm);
    CHECK(to == expected);
  }
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

// The collective that makes a room fails in one rank only, which then has no room.
TOPIC(faults_rooms_refused) {
  for (int i = 0; i < 3; ++i) {
    context("communicator " + std::to_string(i));
    meet_on_new_communicator([] { faulty_refusal = kFailAllgather; },
                             [] { faulty_refusal = kRefuseNothing; });
  }
  context("");
  CHECK(anywhere(faulty_refused > 0));
}
