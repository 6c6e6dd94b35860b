// SPDX-License-Identifier: BSD-3-Clause
//
// A tool after lacuna in the search order sees what goes to the library: the next symbol, not PMPI.
#include <algorithm>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

extern "C" int tool_sends;
extern "C" int tool_last_count;
extern "C" int tool_commits;
extern "C" unsigned tool_isend_us;

TOPIC(tool_below) {
  const int before = tool_commits;  // lacuna's own, in MPI_Init
  MPI_Datatype type = column(16);
  CHECK(tool_commits == before + 1);
  std::vector<double> matrix(256, 1), line(16, 0);
  if (g_rank == 0) {
    CHECK(taken_by("MPI_Send", [&] { MPI_Send(matrix.data(), 1, type, 1, 0, MPI_COMM_WORLD); }) ==
          1);
    CHECK(tool_sends == 1 && tool_last_count == 16);
    MPI_Send(line.data(), 7, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    CHECK(tool_sends == 2 && tool_last_count == 7);
  } else {
    MPI_Recv(line.data(), 16, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(line[15] == 1);
    MPI_Recv(line.data(), 16, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&type);
}

// Both tokens have arrived before either rank packs its payload, and each rank meets the other's in
// a freed receive as it sends. A rank that waited for the other's payload first would never pack
// its own.
TOPIC(tool_below_promises) {
  constexpr int kCount = 1 << 16;
  MPI_Datatype type = column(kCount, 2);
  const std::vector<double> sent(2 * kCount, g_rank + 1);
  std::vector<double> received(2 * kCount, -1);
  const int other = 1 - g_rank;
  for (int round = 0; round < 3; ++round) {
    MPI_Request request;
    MPI_Irecv(received.data(), 1, type, other, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    tool_isend_us = 50'000;
    MPI_Isend(sent.data(), 1, type, other, 0, MPI_COMM_WORLD, &request);
    tool_isend_us = 0;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const volatile double& last = received[2 * kCount - 2];
    int flag = 0;
    while (last != other + 1) MPI_Iprobe(other, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(received[0] == other + 1 && received[1] == -1);
    std::fill(received.begin(), received.end(), -1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&type);
}
