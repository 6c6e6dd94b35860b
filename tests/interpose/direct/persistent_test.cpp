// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests by the direct path. Each start of a send sends the data of that moment, and
// completes whatever the receiver does.
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/interpose/harness/complete.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

// Longer than any library's eager limit.
constexpr int kCount = 1 << 16;
constexpr int kTag = 5;

void fill(std::vector<double>* data, int salt) {
  for (size_t i = 0; i < data->size(); ++i) (*data)[i] = static_cast<double>(i) + 1e6 * salt;
}

bool is_sent(const std::vector<double>& got, int salt) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != static_cast<double>(2 * i) + 1e6 * salt) return false;
  }
  return true;
}

// The next message of rank 0.
bool comes(int salt) {
  std::vector<double> got(kCount);
  MPI_Status status;
  MPI_Probe(0, kTag, MPI_COMM_WORLD, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &status);
  return count == kCount && is_sent(got, salt);
}

}  // namespace

// Nothing is received before all sends are complete; all ways to complete them.
TOPIC(direct_persistent) {
  MPI_Datatype type = column(kCount, 2);
  constexpr int kWays = static_cast<int>(How::kGetStatus) + 1;
  if (g_rank == 0) {
    std::vector<double> data(static_cast<size_t>(kCount) * 2);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Send_init(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD, &request);
    for (int way = 0; way < kWays; ++way) {
      context("way " + std::to_string(way));
      fill(&data, way);
      CHECK(MPI_Start(&request) == MPI_SUCCESS);
      int completed = 0;
      std::vector<MPI_Request> requests = {request};
      complete(static_cast<How>(way), &requests, false,
               [&](int, const MPI_Status*) { ++completed; });
      CHECK(completed == 1);
      fill(&data, -1);
    }
    context("cancelled, which is too late");
    fill(&data, kWays);
    MPI_Start(&request);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    MPI_Status status;
    int cancelled = 1;
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled == 0);
    context("with others, and freed under way");
    int number = 7;
    MPI_Request both[2] = {request, MPI_REQUEST_NULL};
    MPI_Send_init(&number, 1, MPI_INT, 1, kTag + 1, MPI_COMM_WORLD, &both[1]);
    fill(&data, kWays + 1);
    CHECK(MPI_Startall(2, both) == MPI_SUCCESS);
    MPI_Request_free(&both[0]);
    CHECK(both[0] == MPI_REQUEST_NULL);
    MPI_Wait(&both[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&both[1]);
    CHECK(taken("MPI_Send_init") == 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) {
    for (int i = 0; i < kWays + 2; ++i) {
      context("message " + std::to_string(i));
      CHECK(comes(i));
    }
    int number = 0;
    MPI_Recv(&number, 1, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(number == 7);
  }
  context("");
  MPI_Type_free(&type);
}

// More than fit into an arena, received one after the other: some are sent by the library's
// request.
TOPIC(direct_persistent_room) {
  MPI_Datatype type = column(kCount, 2);
  constexpr int kMessages = 40;
  std::vector<double> data(static_cast<size_t>(kCount) * 2);
  std::vector<MPI_Request> requests(kMessages, MPI_REQUEST_NULL);
  if (g_rank == 0) {
    fill(&data, 3);
    for (MPI_Request& request : requests)
      MPI_Send_init(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 2; ++round) {
      MPI_Startall(kMessages, requests.data());
      MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  } else if (g_rank == 1) {
    for (int i = 0; i < 2 * kMessages; ++i) CHECK(comes(3));
  }
  MPI_Type_free(&type);
}

// A token does not overtake a message that the library sends and that was started before it.
TOPIC(direct_persistent_order) {
  MPI_Datatype type = column(kCount, 2);
  constexpr int kMessages = 4;
  if (g_rank == 0) {
    std::vector<double> data(static_cast<size_t>(kCount) * 2);
    fill(&data, 0);
    const std::vector<double> plain(kCount, -1);
    MPI_Request requests[kMessages];
    for (int i = 0; i < kMessages; ++i) {
      if (i % 2 == 0) {
        MPI_Send_init(plain.data(), kCount, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Send_init(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD, &requests[i]);
      }
    }
    CHECK(MPI_Startall(kMessages, requests) == MPI_SUCCESS);
    MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
  if (g_rank == 1) {
    for (int i = 0; i < kMessages; ++i) {
      context("message " + std::to_string(i));
      std::vector<double> got(kCount);
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(got[1] == (i % 2 == 0 ? -1 : 2));
    }
  }
  context("");
  MPI_Type_free(&type);
}

namespace {

int g_heard = 0;

// An error handler that calls MPI, even while lacuna keeps other threads out of the library's
// queue.
void probe_in_handler(MPI_Comm*, int*, ...) {
  int flag = 0;
  ++g_heard;
  MPI_Iprobe(0, kTag + 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

// A flag in shared memory: reading it makes no MPI progress.
class Flag {
 public:
  Flag() {
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_allocate_shared(g_rank == 0 ? sizeof(int) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &flag_,
                            &window_);
    MPI_Win_shared_query(window_, 0, &bytes, &unit, &flag_);
    if (g_rank == 0) *flag_ = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    MPI_Win_sync(window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~Flag() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

  void set() { __atomic_store_n(flag_, 1, __ATOMIC_RELEASE); }
  bool comes() {
    for (int ms = 0; ms < 20000; ++ms) {
      if (__atomic_load_n(flag_, __ATOMIC_ACQUIRE) != 0) return true;
      usleep(1000);
    }
    return false;
  }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  int* flag_ = nullptr;
};

}  // namespace

// A persistent receive of a message that a probe holds: the start does not wait, and an error of
// the message is reported once, at completion.
TOPIC(direct_persistent_held) {
  MPI_Datatype type = column(kCount, 2);
  std::vector<double> data(static_cast<size_t>(kCount) * 2);
  fill(&data, 4);
  std::vector<double> got(kCount);
  MPI_Request request = MPI_REQUEST_NULL;
  {
    Flag started;
    if (g_rank == 0) {
      MPI_Request sent[2];
      MPI_Issend(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD, &sent[0]);
      MPI_Isend(data.data(), 1, type, 1, kTag + 1, MPI_COMM_WORLD, &sent[1]);
      CHECK(started.comes());
      MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
    } else if (g_rank == 1) {
      MPI_Recv_init(got.data(), kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &request);
      MPI_Probe(0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Start(&request);
      started.set();
      MPI_Status status;
      int count = 0;
      MPI_Wait(&request, &status);
      MPI_Get_count(&status, MPI_DOUBLE, &count);
      CHECK(count == kCount && is_sent(got, 4));
      CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == kTag);
      MPI_Request_free(&request);
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(probe_in_handler, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);  // hears of matched receives in MPICH 4.0.2
  for (const int plain : {200, 10}) {                // the second is as long as a token
    if (g_rank == 0) {
      MPI_Send(data.data(), plain, MPI_DOUBLE, 1, kTag, comm);
      MPI_Send(data.data(), 1, type, 1, kTag + 1, comm);
    } else if (g_rank == 1) {
      MPI_Recv_init(got.data(), plain / 2, MPI_DOUBLE, 0, kTag, comm, &request);
      MPI_Probe(0, kTag + 1, comm, MPI_STATUS_IGNORE);
      g_heard = 0;
      CHECK(MPI_Start(&request) == MPI_SUCCESS);
      CHECK(g_heard == 0);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(g_heard == 1);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, kTag + 1, comm, MPI_STATUS_IGNORE);
      CHECK(is_sent(got, 4));
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
}
