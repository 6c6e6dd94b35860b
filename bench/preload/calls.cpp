// SPDX-License-Identifier: BSD-3-Clause
// Calls with contiguous data, for callgrind to count: `lacuna bench preload` runs this with and
// without lacuna, and reads how many instructions each of the functions below has taken. One rank,
// which sends to itself, so that nothing is waited for and every run takes the same instructions.
//
// Usage: lacuna-bench-calls-FAMILY TIMES                                        (one rank)
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#define LACUNA_COUNTED extern "C" __attribute__((noinline))

namespace {

constexpr int kDoubles = 8;
constexpr int kWarmUps = 20;
constexpr int kTag = 1;
double g_from[kDoubles];
double g_to[kDoubles];

MPI_Request post_receive() {
  MPI_Request request;
  MPI_Irecv(g_to, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &request);
  return request;
}

MPI_Request post_send() {
  MPI_Request request;
  MPI_Isend(g_from, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &request);
  return request;
}

}  // namespace

// The names are known to preload_calls.py.
LACUNA_COUNTED void lacuna_counted_send() {
  MPI_Send(g_from, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD);
}
LACUNA_COUNTED void lacuna_counted_recv() {
  MPI_Recv(g_to, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
LACUNA_COUNTED void lacuna_counted_isend_wait() {
  MPI_Request request;
  MPI_Isend(g_from, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

namespace {

void once(void (*send)(), void (*receive)()) {
  MPI_Request request = receive == nullptr ? post_receive() : post_send();
  (receive == nullptr ? send : receive)();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void send_plain() { MPI_Send(g_from, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD); }
void receive_plain() {
  MPI_Recv(g_to, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 0;
  if (times < 1) {
    std::fprintf(stderr, "lacuna-bench-calls: how many times?\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kWarmUps; ++i) {  // symbols are looked up in the first calls
    once(send_plain, nullptr);
    once(nullptr, receive_plain);
  }
  for (int i = 0; i < times; ++i) {
    once(lacuna_counted_send, nullptr);
    once(nullptr, lacuna_counted_recv);
    once(lacuna_counted_isend_wait, nullptr);
  }
  MPI_Finalize();
  return 0;
}
