// SPDX-License-Identifier: BSD-3-Clause
//
// Payloads of the direct path that are too large for the caches that both ranks share.
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

// Payloads that go through a ring while the receiver follows. Receivers: one that waits already,
// one that comes late, one that reads more at a time than the ring holds, one with a short buffer.
TOPIC(direct_ring) {
  constexpr int kEdge = 640;
  constexpr int kMany = kEdge * kEdge;
  constexpr size_t kPart = kMany / 2 + 3;
  MPI_Datatype type = column(kMany, 3);
  MPI_Datatype one_column = column(kEdge, kEdge), shifted, transposed;
  MPI_Type_create_resized(one_column, 0, 8, &shifted);
  MPI_Type_contiguous(kEdge, shifted, &transposed);
  MPI_Type_commit(&transposed);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return_errors(comm);
  std::vector<double> memory(size_t{kMany} * 3);
  const auto sent = [](int way, size_t i) { return static_cast<double>(way) + 3.0 * double(i); };
  for (int way = 0; way < 8; ++way) {
    context("way " + std::to_string(way));
    for (size_t i = 0; i < memory.size(); i += 3) memory[i] = sent(way, i / 3);
    MPI_Barrier(comm);
    if (g_rank == 0) {
      if (way % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      MPI_Send(memory.data(), 1, type, 1, 5, comm);
    } else if (g_rank == 1) {
      std::vector<double> got(kMany, -1);
      if (way % 4 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const bool turns = way % 4 == 2;
      const bool cuts = way % 4 == 3;
      const int code = turns ? MPI_Recv(got.data(), 1, transposed, 0, 5, comm, MPI_STATUS_IGNORE)
                             : MPI_Recv(got.data(), cuts ? int{kPart} : kMany, MPI_DOUBLE, 0, 5,
                                        comm, MPI_STATUS_IGNORE);
      CHECK((code != MPI_SUCCESS) == cuts);
      bool same = true;
      for (size_t i = 0; i < (cuts ? kPart : got.size()); ++i) {
        const size_t place = turns ? i % kEdge * kEdge + i / kEdge : i;
        same = same && got[place] == sent(way, i);
      }
      CHECK(same);
      if (cuts) CHECK(got[kPart] == -1);
    }
  }
  MPI_Comm_free(&comm);
  for (MPI_Datatype* made : {&type, &one_column, &shifted, &transposed}) MPI_Type_free(made);
}
