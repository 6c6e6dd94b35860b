// SPDX-License-Identifier: BSD-3-Clause
//
// Where threads may probe and receive at once: by different tags of one sender, and out of error
// handlers.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kMessages = 1500;  // more than the direct path has room for: some are packed
constexpr int kMost = 300;

// Each message has a length of its own, so that a probe that reports another message is found.
int length_of(int message) { return 100 + message % (kMost - 100); }

enum class Way { kProbe, kIprobe, kMprobe, kImprobe };

struct Prober {
  int tag;
  Way way;
  MPI_Datatype one;  // a double and a gap
  int wrong = 0;

  void run() {
    std::vector<double> got(2 * kMost);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Status status{};
      MPI_Message message = MPI_MESSAGE_NULL;
      int found = 0;
      switch (way) {
        case Way::kProbe:
          MPI_Probe(0, tag, MPI_COMM_WORLD, &status);
          break;
        case Way::kIprobe:
          while (found == 0) MPI_Iprobe(0, tag, MPI_COMM_WORLD, &found, &status);
          break;
        case Way::kMprobe:
          MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, &status);
          break;
        case Way::kImprobe:
          while (found == 0) MPI_Improbe(0, tag, MPI_COMM_WORLD, &found, &message, &status);
          break;
      }
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      got[0] = got[1] = -1;
      if (message != MPI_MESSAGE_NULL) {
        MPI_Mrecv(got.data(), kMost, one, &message, &status);
      } else {
        MPI_Recv(got.data(), kMost, one, 0, tag, MPI_COMM_WORLD, &status);
      }
      const int length = length_of(i);
      const bool right = bytes == 8 * length && got[0] == tag + i && got[1] == -1 &&
                         got[2 * static_cast<size_t>(length) - 2] == tag + i + length - 1;
      wrong += right ? 0 : 1;
    }
  }
};

void send_all(MPI_Datatype one, const std::vector<int>& tags) {
  std::vector<double> data(2 * kMost, -2);
  for (int i = 0; i < kMessages; ++i) {
    for (const int tag : tags) {
      for (int j = 0; j < kMost; ++j) data[2 * static_cast<size_t>(j)] = tag + i + j;
      MPI_Send(data.data(), length_of(i), one, 1, tag, MPI_COMM_WORLD);
    }
  }
}

}  // namespace

TOPIC(direct_probers) {
  MPI_Datatype element;
  MPI_Datatype one;
  MPI_Type_dup(MPI_DOUBLE, &element);
  MPI_Type_create_resized(element, 0, 16, &one);
  MPI_Type_commit(&one);
  MPI_Type_free(&element);
  for (const auto& [a, b] : {std::pair{Way::kProbe, Way::kIprobe},
                             {Way::kMprobe, Way::kIprobe},
                             {Way::kMprobe, Way::kImprobe},
                             {Way::kProbe, Way::kMprobe}}) {
    if (g_rank == 0) send_all(one, {5000, 7000});
    if (g_rank == 1) {
      Prober first{5000, a, one};
      Prober second{7000, b, one};
      std::thread other([&] { second.run(); });
      first.run();
      other.join();
      context("ways " + std::to_string(static_cast<int>(a)) + " and " +
              std::to_string(static_cast<int>(b)));
      CHECK(first.wrong == 0);
      CHECK(second.wrong == 0);
      context("");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&one);
}

namespace {

bool g_reacts = false;

void react(MPI_Comm*, int*, ...) {
  if (!std::exchange(g_reacts, false)) return;
  int flag = 0;
  int got = 0;
  MPI_Request request;
  MPI_Iprobe(MPI_ANY_SOURCE, 30000, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 30000, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

// Error handlers that probe and receive themselves, out of a receive and a probe of threads.
TOPIC(direct_handlers_in_threads) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(react, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  std::vector<double> data(10);
  MPI_Request request;
  int flag = 0;
  // After a handler that returns, the library's call may succeed: then nothing is received.
  for (int way = 0; way < 6; ++way) {
    g_reacts = true;
    if (way == 0) MPI_Irecv(data.data(), 10, MPI_DOUBLE, g_size, 1, comm, &request);
    if (way == 1) MPI_Recv(data.data(), 10, MPI_DOUBLE, 0, -7, comm, MPI_STATUS_IGNORE);
    if (way == 2) MPI_Iprobe(g_size, 1, comm, &flag, MPI_STATUS_IGNORE);
    if (way >= 3) {
      const int to = way == 3 ? g_size : 1 - g_rank, tag = way == 4 ? -7 : 1;
      MPI_Sendrecv(data.data(), way == 5 ? -1 : 1, MPI_DOUBLE, to, tag, &data[1], 1, MPI_DOUBLE,
                   1 - g_rank, 1, comm, MPI_STATUS_IGNORE);
    }
    CHECK(!g_reacts);
  }
  int got = -1;
  MPI_Sendrecv(&g_rank, 1, MPI_INT, 1 - g_rank, 1, &got, 1, MPI_INT, 1 - g_rank, 1, comm,
               MPI_STATUS_IGNORE);
  CHECK(got == 1 - g_rank);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}
