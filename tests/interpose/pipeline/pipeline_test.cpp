// SPDX-License-Identifier: BSD-3-Clause
//
// Pipelined messages: a token, and the packed data in pieces of up to 32 KiB.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"
#include "tests/interpose/pipeline/runs.hpp"

using namespace test;

namespace {

// Newer than MPI 3.1.
const auto Isendrecv =
    newer<int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                  MPI_Comm, MPI_Request*)>("MPI_Isendrecv");

constexpr int64_t kPiece = 32 << 10;
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
  } else if (way == 4) {  // a persistent request, with gaps
    std::vector<char> got = sent.buffer(-1);
    MPI_Recv_init(got.data(), 1, sent.type, source, tag, comm, &request);
    MPI_Start(&request);
    for (int done = 0; done == 0;) MPI_Test(&request, &done, &status);
    MPI_Request_free(&request);
    return holds(status, sent.bytes()) && got == sent.buffer(salt);
  } else if (way == 5 && Isendrecv != nullptr) {
    std::vector<char> got = sent.buffer(-1);
    Isendrecv(nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 0, got.data(), 1, sent.type, source, tag, comm,
              &request);
    for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return got == sent.buffer(salt);
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
    case 2:
      MPI_Send_init(data.data(), 1, runs.type, dest, tag, comm, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      break;
    case 3:
      if (Isendrecv != nullptr) {
        Isendrecv(data.data(), 1, runs.type, dest, tag, nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 0,
                  comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
      }
      [[fallthrough]];
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
      for (int way = 0; way < 30; ++way) {
        context(std::to_string(length) + " bytes, runs of " + std::to_string(run) + ", way " +
                std::to_string(way));
        if (g_rank == 0) send(runs, way % 5, 1, 1, way, MPI_COMM_WORLD);
        if (g_rank == 1) CHECK(receive(runs, way / 5, 0, 1, way, MPI_COMM_WORLD));
      }
    }
  }
  if (g_rank == 0) CHECK(taken("MPI_Send") > 0 && taken("MPI_Isend") > 0);
}

namespace {

// A call that does not wait, on one receive (and on a request that is complete, for those that take
// several and report any). Returns whether the receive is complete.
enum class Asking { kTest, kTestall, kTestany, kTestsome, kGetStatus, kWaitany, kWaitsome };
constexpr int kAskings = 7;

bool ask(Asking asking, MPI_Request* requests) {
  int done = 0;
  int index = MPI_UNDEFINED;
  int few[2] = {MPI_UNDEFINED, MPI_UNDEFINED};
  if (asking == Asking::kTest) MPI_Test(requests, &done, MPI_STATUS_IGNORE);
  if (asking == Asking::kTestall) MPI_Testall(1, requests, &done, MPI_STATUSES_IGNORE);
  if (asking == Asking::kGetStatus) MPI_Request_get_status(*requests, &done, MPI_STATUS_IGNORE);
  if (asking == Asking::kTestany) {
    MPI_Testany(1, requests, &index, &done, MPI_STATUS_IGNORE);
    CHECK(done == (index == 0));
  }
  if (asking == Asking::kTestsome) {
    MPI_Testsome(1, requests, &done, few, MPI_STATUSES_IGNORE);
    CHECK(done == 0 || (done == 1 && few[0] == 0));
  }
  if (asking < Asking::kWaitany) return done != 0;
  if (asking == Asking::kWaitany) {
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == 0 || index == 1);
  } else {
    MPI_Waitsome(2, requests, &done, few, MPI_STATUSES_IGNORE);
    CHECK(done == 1 || done == 2);
  }
  return requests[0] == MPI_REQUEST_NULL;
}

}  // namespace

