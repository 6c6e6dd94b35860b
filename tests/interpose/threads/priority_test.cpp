// SPDX-License-Identifier: BSD-3-Clause
//
// Two threads of different real-time priority on one core: if the higher one waits for a lock of
// the lower one, it must sleep, because sched_yield() would not let the lower one run.
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

void sleep_us(long us) {
  const timespec nap{0, us * 1000};
  nanosleep(&nap, nullptr);
}

// False: this user is not allowed to.
bool run_at(int priority) {
  cpu_set_t mine, one;
  sched_getaffinity(0, sizeof(mine), &mine);
  CPU_ZERO(&one);
  for (size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &mine)) CPU_SET(cpu, &one);
  const sched_param param{priority};
  return pthread_setaffinity_np(pthread_self(), sizeof(one), &one) == 0 &&
         pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == 0;
}

// Sends a message of a new type to this thread itself.
void send_new_type(MPI_Comm comm, int round, double* data) {
  std::vector<int> lengths, places;
  for (int i = 0; i < 300 + round % 50; ++i) {
    lengths.push_back(1 + i % 3);
    places.push_back(i * 7 + i * i % 3);
  }
  MPI_Datatype type;
  MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_DOUBLE,
                   &type);
  MPI_Type_commit(&type);
  MPI_Request requests[2];
  MPI_Irecv(data, 1, type, 0, 4, comm, &requests[0]);
  MPI_Isend(data + 8000, 1, type, 0, 4, comm, &requests[1]);
  for (int done = 0; done == 0;) {
    MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
    if (done == 0) sleep_us(100);
  }
  MPI_Type_free(&type);
}

}  // namespace

TOPIC(threads_of_two_priorities) {
  constexpr int kRounds = 1500;
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_SELF, &comm);
  if (g_rank == 0) {
    std::atomic<bool> may{true}, ends{false};
    std::atomic<int> low_rounds{0}, high_rounds{0};
    std::thread low([&] {
      std::vector<double> data(20000);
      may = run_at(10) && may;
      for (; may && !ends; ++low_rounds) send_new_type(comms[0], low_rounds, data.data());
    });
    std::thread high([&] {
      std::vector<double> data(20000);
      may = run_at(20) && may;
      for (; may && high_rounds < kRounds; ++high_rounds) {
        sleep_us(300);
        send_new_type(comms[1], high_rounds, data.data());
      }
      ends = true;
    });
    high.join();
    low.join();
    if (may)
      CHECK(low_rounds > 0 && high_rounds == kRounds);
    else
      std::printf("threads_of_two_priorities: skipped, this user may not set them\n");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}
