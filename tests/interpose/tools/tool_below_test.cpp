// SPDX-License-Identifier: BSD-3-Clause
//
// A tool after lacuna in the search order sees what goes to the library: the next symbol, not PMPI.
#include "tests/interpose/harness/harness.hpp"

using namespace test;

extern "C" int tool_sends;
extern "C" int tool_last_count;
extern "C" int tool_commits;

TOPIC(tool_below) {
  MPI_Datatype type = column(16);
  CHECK(tool_commits == 1);
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
