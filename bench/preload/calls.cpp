// SPDX-License-Identifier: BSD-3-Clause
// Calls that lacuna cannot make faster, for callgrind to count: with contiguous data, and with
// types that are made for one small message. `lacuna bench preload` runs this with and without
// lacuna, and reads how many instructions each lacuna_counted_* has taken. The first rank sends to
// itself, so that nothing is waited for and every run takes the same instructions; a second one is
// there so that the direct path is open.
//
// Usage: lacuna-bench-calls-FAMILY TIMES
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kDoubles = 8;
constexpr int kWarmUps = 20;  // symbols are looked up in the first calls
constexpr int kTag = 1;
double g_from[kDoubles * kDoubles * kDoubles];
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

void send() { MPI_Send(g_from, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD); }

void recv() { MPI_Recv(g_to, kDoubles, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

void irecv_wait() {
  MPI_Request request = post_receive();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void isend_wait() {
  MPI_Request request = post_send();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// ---- types made for one message of 64 bytes -----------------------------------------------------

void send_and_free(MPI_Datatype* type) {
  MPI_Type_commit(type);
  MPI_Send(g_from, 1, *type, 0, kTag, MPI_COMM_WORLD);
  MPI_Type_free(type);
}

void new_vector() {
  MPI_Datatype type;
  MPI_Type_vector(kDoubles, 1, kDoubles, MPI_DOUBLE, &type);
  send_and_free(&type);
}

void new_struct() {
  const int lengths[] = {1, 3, 4};
  const MPI_Aint places[] = {0, 16, 64};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  send_and_free(&type);
}

void new_subarray() {
  const int sizes[] = {kDoubles, kDoubles, kDoubles};
  const int subsizes[] = {2, 2, 2};
  const int starts[] = {1, 1, 1};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  send_and_free(&type);
}

// ---- what is counted ----------------------------------------------------------------------------

using Call = void (*)();

}  // namespace

#define LACUNA_COUNTED(call) \
  extern "C" __attribute__((noinline)) void lacuna_counted_##call() { call(); }

// The names are known to preload_calls.py.
LACUNA_COUNTED(send)
LACUNA_COUNTED(recv)
LACUNA_COUNTED(isend_wait)
LACUNA_COUNTED(irecv_wait)
LACUNA_COUNTED(new_vector)
LACUNA_COUNTED(new_struct)
LACUNA_COUNTED(new_subarray)

namespace {

struct Step {
  Call warm_up;
  Call counted;
  MPI_Request (*other_side)();
};
constexpr Step kSteps[] = {
    {send, lacuna_counted_send, post_receive},
    {recv, lacuna_counted_recv, post_send},
    {isend_wait, lacuna_counted_isend_wait, post_receive},
    {irecv_wait, lacuna_counted_irecv_wait, post_send},
    {new_vector, lacuna_counted_new_vector, post_receive},
    {new_struct, lacuna_counted_new_struct, post_receive},
    {new_subarray, lacuna_counted_new_subarray, post_receive},
};

void repeat(Call Step::* call, int times) {
  for (int i = 0; i < times; ++i) {
    for (const Step& step : kSteps) {
      MPI_Request request = step.other_side();
      (step.*call)();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 0;
  if (times < 1) {
    std::fprintf(stderr, "lacuna-bench-calls: how many times?\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    repeat(&Step::warm_up, kWarmUps);
    repeat(&Step::counted, times);
  }
  MPI_Finalize();
  return 0;
}
