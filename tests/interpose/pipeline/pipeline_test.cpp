// SPDX-License-Identifier: BSD-3-Clause
//
// Pipelined messages: a token, and the packed data in pieces of up to 32 KiB.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int64_t kPiece = 32 << 10;
constexpr char kGap = 0x5a;

// Runs of `run` bytes, a third of the buffer.
struct Runs {
  Runs(int64_t bytes, int run_bytes) : count(static_cast<int>(bytes / run_bytes)), run(run_bytes) {
    MPI_Type_vector(count, run, 3 * run, MPI_CHAR, &type);
    MPI_Type_commit(&type);
  }
  ~Runs() { MPI_Type_free(&type); }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  int64_t bytes() const { return int64_t{count} * run; }
  std::vector<char> buffer(int salt) const {
    std::vector<char> all(static_cast<size_t>(3 * bytes()), kGap);
    for (int64_t i = 0; salt >= 0 && i < bytes(); ++i)
      all[static_cast<size_t>(i / run * 3 * run + i % run)] = byte(i, salt);
    return all;
  }
  static char byte(int64_t i, int salt) { return static_cast<char>(i * 7 + i / 251 + salt); }

  MPI_Datatype type{};
  int count;
  int run;
};

bool holds(const MPI_Status& status, int64_t bytes) {
  MPI_Count found = -1;
  MPI_Get_elements_x(&status, MPI_BYTE, &found);
  return found == bytes;
}

// Receives in one of several ways: with the gaps of the sender, with others, or none; whether all
// bytes are right.
bool receive(const Runs& sent, int way, int source, int tag, int salt, MPI_Comm comm) {
  MPI_Status status{};
  if (way == 0) {  // blocking, the same type
    std::vector<char> got = sent.buffer(-1);
    MPI_Recv(got.data(), 1, sent.type, source, tag, comm, &status);
    return holds(status, sent.bytes()) && got == sent.buffer(salt);
  }
  std::vector<char> packed(static_cast<size_t>(sent.bytes() + 8), kGap);
  MPI_Request request = MPI_REQUEST_NULL;
  if (way == 1) {  // no gaps, by MPI_Test
    MPI_Irecv(packed.data(), static_cast<int>(sent.bytes()), MPI_CHAR, source, tag, comm, &request);
    for (int done = 0; done == 0;) MPI_Test(&request, &done, &status);
  } else if (way == 2) {  // other gaps, with room for more
    const Runs other(sent.bytes() + 5, 5);
    std::vector<char> got = other.buffer(-1);
    MPI_Irecv(got.data(), 1, other.type, source, tag, comm, &request);
    MPI_Wait(&request, &status);
    for (int64_t i = 0; i < sent.bytes(); ++i)
      packed[static_cast<size_t>(i)] = got[static_cast<size_t>(i / 5 * 15 + i % 5)];
  } else {  // a matched message
    MPI_Message message;
    MPI_Mprobe(source, tag, comm, &message, &status);
    if (!holds(status, sent.bytes())) return false;
    MPI_Mrecv(packed.data(), static_cast<int>(sent.bytes()), MPI_CHAR, &message, &status);
  }
  bool ok = holds(status, sent.bytes());
  for (int64_t i = 0; i < sent.bytes(); ++i)
    ok = ok && packed[static_cast<size_t>(i)] == Runs::byte(i, salt);
  return ok && packed[static_cast<size_t>(sent.bytes())] == kGap;
}

void send(const Runs& runs, int way, int dest, int tag, int salt, MPI_Comm comm) {
  const std::vector<char> data = runs.buffer(salt);
  MPI_Request request = MPI_REQUEST_NULL;
  switch (way) {
    case 0:
      MPI_Send(data.data(), 1, runs.type, dest, tag, comm);
      break;
    case 1:
      MPI_Isend(data.data(), 1, runs.type, dest, tag, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Sendrecv(data.data(), 1, runs.type, dest, tag, nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 0,
                   comm, MPI_STATUS_IGNORE);
  }
}

}  // namespace

TOPIC(pipeline_lengths) {
  const int64_t lengths[] = {2 * kPiece, 2 * kPiece + 8, 3 * kPiece - 8,
                             4 * kPiece, 4 * kPiece + 8, 31 * kPiece + 4 * 8};
  for (const int64_t length : lengths) {
    for (const int run : {8, 4096}) {
      const Runs runs(length, run);
      for (int way = 0; way < 12; ++way) {
        context(std::to_string(length) + " bytes, runs of " + std::to_string(run) + ", way " +
                std::to_string(way));
        if (g_rank == 0) send(runs, way % 3, 1, 1, way, MPI_COMM_WORLD);
        if (g_rank == 1) CHECK(receive(runs, way / 3, 0, 1, way, MPI_COMM_WORLD));
      }
    }
  }
  if (g_rank == 0) CHECK(taken("MPI_Send") > 0 && taken("MPI_Isend") > 0);
}

