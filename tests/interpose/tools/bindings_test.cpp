// SPDX-License-Identifier: BSD-3-Clause
//
// Calls from C++ bindings are the program's: they are handled, and never return a token.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"
#include "tests/interpose/tools/like_bindings.hpp"

using namespace test;

TOPIC(bindings) {
  constexpr int kCount = 4096;
  enum { kRecv, kRecvPlain, kWait, kWaitPlain, kProbe, kWays };
  MPI_Datatype type = column(kCount, 3);
  std::vector<double> from(size_t{3} * kCount), to(size_t{3} * kCount);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i);
  for (int way = 0; way < kWays; ++way) {
    context("way " + std::to_string(way));
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
      const auto send = way == kRecv ? bindings_send : MPI_Send;
      CHECK(taken_by("MPI_Send", [&] { send(from.data(), 1, type, 1, 0, MPI_COMM_WORLD); }) == 1);
      continue;
    }
    const bool plain = way == kRecvPlain || way == kWaitPlain;
    const MPI_Datatype as = plain ? MPI_DOUBLE : type;
    const int count = plain ? kCount : 1;
    std::fill(to.begin(), to.end(), -1);
    MPI_Status status;
    if (way == kProbe) {
      bindings_probe(0, 0, MPI_COMM_WORLD, &status);
      CHECK(StatusView(status, MPI_DOUBLE).count == kCount);
    }
    if (way == kWait || way == kWaitPlain) {
      MPI_Request request;
      bindings_irecv(to.data(), count, as, 0, 0, MPI_COMM_WORLD, &request);
      bindings_wait(&request, &status);
    } else {
      bindings_recv(to.data(), count, as, 0, 0, MPI_COMM_WORLD, &status);
    }
    CHECK(StatusView(status, MPI_DOUBLE).count == kCount);
    bool same = true;
    for (size_t i = 0; i < to.size(); ++i) {
      const bool data = plain ? i < kCount : i % 3 == 0;
      same = same && to[i] == (data ? static_cast<double>(plain ? 3 * i : i) : -1);
    }
    CHECK(same);
    context("");
  }
  MPI_Type_free(&type);
}
