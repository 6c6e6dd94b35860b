// SPDX-License-Identifier: BSD-3-Clause
//
// How much may be sent in pieces before it is received: shares that receivers grant. Run with
// LACUNA_PIPELINE_MB=1, where no rank has a share from the beginning, and four
// ranks.
#include <algorithm>
#include <vector>

#include "tests/interpose/harness/harness.hpp"
#include "tests/interpose/pipeline/runs.hpp"

using namespace test;

namespace {

constexpr int kTag = 4;

// All others send rank 0 a message, so long that two fit into 1 MiB, and one into the share that a
// rank can get of it. Returns whether this rank's went in pieces.
bool send_to_rank_0(const Runs& runs, int round) {
  const int64_t before = messages_in_pieces();
  if (g_rank == 0) {
    for (int source = 1; source < g_size; ++source) {
      std::vector<char> got = runs.buffer(-1);
      MPI_Status status{};
      MPI_Recv(got.data(), 1, runs.type, source, kTag, MPI_COMM_WORLD, &status);
      CHECK(holds(status, runs.bytes()) && got == runs.buffer(round + source));
    }
  } else {
    const std::vector<char> data = runs.buffer(round + g_rank);
    MPI_Send(data.data(), 1, runs.type, 0, kTag, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return messages_in_pieces() > before;
}

// How many ranks did so in the last of many rounds; the most in any. Ends early with `enough`.
struct InPieces {
  int last = 0;
  int most = 0;
};
InPieces count_in_pieces(const Runs& runs, int rounds, int enough) {
  InPieces found;
  for (int round = 0; round < rounds && found.last < enough; ++round) {
    const int mine = send_to_rank_0(runs, round) ? 1 : 0;
    MPI_Allreduce(&mine, &found.last, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    found.most = std::max(found.most, found.last);
  }
  return found;
}

}  // namespace

// A rank that asks gets a share, as long as there is memory left, and another one gets what it
// returns.
TOPIC(pipeline_shares) {
  CHECK(messages_in_pieces() >= 0);
  const Runs runs(450 << 10, 64);
  CHECK(count_in_pieces(runs, 1, 3).last == 0);
  CHECK(count_in_pieces(runs, 1000, 2).last == 2);
  CHECK(count_in_pieces(runs, 30, 3).most == 2);
  const int64_t before = messages_in_pieces();
  const bool has_share = send_to_rank_0(runs, 0);
  // Those that have a share send many messages to others.
  const Runs small(96, 8);
  const std::vector<char> data = small.buffer(g_rank);
  std::vector<char> got = small.buffer(-1);
  const int others = g_size - 1;
  for (int i = 0; g_rank > 0 && i < 9000; ++i) {
    MPI_Sendrecv(data.data(), 1, small.type, g_rank % others + 1, kTag, got.data(), 1, small.type,
                 (g_rank + others - 2) % others + 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CHECK(g_rank == 0 || messages_in_pieces() > before + 4096);
  MPI_Barrier(MPI_COMM_WORLD);
  // The one that had none has one now: it alone sends.
  int is_in_pieces = 0;
  for (int round = 0; round < 1000 && is_in_pieces == 0; ++round) {
    const int64_t count = messages_in_pieces();
    if (g_rank > 0 && !has_share)
      MPI_Send(runs.buffer(round).data(), 1, runs.type, 0, kTag, MPI_COMM_WORLD);
    const int mine = messages_in_pieces() > count ? 1 : 0;
    if (g_rank == 0) {
      std::vector<char> all = runs.buffer(-1);
      MPI_Recv(all.data(), 1, runs.type, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(all == runs.buffer(round));
    }
    MPI_Allreduce(&mine, &is_in_pieces, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  CHECK(is_in_pieces == 1);
}
