// SPDX-License-Identifier: BSD-3-Clause
//
// Collective calls between nodes, in pieces of up to 32 KiB.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr char kGap = 0x5a;

char byte(int64_t i, int salt) { return static_cast<char>(i * 7 + i / 251 + salt); }

// `bytes` in runs of `run` bytes (the last one may be shorter), each run at three times its packed
// offset; no gaps if `run` is 0. With the data of all pairs in one buffer, each begins at `at`.
struct Part {
  Part(int64_t wanted, int run_bytes, int64_t begin) : bytes(wanted), run(run_bytes), at(begin) {
    if (run == 0) {
      MPI_Type_contiguous(static_cast<int>(bytes), MPI_CHAR, &type);
    } else {
      std::vector<int> lengths;
      std::vector<MPI_Aint> places;
      for (int64_t i = 0; i < bytes; i += run) {
        lengths.push_back(static_cast<int>(std::min<int64_t>(run, bytes - i)));
        places.push_back(3 * i);
      }
      MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                               MPI_CHAR, &type);
    }
    MPI_Type_commit(&type);
  }
  ~Part() { MPI_Type_free(&type); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  static int64_t room(int64_t bytes) { return 3 * bytes + 64; }
  int64_t place(int64_t i) const { return at + (run == 0 ? i : i / run * 3 * run + i % run); }
  void fill(std::vector<char>* all, int salt) const {
    for (int64_t i = 0; i < bytes; ++i) (*all)[static_cast<size_t>(place(i))] = byte(i, salt);
  }

  int64_t bytes;
  int run;
  int64_t at;
  MPI_Datatype type{};
};

// What one rank sends to or receives from others.
struct Side {
  void add(int64_t bytes, int run) {
    parts.push_back(std::make_unique<Part>(bytes, run, end));
    counts.push_back(bytes > 0 ? 1 : 0);
    places.push_back(static_cast<int>(end));
    aints.push_back(end);
    types.push_back(parts.back()->type);
    end += Part::room(bytes);
  }
  std::vector<char> buffer() const { return std::vector<char>(static_cast<size_t>(end), kGap); }

  std::vector<std::unique_ptr<Part>> parts;
  std::vector<int> counts;
  std::vector<int> places;
  std::vector<MPI_Aint> aints;
  std::vector<MPI_Datatype> types;
  int64_t end = 0;
};

// Bytes from one rank to another: none, less than a piece, whole pieces, many.
int64_t bytes_between(int from, int to, int round) {
  constexpr int64_t kBytes[] = {1 << 20, 0, 96, 4 * (32 << 10), 700001, 32 << 10, 65537};
  return kBytes[static_cast<size_t>(from * 5 + to * 3 + round) % std::size(kBytes)];
}
int salt_of(int from, int to, int round) { return 31 * from + 7 * to + round; }

}  // namespace

// Each pair has other sizes and other types at either end. Rank 1 turns lacuna off now and then.
TOPIC(pipeline_alltoallw) {
  for (int round = 0; round < 14; ++round) {
    context("round " + std::to_string(round));
    Side out;
    Side in;
    for (int rank = 0; rank < g_size; ++rank) {
      out.add(bytes_between(g_rank, rank, round), (round + rank) % 4 == 0 ? 0 : 8);
      in.add(bytes_between(rank, g_rank, round), (round + rank) % 3 == 0 ? 0 : 12);
    }
    std::vector<char> sent = out.buffer();
    std::vector<char> wanted = in.buffer();
    for (int rank = 0; rank < g_size; ++rank) {
      const auto at = static_cast<size_t>(rank);
      out.parts[at]->fill(&sent, salt_of(g_rank, rank, round));
      in.parts[at]->fill(&wanted, salt_of(rank, g_rank, round));
    }
    std::vector<char> got = in.buffer();
    if (g_rank == 1) MPI_Pcontrol(round % 4 == 3 ? 0 : 1);
    MPI_Alltoallw(sent.data(), out.counts.data(), out.places.data(), out.types.data(), got.data(),
                  in.counts.data(), in.places.data(), in.types.data(), MPI_COMM_WORLD);
    if (g_rank == 1) MPI_Pcontrol(1);
    CHECK(got == wanted);
  }
  CHECK(taken("MPI_Alltoallw") > 0);
}

