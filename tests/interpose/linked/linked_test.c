/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that is linked to lacuna, before its MPI library: lacuna must handle each of its calls
 * once, and deliver the data. Two ranks. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Exported for introspection (interpose/start/introspect.cpp). */
extern const char lacuna_interposed[];
int64_t lacuna_interposed_calls(const char* function, int taken);

enum { kN = 64, kMatrix = kN * kN };

static int g_rank, g_bad;
static double g_from[kMatrix], g_to[kMatrix];
static MPI_Datatype g_column;

static void expect(int good, const char* what) {
  if (good) return;
  g_bad = 1;
  fprintf(stderr, "linked_test: rank %d: %s\n", g_rank, what);
}

static void start_again(void) {
  int i;
  for (i = 0; i < kMatrix; ++i) {
    g_from[i] = 10000.0 * g_rank + i;
    g_to[i] = -1;
  }
}

/* The first column of `to` holds that of the other rank's matrix, and nothing else has changed. */
static int arrived(int sender) {
  int i;
  for (i = 0; i < kMatrix; ++i) {
    if (g_to[i] != (i % kN == 0 ? 10000.0 * sender + i : -1)) return 0;
  }
  return 1;
}

static int taken(const char* function, int64_t before) {
  return lacuna_interposed_calls(function, 1) == before + 1;
}

int main(int argc, char** argv) {
  int other, all_bad = 1, position = 0, done = 0;
  char packed[kN * sizeof(double)];
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  other = 1 - g_rank;
  expect(strlen(lacuna_interposed) > 0, "no version");
  MPI_Type_vector(kN, 1, kN, MPI_DOUBLE, &g_column);
  MPI_Type_commit(&g_column);

  start_again();
  MPI_Sendrecv(g_from, 1, g_column, other, 0, g_to, 1, g_column, other, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  expect(arrived(other) && taken("MPI_Sendrecv", 0), "MPI_Sendrecv");

  start_again();
  MPI_Irecv(g_to, 1, g_column, other, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(g_from, 1, g_column, other, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect(arrived(other) && taken("MPI_Irecv", 0) && taken("MPI_Isend", 0),
         "MPI_Irecv and MPI_Isend");

  start_again();
  MPI_Pack(g_from, 1, g_column, packed, sizeof(packed), &position, MPI_COMM_WORLD);
  position = 0;
  MPI_Unpack(packed, sizeof(packed), &position, g_to, 1, g_column, MPI_COMM_WORLD);
  expect(arrived(g_rank) && taken("MPI_Pack", 0) && taken("MPI_Unpack", 0),
         "MPI_Pack and MPI_Unpack");

  start_again();
  MPI_Bcast(g_rank == 0 ? g_from : g_to, 1, g_column, 0, MPI_COMM_WORLD);
  expect((g_rank == 0 || arrived(0)) && taken("MPI_Bcast", 0), "MPI_Bcast");

#if defined(WITH_MPI_4) /* what is newer than 3.1 is another part of the archive */
  start_again();
  MPI_Irecv(g_to, 1, g_column, other, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_c(g_from, 1, g_column, other, 2, MPI_COMM_WORLD);
  while (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
  expect(arrived(other) && taken("MPI_Send_c", 0), "MPI_Send_c");
#endif
  (void)done;

  MPI_Type_free(&g_column);
  MPI_Allreduce(&g_bad, &all_bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_bad;
}
