// SPDX-License-Identifier: BSD-3-Clause
//
// What bench/ompi/kept_requests.c, preloaded, must not change: data, statuses, when communicators
// end. Prints how many calls its requests did, and how many it made: of plain messages, and of
// messages of a derived type, which only lacuna turns into plain ones.
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { kTurns = 6, kMost = 600 };

static int g_rank, g_is_right = 1;
static int64_t (*g_count)(int);

static void check(int is_right) { g_is_right = g_is_right && is_right; }

static void exchange(const void* from, void* to, int count, MPI_Datatype type, int tag,
                     MPI_Comm comm, MPI_Status* status) {
  if (g_rank == 0) MPI_Send(from, count, type, 1, tag, comm);
  MPI_Recv(to, count, type, 1 - g_rank, tag, comm, status);
  if (g_rank == 1) MPI_Send(from, count, type, 0, tag, comm);
}

static void plain(void) {
  for (int turn = 0; turn < kTurns; ++turn) {
    int from[4] = {turn, g_rank, 7, 8}, to[4] = {0, 0, 0, 0}, count = -1;
    MPI_Status status;
    exchange(from, to, 3, MPI_INT, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    check(to[0] == turn && to[1] == 1 - g_rank && to[2] == 7 && to[3] == 0);
    check(status.MPI_SOURCE == 1 - g_rank && status.MPI_TAG == 3 && count == 3);
  }
}

static void from_anyone(void) {
  for (int turn = 0; turn < kTurns; ++turn) {
    int to = -1;
    MPI_Status status;
    if (g_rank == 0) MPI_Send(&turn, 1, MPI_INT, 1, turn, MPI_COMM_WORLD);
    if (g_rank == 1) {
      MPI_Recv(&to, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      check(to == turn && status.MPI_SOURCE == 0 && status.MPI_TAG == turn);
    }
    MPI_Recv(&to, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    check(status.MPI_SOURCE == MPI_PROC_NULL);
  }
}

// A communicator that is made anew may have the handle of the one before.
static void communicators(void) {
  for (int turn = 0; turn < kTurns; ++turn) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int again = 0; again < 3; ++again) {
      int to = -1;
      exchange(&turn, &to, 1, MPI_INT, 0, comm, MPI_STATUS_IGNORE);
      check(to == turn);
    }
    turn % 2 == 0 ? MPI_Comm_free(&comm) : MPI_Comm_disconnect(&comm);
  }
}

// More than are kept.
static void many(void) {
  static int from[kMost], to[kMost];
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kMost; ++i) {
      from[i] = i + turn;
      exchange(&from[i], &to[i], 1, MPI_INT, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(to[i] == i + turn);
    }
  }
}

static void derived(void) {
  static double from[4096], to[4096];
  MPI_Datatype column;
  MPI_Type_vector(1024, 1, 4, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < 4096; ++i) from[i] = i + turn;
    exchange(from, to, 1, column, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4096; ++i) check(to[i] == (i % 4 == 0 ? i + turn : 0));
  }
  MPI_Type_free(&column);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  *(void**)&g_count = dlsym(RTLD_DEFAULT, "kept_requests_count");
  if (g_count == NULL) return 1;
  plain();
  const int64_t calls = g_count(0), made = g_count(1);
  from_anyone();
  communicators();
  many();
  const int64_t before = g_count(0);
  derived();
  const int64_t of_derived = g_count(0) - before;
  if (g_rank == 0)
    printf("plain: %d calls, %d requests; derived: %d calls\n", (int)calls, (int)made,
           (int)of_derived);
  MPI_Finalize();
  return g_is_right ? 0 : 1;
}
