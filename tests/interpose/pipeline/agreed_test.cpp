// SPDX-License-Identifier: BSD-3-Clause
//
// The agreement on pipelined messages, on two hosts.
#include <vector>

#include "tests/interpose/harness/harness.hpp"
#include "tests/interpose/pipeline/runs.hpp"

using namespace test;

namespace {

// Whether a message with tag 3 has the bytes that `source` sends, the gaps are untouched, and the
// status has its size.
bool receive(const Runs& runs, int source, MPI_Comm comm) {
  std::vector<char> got = runs.buffer(-1);
  MPI_Status status{};
  MPI_Recv(got.data(), 1, runs.type, source, 3, comm, &status);
  return holds(status, runs.bytes()) && got == runs.buffer(source);
}

}  // namespace

// All ranks have agreed.
TOPIC(pipeline_agreed) {
  CHECK(messages_in_pieces() == 0);
  const Runs runs(1 << 20, 8);
  const int other = g_size - 1 - g_rank;  // in pairs
  const std::vector<char> data = runs.buffer(g_rank);
  MPI_Request request;
  MPI_Isend(data.data(), 1, runs.type, other, 3, MPI_COMM_WORLD, &request);
  CHECK(receive(runs, other, MPI_COMM_WORLD));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(messages_in_pieces() == 1);
}

// On two hosts, on one of which the ranks run without lacuna: the others have found out, and
// messages and new communicators are as ever.
TOPIC(pipeline_left_alone) {
  CHECK(messages_in_pieces() == -1);
  const Runs runs(1 << 20, 8);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int next = (g_rank + 1) % g_size;
  const int last = (g_rank + g_size - 1) % g_size;
  const std::vector<char> data = runs.buffer(g_rank);
  MPI_Request request;
  MPI_Isend(data.data(), 1, runs.type, next, 3, comm, &request);
  CHECK(receive(runs, last, comm));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}
