// SPDX-License-Identifier: BSD-3-Clause
// A program whose calls are known, and with one mistake that `lacuna run --costs` should speak of.
//
// Usage: costs_program WHAT (two ranks; rank 0 sends, rank 1 receives)
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { kN = 64 };
static double g_data[kN * kN * 2];
static int g_rank;

// Received without gaps, by basic types.
static void message(int count, MPI_Datatype type, int items, MPI_Datatype item) {
  if (g_rank == 0)
    MPI_Send(g_data, count, type, 1, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(g_data, items, item, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static MPI_Datatype vector(int stride) {
  MPI_Datatype type;
  MPI_Type_vector(kN, 1, stride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

static void in_a_loop(void) {
  for (int i = 0; i < 100; ++i) {
    MPI_Datatype type = vector(kN);
    message(1, type, kN, MPI_DOUBLE);
    MPI_Type_free(&type);
  }
}

static void transposed(void) {
  MPI_Datatype column, narrow, whole;
  MPI_Type_vector(kN, 1, kN, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, 8, &narrow);
  MPI_Type_contiguous(kN, narrow, &whole);
  MPI_Type_commit(&whole);
  for (int i = 0; i < 50; ++i) message(1, whole, kN * kN, MPI_DOUBLE);
  MPI_Type_free(&whole);
  MPI_Type_free(&narrow);
  MPI_Type_free(&column);
}

static void doubles(int times, int count) {
  for (int i = 0; i < times; ++i) message(count, MPI_DOUBLE, count, MPI_DOUBLE);
}

static void structs(void) {
  for (int i = 0; i < 50; ++i) message(3000, MPI_BYTE, 3000, MPI_BYTE);
}

// Many short calls of which few are timed: 1, 2 and 3 doubles from one place, to itself.
static void many(void) {
  for (int i = 0; i < 30000; ++i) {
    MPI_Request request;
    double in[3];
    MPI_Irecv(in, 3, MPI_DOUBLE, g_rank, 1, MPI_COMM_WORLD, &request);
    MPI_Send(g_data, 1 + i % 3, MPI_DOUBLE, g_rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(g_data, 5, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  }
}

// Types that are the library's, each of which may get the handle of the one before; one or two of
// them in a message.
static void kinds(void) {
  double in[16];
  for (int doubles = 2; doubles < 5; ++doubles) {
    MPI_Datatype type;
    MPI_Type_contiguous(doubles, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 8000; ++i) {
      MPI_Request requests[2];
      MPI_Irecv(in, 2, type, g_rank, 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(g_data, 1 + i % 2, type, g_rank, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Type_free(&type);
  }
}

// The other ways to complete, and large counts where the library has them.
static void completions(void) {
  double in[16];
  for (int i = 0; i < 8000; ++i) {
    MPI_Request requests[2];
    int index, count, flag = 0, indices[2];
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    MPI_Irecv_c(in, 3, MPI_DOUBLE, g_rank, 1, MPI_COMM_WORLD, &requests[0]);
#else
    MPI_Irecv(in, 3, MPI_DOUBLE, g_rank, 1, MPI_COMM_WORLD, &requests[0]);
#endif
    MPI_Isend(g_data, 3, MPI_DOUBLE, g_rank, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_SELF);
  }
}

// Types that lacuna moves, in an order that changes, and now and then one that is the library's,
// all from one place; two types in a call.
static void moved(void) {
  static double in[2][kN * kN];
  MPI_Datatype types[] = {vector(2), vector(3), MPI_DOUBLE};
  for (int i = 0; i < 6000; ++i) {
    MPI_Datatype type = types[i % 7 == 0 ? 2 : i % 5 == 0];
    MPI_Request requests[2];
    MPI_Irecv(in[0], 1, type, g_rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(g_data, 1, type, g_rank, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(g_data, 1, types[0], g_rank, 2, in[0], 1, types[1], g_rank, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&types[0]);
  MPI_Type_free(&types[1]);
}

// Collectives of long runs, with nobody else: the library's, each time.
static void alone(void) {
  static double out[4096], in[4096];
  MPI_Datatype runs;
  MPI_Type_vector(2, 1024, 2048, MPI_DOUBLE, &runs);
  MPI_Type_commit(&runs);
  const int one = 1, at = 0;
  for (int i = 0; i < 300; ++i)
    MPI_Alltoallw(out, &one, &at, &runs, in, &one, &at, &runs, MPI_COMM_SELF);
  MPI_Type_free(&runs);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  if (!strcmp(what, "loop")) in_a_loop();
  if (!strcmp(what, "transposed")) transposed();
  if (!strcmp(what, "threshold")) doubles(50, argc > 2 ? atoi(argv[2]) : 0);
  if (!strcmp(what, "small")) doubles(2000, 8);
  if (!strcmp(what, "structs")) structs();
  if (!strcmp(what, "none")) doubles(50, 375);
  if (!strcmp(what, "many")) many();
  if (!strcmp(what, "kinds")) kinds();
  if (!strcmp(what, "moved")) moved();
  if (!strcmp(what, "completions")) completions();
  if (!strcmp(what, "alone")) alone();
  MPI_Finalize();
  return 0;
}