// Messages of one sender keep their order by tag, whichever is received first; small ones between.
TOPIC(pipeline_order) {
  const Runs large(1 << 20, 16);
  const Runs small(1 << 10, 16);
  constexpr int kMessages = 6;
  if (g_rank == 0) {
    std::vector<std::vector<char>> data;
    std::vector<MPI_Request> requests;
    const auto start = [&](const Runs& runs, int tag, int salt) {
      data.push_back(runs.buffer(salt));
      requests.push_back(MPI_REQUEST_NULL);
      MPI_Isend(data.back().data(), 1, runs.type, 1, tag, MPI_COMM_WORLD, &requests.back());
    };
    for (int i = 0; i < kMessages; ++i) {
      start(large, 1, i);
      start(small, 2, i);
      start(large, 3, 100 + i);
    }
    MPI_Waitall(3 * kMessages, requests.data(), MPI_STATUSES_IGNORE);
  } else if (g_rank == 1) {
    for (int i = 0; i < kMessages; ++i) CHECK(receive(large, i % 4, 0, 3, 100 + i, MPI_COMM_WORLD));
    for (int i = 0; i < kMessages; ++i) CHECK(receive(small, i % 4, 0, 2, i, MPI_COMM_WORLD));
    for (int i = 0; i < kMessages; ++i) CHECK(receive(large, i % 4, 0, 1, i, MPI_COMM_WORLD));
  }
}

// More than a receiver keeps: what does not fit into the window of 32 MiB goes as one message.
TOPIC(pipeline_window) {
  const Runs runs(5 << 20, 64);
  constexpr int kMessages = 9;
  std::vector<std::vector<char>> data;
  std::vector<MPI_Request> requests;
  for (int round = 0; round < 2; ++round) {
    if (g_rank == 0) {
      data.clear();
      requests.assign(kMessages, MPI_REQUEST_NULL);
      for (int i = 0; i < kMessages; ++i) {
        data.push_back(runs.buffer(i + round));
        MPI_Isend(data.back().data(), 1, runs.type, 1, i, MPI_COMM_WORLD,
                  &requests[static_cast<size_t>(i)]);
      }
      MPI_Send(nullptr, 0, MPI_CHAR, 1, 99, MPI_COMM_WORLD);
      MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
    } else if (g_rank == 1) {
      MPI_Recv(nullptr, 0, MPI_CHAR, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = kMessages - 1; i >= 0; --i)
        CHECK(receive(runs, i % 4, 0, i, i + round, MPI_COMM_WORLD));
    }
  }
}

// More messages than there are tags for their pieces, while the first has not been received.
TOPIC(pipeline_many) {
  const Runs first(1 << 17, 16);
  const Runs small(96, 8);
  constexpr int kMessages = 17000;
  if (g_rank == 0) {
    const std::vector<char> data = first.buffer(5);
    MPI_Request request;
    MPI_Isend(data.data(), 1, first.type, 1, 8, MPI_COMM_WORLD, &request);
    for (int i = 0; i < kMessages; ++i) send(small, 0, 1, 9, i, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (g_rank == 1) {
    bool ok = true;
    for (int i = 0; i < kMessages; ++i) ok = receive(small, 0, 0, 9, i, MPI_COMM_WORLD) && ok;
    CHECK(ok);
    CHECK(receive(first, 0, 0, 8, 5, MPI_COMM_WORLD));
  }
}

// Ranks have other numbers in a communicator, and are in the other group of an intercommunicator.
TOPIC(pipeline_on_communicators) {
  const Runs runs(1 << 19, 24);
  MPI_Comm turned, half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -g_rank, &turned);
  const int other = g_size - 1 - g_rank;  // in MPI_COMM_WORLD: the one opposite
  if (other != g_rank) {
    const int there = g_size - 1 - other;
    if (g_rank < other) {
      send(runs, 1, there, 4, g_rank, turned);
      CHECK(receive(runs, 0, there, 4, other, turned));
    } else {
      CHECK(receive(runs, 0, there, 4, other, turned));
      send(runs, 0, there, 4, g_rank, turned);
    }
  }
  MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, g_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - g_rank % 2, 5, &inter);
  int mine = 0;
  int theirs = 0;
  MPI_Comm_rank(inter, &mine);
  MPI_Comm_remote_size(inter, &theirs);
  if (mine < theirs) {
    MPI_Request request;
    const std::vector<char> data = runs.buffer(g_rank % 2);
    MPI_Isend(data.data(), 1, runs.type, mine, 6, inter, &request);
    CHECK(receive(runs, 3, mine, 6, 1 - g_rank % 2, inter));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  MPI_Comm_free(&turned);
}

// Run last: sends whose requests the program has freed complete in MPI_Finalize at the latest.
TOPIC(pipeline_finalize) {
  static const Runs* const runs = new Runs(2 << 20, 8);
  static const std::vector<char>* const data = new std::vector<char>(runs->buffer(3));
  MPI_Request request;
  if (g_rank == 0) {
    MPI_Isend(data->data(), 1, runs->type, 1, 7, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  } else if (g_rank == 1) {
    CHECK(receive(*runs, 0, 0, 7, 3, MPI_COMM_WORLD));
  }
}
