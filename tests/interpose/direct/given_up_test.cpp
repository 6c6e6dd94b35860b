// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that send through shared memory and fail: what has been sent stays where it is until it is
// received, and what has not been sent is freed.
#include <vector>

#include "tests/interpose/direct/numbers.hpp"
#include "tests/interpose/harness/arena_view.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kBadTag = -5;

void free_all(MPI_Comm comm, MPI_Datatype type) {
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
}

MPI_Comm new_communicator() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return_errors(comm);
  return comm;
}

}  // namespace

// The receiving half is too small: by then the sending half has been done, and its payload may not
// have been read yet.
TOPIC(direct_sendrecv_truncated) {
  MPI_Datatype type = column(kCount, 3);
  const MPI_Comm comm = new_communicator();
  for (const bool probes : {false, true}) {
    context(probes ? "probed before" : "");
    if (g_rank == 1) MPI_Send(numbers(2).data(), 1, type, 0, 1, comm);
    if (g_rank == 0) {
      std::vector<double> got(kCount / 2);
      if (probes) MPI_Probe(1, 1, comm, MPI_STATUS_IGNORE);
      const int before = handled_errors();
      MPI_Sendrecv(numbers(1).data(), 1, type, 1, 2, got.data(), kCount / 2, MPI_DOUBLE, 1, 1, comm,
                   MPI_STATUS_IGNORE);
      CHECK(handled_errors() == before + 1);
    }
    // What comes into a receive of so few bytes is too long whether lacuna sent it or not.
    if (g_rank == 1) MPI_Send(numbers(2).data(), 16, MPI_DOUBLE, 0, 3, comm);
    if (g_rank == 0) {
      std::vector<double> got(8);
      if (probes) MPI_Probe(1, 3, comm, MPI_STATUS_IGNORE);
      const int before = handled_errors();
      MPI_Sendrecv(numbers(3).data(), 1, type, 1, 4, got.data(), 8, MPI_DOUBLE, 1, 3, comm,
                   MPI_STATUS_IGNORE);
      CHECK(handled_errors() == before + 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (const int tag : {2, 4}) {
      std::vector<double> got(kCount, -1);
      MPI_Status status;
      if (g_rank != 1) continue;
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, tag, comm, &status);
      CHECK(bytes_in(status) == kBytes);
      CHECK(is_packed(got, tag - 1));
    }
  }
  context("");
  free_all(comm, type);
}

// More of them than there are regions: they keep none.
TOPIC(direct_failed_sends) {
  constexpr int kTimes = 300;
  MPI_Datatype type = column(kCount, 3);
  const MPI_Comm comm = new_communicator();
  const std::vector<double> data = numbers(1);
  std::vector<double> got(kCount, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  if (g_rank == 1) MPI_Send(numbers(5).data(), 1, type, 0, 1, comm);
  if (g_rank == 0) MPI_Probe(1, 1, comm, MPI_STATUS_IGNORE);
  for (int way = 0; g_rank == 0 && way < 3; ++way) {
    context("way " + std::to_string(way));
    const int before = handled_errors();
    for (int i = 0; i < kTimes; ++i) {
      if (way == 0) MPI_Send(data.data(), 1, type, 1, kBadTag, comm);
      if (way == 1) MPI_Isend(data.data(), 1, type, 1, kBadTag, comm, &request);
      if (way == 2) {
        MPI_Sendrecv(data.data(), 1, type, 1, kBadTag, got.data(), kCount, MPI_DOUBLE, 1, 1, comm,
                     MPI_STATUS_IGNORE);
      }
    }
    CHECK(handled_errors() == before + kTimes);
    const std::vector<double> sent = numbers(10 + way);
    MPI_Send(sent.data(), 1, type, 1, 2, comm);
    if (g_direct) {
      const double first[] = {sent[0], sent[3], sent[6], sent[9]};
      CHECK(lies_in_arena(first, sizeof(first)));
    }
  }
  context("");
  // What was to be received is still there.
  if (g_rank == 0) {
    MPI_Recv(got.data(), kCount, MPI_DOUBLE, 1, 1, comm, MPI_STATUS_IGNORE);
    CHECK(is_packed(got, 5));
  }
  for (int way = 0; g_rank == 1 && way < 3; ++way) {
    MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, 2, comm, MPI_STATUS_IGNORE);
    CHECK(is_packed(got, 10 + way));
  }
  free_all(comm, type);
}
