// SPDX-License-Identifier: BSD-3-Clause
//
// A tool in the program itself, before lacuna in the search order, that wraps MPI_Wait alone and
// calls PMPI: lacuna cannot see those completions, so it must decline nonblocking calls.
#include "tests/interpose/harness/harness.hpp"

using namespace test;

static int g_waits = 0;

extern "C" __attribute__((visibility("default"))) int MPI_Wait(MPI_Request* request,
                                                               MPI_Status* status) {
  ++g_waits;
  return PMPI_Wait(request, status);
}

TOPIC(tool_above) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1), to(type, 1);
  from.fill(1);
  to.fill(1 + static_cast<unsigned>(g_rank));
  MPI_Request requests[2];
  MPI_Irecv(to.base(), 1, type, 1 - g_rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(from.base(), 1, type, 1 - g_rank, 0, MPI_COMM_WORLD, &requests[1]);
  for (MPI_Request& request : requests) MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(g_waits == 2);
  CHECK(taken("MPI_Irecv") == 0 && taken("MPI_Isend") == 0);
  Buffer expected(type, 1);
  expected.fill(1 + static_cast<unsigned>(g_rank));
  CHECK(taken_by("MPI_Sendrecv", [&] {
          MPI_Sendrecv(from.base(), 1, type, 1 - g_rank, 1, expected.base(), 1, type, 1 - g_rank, 1,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }) == 1);
  CHECK(to == expected);
  MPI_Type_free(&type);
}
