// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_THREAD_MULTIPLE: threads share types, make and free their own, and complete requests in all
// ways at the same time.
#include <pthread.h>

#include <chrono>
#include <thread>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kThreads = 4;
constexpr int kN = 24;

struct Worker {
  int id;
  MPI_Datatype shared;
  bool right = true;

  void messages(int round) {
    const int other = 1 - g_rank;
    const int tag = 100 * id;
    MPI_Datatype own;
    const int stride = 2 + (id + round) % 5;
    MPI_Type_vector(kN, 1, stride, MPI_DOUBLE, &own);
    MPI_Type_commit(&own);
    std::vector<double> from(kN * kN), to_shared(kN * kN, -1), to_own(kN * 8, -1), line(kN);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + 1000 * id + round;
    MPI_Request requests[4];
    MPI_Irecv(to_shared.data(), 1, shared, other, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(to_own.data(), 1, own, other, tag + 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(from.data(), 1, shared, other, tag, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(from.data(), 1, own, other, tag + 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Type_free(&own);
    switch ((id + round) % 4) {
      case 0:
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        break;
      case 1:
        for (int i = 0, index; i < 4; ++i) MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
        break;
      case 2:
        for (int flag = 0; flag == 0;) MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
        break;
      default:
        for (MPI_Request& request : requests) {
          for (int flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
    }
    MPI_Sendrecv(from.data(), 1, shared, other, tag + 2, line.data(), kN, MPI_DOUBLE, other,
                 tag + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    persistent(round);
    for (int i = 0; i < kN; ++i) {
      const size_t at = static_cast<size_t>(i);
      right = right && to_shared[at * kN] == from[at * kN] &&
              to_own[at * static_cast<size_t>(stride)] == from[at * static_cast<size_t>(stride)];
      right = right && line[at] == from[at * kN];
    }
    right = right && to_shared[1] == -1 && to_own[1] == -1;
  }

  void persistent(int round) {
    const int other = 1 - g_rank;
    std::vector<double> from(kN * kN), to(kN * kN, -1);
    MPI_Request requests[2];
    MPI_Recv_init(to.data(), 1, shared, other, 100 * id + 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(from.data(), 1, shared, other, 100 * id + 3, MPI_COMM_WORLD, &requests[1]);
    for (int turn = 0; turn < 2; ++turn) {
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + turn + round;
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (size_t i = 0; i < kN; ++i) right = right && to[i * kN] == from[i * kN];
    }
    right = right && to[1] == -1;
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }

  void packs(int round) {
    MPI_Datatype own;
    const int stride = 2 + round % 7;
    MPI_Type_vector(kN, 1, stride, MPI_DOUBLE, &own);
    MPI_Type_commit(&own);
    std::vector<double> from(kN * kN), to(2 * kN);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i);
    int position = 0;
    MPI_Pack(from.data(), 1, own, to.data(), 2 * kN * 8, &position, MPI_COMM_WORLD);
    MPI_Pack(from.data(), 1, shared, to.data(), 2 * kN * 8, &position, MPI_COMM_WORLD);
    MPI_Type_free(&own);
    right = right && position == 2 * kN * 8;
    for (int i = 0; i < kN; ++i) {
      right = right && to[static_cast<size_t>(i)] == i * stride &&
              to[static_cast<size_t>(kN + i)] == i * kN;
    }
  }
};

// Both ranks send at once, so that two buffers of one size are in use.
bool exchange_columns() {
  constexpr int kLong = 8000;
  const int other = 1 - g_rank;
  MPI_Datatype type;
  MPI_Type_vector(kLong, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  std::vector<double> from(2 * kLong), to(2 * kLong, -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + 1e6 * g_rank;
  MPI_Sendrecv(from.data(), 1, type, other, 5, to.data(), 1, type, other, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  bool right = true;
  for (size_t i = 0; i < to.size(); ++i)
    right = right && to[i] == (i % 2 == 0 ? static_cast<double>(i) + 1e6 * other : -1);
  return right;
}

void exchange_at_last(void* right) { *static_cast<bool*>(right) = exchange_columns(); }

}  // namespace

// Calls in a thread whose thread_local objects are destroyed, as in atexit() handlers of the main
// thread.
TOPIC(threads_last_messages) {
  bool right = false;
  bool right_at_last = false;
  pthread_key_t key;
  CHECK(pthread_key_create(&key, exchange_at_last) == 0);
  std::thread([&] {
    right = exchange_columns();
    pthread_setspecific(key, &right_at_last);
  }).join();
  pthread_key_delete(key);
  CHECK(right && right_at_last);
}

TOPIC(threads_multiple) {
  MPI_Datatype shared = column(kN);
  std::vector<Worker> workers;
  for (int id = 0; id < kThreads; ++id) workers.push_back({id, shared});
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&worker] {
      for (int round = 0; round < 150; ++round) worker.messages(round);
      for (int round = 0; round < 300; ++round) worker.packs(round);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Worker& worker : workers) CHECK(worker.right);
  CHECK(taken("MPI_Irecv") > 100 && taken("MPI_Recv_init") > 100);
  MPI_Type_free(&shared);
}
