// SPDX-License-Identifier: BSD-3-Clause
//
// Callbacks that communicate while another thread does the same. The library may hold a lock of its
// own around them (Intel MPI: those of generalized requests). So a callback must not wait for a
// lock whose holder waits for the library's.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kRounds = 1500;

void (*g_work)() = nullptr;

int no_status(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  return MPI_Status_set_cancelled(status, 0);
}
int work_and_free(void*) {
  g_work();
  return MPI_SUCCESS;
}
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

// `work` in callbacks of this thread, and at the same time in another thread.
void work_in_both(void (*work)()) {
  g_work = work;
  std::atomic<bool> stops{false};
  std::thread other([&] {
    while (!stops) work();
  });
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request request;
    MPI_Grequest_start(no_status, work_and_free, cancel_nothing, nullptr, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  stops = true;
  other.join();
}

std::atomic<int> g_wrong{0};

void receive() {
  static std::atomic<int> tags{0};
  const int tag = tags++ % 30000;
  int from = 1000 + tag, to = 0;
  MPI_Request request;
  MPI_Irecv(&to, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
  MPI_Send(&from, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  g_wrong += to != from;
}

void receive_new_type() {
  MPI_Datatype type = column(500, 2);
  static thread_local double data[1000];
  MPI_Request request;
  MPI_Recv_init(data, 1, type, 0, 0, MPI_COMM_SELF, &request);
  MPI_Request_free(&request);
  MPI_Type_free(&type);
}

void broadcast_on_new_communicator() {
  MPI_Datatype type = column(500, 2);
  static thread_local double data[1000];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Bcast(data, 1, type, 0, comm);
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
}

}  // namespace

TOPIC(threads_callback_receives) {
  work_in_both(receive);
  CHECK(g_wrong == 0);
  receive_new_type();  // lacuna takes part in it
}

TOPIC(threads_callback_new_types) { work_in_both(receive_new_type); }

TOPIC(threads_callback_new_communicators) {
  work_in_both(broadcast_on_new_communicator);
  receive_new_type();
}