// On communicators of some ranks, and of the same in another order.
TOPIC(pipeline_alltoall_on_communicators) {
  MPI_Comm turned, half;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -g_rank, &turned);
  MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, g_rank, &half);
  for (MPI_Comm comm : {turned, half}) {
    for (int round = 0; round < 3; ++round) {
      int rank = 0;
      int size = 0;
      MPI_Comm_rank(comm, &rank);
      MPI_Comm_size(comm, &size);
      Side out;
      Side in;
      constexpr int64_t kBytes = 150000;
      for (int other = 0; other < size; ++other) {
        out.add(kBytes, 16);
        in.add(kBytes, 24);
      }
      std::vector<char> sent = out.buffer();
      std::vector<char> wanted = in.buffer();
      for (int other = 0; other < size; ++other) {
        out.parts[static_cast<size_t>(other)]->fill(&sent, salt_of(rank, other, round));
        in.parts[static_cast<size_t>(other)]->fill(&wanted, salt_of(other, rank, round));
      }
      std::vector<char> got = in.buffer();
      MPI_Alltoallw(sent.data(), out.counts.data(), out.places.data(), out.types.data(), got.data(),
                    in.counts.data(), in.places.data(), in.types.data(), comm);
      CHECK(got == wanted);
    }
  }
  MPI_Comm_free(&turned);
  MPI_Comm_free(&half);
}

// A ring: each rank sends to the next and to itself.
TOPIC(pipeline_neighbors) {
  const int next = (g_rank + 1) % g_size;
  const int before = (g_rank + g_size - 1) % g_size;
  const int targets[] = {next, g_rank};
  const int sources[] = {before, g_rank};
  const int neighbors = g_size > 1 ? 2 : 1;
  MPI_Comm ring;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, neighbors, sources, MPI_UNWEIGHTED, neighbors,
                                 targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  for (int round = 0; round < 7; ++round) {
    Side out;
    Side in;
    for (int i = 0; i < neighbors; ++i) {
      out.add(bytes_between(g_rank, targets[i], round), 8);
      in.add(bytes_between(sources[i], g_rank, round), round % 2 == 0 ? 0 : 40);
    }
    std::vector<char> sent = out.buffer();
    std::vector<char> wanted = in.buffer();
    for (int i = 0; i < neighbors; ++i) {
      const auto at = static_cast<size_t>(i);
      out.parts[at]->fill(&sent, salt_of(g_rank, targets[i], round));
      in.parts[at]->fill(&wanted, salt_of(sources[i], g_rank, round));
    }
    std::vector<char> got = in.buffer();
    MPI_Neighbor_alltoallw(sent.data(), out.counts.data(), out.aints.data(), out.types.data(),
                           got.data(), in.counts.data(), in.aints.data(), in.types.data(), ring);
    CHECK(got == wanted);
  }
  MPI_Comm_free(&ring);
}

// Those that do not go in pieces are packed whole, also where the tables would leave them to the
// library, as it packs whole itself. (The tables are of messages between ranks of a node.)
TOPIC(pipeline_packed_collectives) {
  constexpr int kDoubles = 16 << 10;
  MPI_Datatype column;
  MPI_Datatype type;
  MPI_Type_vector(kDoubles, 1, 2, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, kDoubles * MPI_Aint{16}, &type);
  MPI_Type_commit(&type);
  const auto size = static_cast<size_t>(g_size);
  const std::vector<double> sent(2 * kDoubles, g_rank + 1);
  std::vector<double> got(size * 2 * kDoubles, -1);
  std::vector<double> wanted = got;
  for (size_t i = 0; i < wanted.size(); i += 2)
    wanted[i] = static_cast<double>(i / (2 * kDoubles)) + 1;
  MPI_Allgather(sent.data(), 1, type, got.data(), 1, type, MPI_COMM_WORLD);
  CHECK(taken("MPI_Allgather") == 1);
  CHECK(got == wanted);
  MPI_Scatter(got.data(), 1, type, got.data() + (g_rank == 0 ? 2 * kDoubles : 0), 1, type, 0,
              MPI_COMM_WORLD);
  CHECK(taken("MPI_Scatter") == 1);
  CHECK(got[g_rank == 0 ? 2 * kDoubles : 0] == g_rank + 1);
  MPI_Type_free(&column);
  MPI_Type_free(&type);
}
