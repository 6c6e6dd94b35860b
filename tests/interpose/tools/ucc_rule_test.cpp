// SPDX-License-Identifier: BSD-3-Clause
//
// With a component below that decides by the types of one rank whether it takes a collective
// (ucc_rule.cpp), lacuna does not change these types.
#include "tests/interpose/harness/harness.hpp"

using namespace test;

extern "C" int ucc_disagreements;

// All ranks have gaps; rank 1 has turned lacuna off, so it does not pack them.
TOPIC(ucc_rule) {
  constexpr int kCount = 4096;
  MPI_Datatype type = column(kCount, 3);
  const auto size = static_cast<size_t>(3 * kCount * g_size);
  std::vector<double> sent(size, g_rank + 1), received(size, -1);
  if (g_rank == 1) MPI_Pcontrol(0);
  MPI_Alltoall(sent.data(), 1, type, received.data(), 1, type, MPI_COMM_WORLD);
  CHECK(received[0] == 1);
  MPI_Allgather(sent.data(), 1, type, received.data(), 1, type, MPI_COMM_WORLD);
  MPI_Bcast(received.data(), 1, type, 0, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Ialltoall(sent.data(), 1, type, received.data(), 1, type, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(ucc_disagreements == 0);
  if (g_rank == 1) MPI_Pcontrol(1);
  int position = 0;  // something is handled
  std::vector<double> packed(kCount);
  MPI_Pack(sent.data(), 1, type, packed.data(), kCount * 8, &position, MPI_COMM_WORLD);
  MPI_Type_free(&type);
}
