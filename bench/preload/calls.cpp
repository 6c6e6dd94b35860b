// SPDX-License-Identifier: BSD-3-Clause
// Calls that lacuna cannot make faster, for callgrind to count: with contiguous data, and with
// types that are made for one small message. `lacuna bench preload` runs this with and without
// lacuna, and reads how many instructions each lacuna_counted_* took. The first rank sends to
// itself, so that no call waits and every run has the same instructions. A second rank is needed
// for the direct path to be open. Contiguous calls are counted twice: before the first token has
// arrived (docs/internals/direct-tokens.md), and after it.
//
// Usage: lacuna-bench-calls-FAMILY TIMES
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kDoubles = 8;  // fewer bytes than a token has (docs/internals/direct.md)
constexpr int kMany = 128;
constexpr int kWarmUps = 20;  // symbols are looked up in the first calls
constexpr int kTag = 1;
double g_from[kDoubles * kDoubles * kDoubles];
double g_to[kMany];
constexpr int kColumn = 8192;  // large enough for the direct path
double g_matrix[2 * kColumn];

template <int kCount>
MPI_Request post_receive() {
  MPI_Request request;
  MPI_Irecv(g_to, kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &request);
  return request;
}

template <int kCount>
MPI_Request post_send() {
  MPI_Request request;
  MPI_Isend(g_from, kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &request);
  return request;
}

void send() { MPI_Send(g_from, kMany, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD); }

template <int kCount>
void receive() {
  MPI_Recv(g_to, kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

template <int kCount>
void receive_and_wait() {
  MPI_Request request = post_receive<kCount>();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void recv() { receive<kMany>(); }
void short_recv() { receive<kDoubles>(); }
void irecv_wait() { receive_and_wait<kMany>(); }
void short_irecv_wait() { receive_and_wait<kDoubles>(); }

void irecv_status() {
  MPI_Request request = post_receive<kMany>();
  MPI_Status status;
  MPI_Wait(&request, &status);
}

void irecv_test() {
  MPI_Request request = post_receive<kMany>();
  for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

void irecv_waitall() {
  MPI_Request request = post_receive<kMany>();
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

void isend_wait() {
  MPI_Request request = post_send<kMany>();
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
#define LACUNA_COUNTED_TWICE(call) \
  LACUNA_COUNTED(call)             \
  extern "C" __attribute__((noinline)) void lacuna_counted_later_##call() { call(); }

// python/lacuna/bench/preload/calls.py knows the names.
LACUNA_COUNTED_TWICE(send)
LACUNA_COUNTED_TWICE(recv)
LACUNA_COUNTED_TWICE(isend_wait)
LACUNA_COUNTED_TWICE(irecv_wait)
LACUNA_COUNTED_TWICE(irecv_status)
LACUNA_COUNTED_TWICE(irecv_test)
LACUNA_COUNTED_TWICE(irecv_waitall)
LACUNA_COUNTED_TWICE(short_recv)
LACUNA_COUNTED_TWICE(short_irecv_wait)
LACUNA_COUNTED(new_vector)
LACUNA_COUNTED(new_struct)
LACUNA_COUNTED(new_subarray)

namespace {

struct Step {
  Call warm_up;
  Call counted;
  Call counted_later;  // none: it does not depend on tokens
  MPI_Request (*other_side)();
};
constexpr Step kSteps[] = {
    {send, lacuna_counted_send, lacuna_counted_later_send, post_receive<kMany>},
    {recv, lacuna_counted_recv, lacuna_counted_later_recv, post_send<kMany>},
    {isend_wait, lacuna_counted_isend_wait, lacuna_counted_later_isend_wait, post_receive<kMany>},
    {irecv_wait, lacuna_counted_irecv_wait, lacuna_counted_later_irecv_wait, post_send<kMany>},
    {irecv_status, lacuna_counted_irecv_status, lacuna_counted_later_irecv_status,
     post_send<kMany>},
    {irecv_test, lacuna_counted_irecv_test, lacuna_counted_later_irecv_test, post_send<kMany>},
    {irecv_waitall, lacuna_counted_irecv_waitall, lacuna_counted_later_irecv_waitall,
     post_send<kMany>},
    {short_recv, lacuna_counted_short_recv, lacuna_counted_later_short_recv, post_send<kDoubles>},
    {short_irecv_wait, lacuna_counted_short_irecv_wait, lacuna_counted_later_short_irecv_wait,
     post_send<kDoubles>},
    {new_vector, lacuna_counted_new_vector, nullptr, post_receive<kDoubles>},
    {new_struct, lacuna_counted_new_struct, nullptr, post_receive<kDoubles>},
    {new_subarray, lacuna_counted_new_subarray, nullptr, post_receive<kDoubles>},
};

void repeat(Call Step::* call, int times) {
  for (int i = 0; i < times; ++i) {
    for (const Step& step : kSteps) {
      if (step.*call == nullptr) continue;
      MPI_Request request = step.other_side();
      (step.*call)();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
}

// Rank 1 sends a message of a type with gaps to rank 0, which receives it without gaps.
void send_column(int rank) {
  MPI_Datatype column;
  MPI_Type_vector(kColumn, 1, 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  if (rank == 1) MPI_Send(g_matrix, 1, column, 0, kTag, MPI_COMM_WORLD);
  if (rank == 0)
    MPI_Recv(g_matrix, kColumn, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);
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
  MPI_Barrier(MPI_COMM_WORLD);
  send_column(rank);
  if (rank == 0) {
    repeat(&Step::warm_up, kWarmUps);
    repeat(&Step::counted_later, times);
  }
  MPI_Finalize();
  return 0;
}