// No call that need not wait for a message waits for its pieces: the sender makes no MPI call, and
// so sends no more of them, until the receiver has gone on.
TOPIC(pipeline_stalled_sender) {
  const Runs runs(6 << 20, 64);
  char file[] = "/tmp/lacuna-stalled-XXXXXX";
  if (g_rank == 1) close(mkstemp(file));
  if (g_size > 1) MPI_Bcast(file, sizeof(file), MPI_CHAR, 1, MPI_COMM_WORLD);
  for (int i = 0; i < 2 * kAskings; ++i) {
    const auto asking = static_cast<Asking>(i % kAskings);
    const bool has_gaps = i >= kAskings;
    context("call " + std::to_string(i));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (g_rank == 0) {
      const std::vector<char> data = runs.buffer(i);
      MPI_Isend(data.data(), 1, runs.type, 1, 1, MPI_COMM_WORLD, requests);
      while (access(file, F_OK) == 0) usleep(100);
      MPI_Wait(requests, MPI_STATUS_IGNORE);
      MPI_Send(nullptr, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      std::vector<char> got = runs.buffer(-1);
      std::vector<char> dense(static_cast<size_t>(runs.bytes()));
      if (has_gaps)
        MPI_Irecv(got.data(), 1, runs.type, 0, 1, MPI_COMM_WORLD, requests);
      else
        MPI_Irecv(dense.data(), static_cast<int>(runs.bytes()), MPI_CHAR, 0, 1, MPI_COMM_WORLD,
                  requests);
      MPI_Irecv(nullptr, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD, requests + 1);
      MPI_Send(nullptr, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
      bool is_complete = false;
      for (int tries = 0; !is_complete && tries < 200; ++tries) {
        is_complete = ask(asking, requests);
        if (asking >= Asking::kWaitany && requests[1] == MPI_REQUEST_NULL) break;
        usleep(50);
      }
      unlink(file);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (int64_t at = 0; !has_gaps && at < runs.bytes(); ++at)
        got[static_cast<size_t>(at / runs.run * 3 * runs.run + at % runs.run)] =
            dense[static_cast<size_t>(at)];
      CHECK(got == runs.buffer(i));
      MPI_Recv(nullptr, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      close(open(file, O_CREAT | O_WRONLY, 0600));
    }
  }
  if (g_rank == 1) unlink(file);
}

// A persistent receive that a pipelined message may come to is still cancelled.
TOPIC(pipeline_cancelled_receive) {
  if (g_rank != 1) return;
  const Runs runs(1 << 20, 64);
  std::vector<char> got = runs.buffer(-1);
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  MPI_Recv_init(got.data(), 1, runs.type, 0, 77, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled != 0);
  }
  MPI_Request_free(&request);
  CHECK(got == runs.buffer(-1));
}

// The error of a request is raised once, by the call that completes it; not by lacuna's look at the
// request before, whose error MPICH 5 raises on MPI_COMM_SELF.
TOPIC(pipeline_failed_receive) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return_errors(comm);
  return_errors(MPI_COMM_WORLD);  // where MPICH 4 and Intel MPI raise it
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  constexpr int kShort = 100;
  const Runs runs(kShort, 4);
  for (const bool has_gaps : {false, true}) {
    std::vector<char> data(3 * kShort, 1);
    if (g_rank == 0) MPI_Send(data.data(), 2 * kShort, MPI_CHAR, 1, 1, comm);
    if (g_rank == 1) {
      MPI_Request request;
      const int before = handled_errors();
      MPI_Irecv(data.data(), has_gaps ? 1 : kShort, has_gaps ? runs.type : MPI_CHAR, 0, 1, comm,
                &request);
      for (int done = 0; request != MPI_REQUEST_NULL;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(handled_errors() == before + 1);
    }
  }
  MPI_Comm_free(&comm);
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
    for (int i = 0; i < kMessages; ++i) CHECK(receive(large, i % 6, 0, 3, 100 + i, MPI_COMM_WORLD));
    for (int i = 0; i < kMessages; ++i) CHECK(receive(small, i % 4, 0, 2, i, MPI_COMM_WORLD));
    for (int i = 0; i < kMessages; ++i) CHECK(receive(large, i % 6, 0, 1, i, MPI_COMM_WORLD));
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
