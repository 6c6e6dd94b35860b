// SPDX-License-Identifier: BSD-3-Clause
//
// Columns of doubles from one rank to the other, where their number is in the program's text and
// where it is an argument; the third is sent after MPI_Pcontrol(0), the last after MPI_Pcontrol(1).
// counted.c says what went to the MPI library, or to the preload.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kStride = 3, kMost = 4096, kKnown = 1024 };

int g_counted;  // what the last MPI_Send was told

static double g_from[kMost * kStride], g_to[kMost * kStride];
static int g_rank;

__attribute__((always_inline)) static inline void column(int n) {
  MPI_Datatype type;
  MPI_Type_vector(n, 1, kStride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  if (g_rank == 0) {
    MPI_Send(g_from, 1, type, 1, 0, MPI_COMM_WORLD);
    printf("%d: %d\n", n, g_counted);
  } else {
    memset(g_to, 0, sizeof g_to);
    MPI_Recv(g_to, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n * kStride; ++i) {
      const double wanted = i % kStride == 0 ? g_from[i] : 0;
      if (g_to[i] != wanted) MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Type_free(&type);
}

__attribute__((noinline)) static void known(void) { column(kKnown); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  for (int i = 0; i < kMost * kStride; ++i) g_from[i] = i + 1;
  for (int i = 1; i < argc; ++i) column(atoi(argv[i]));
  known();
  MPI_Pcontrol(0);
  known();
  MPI_Pcontrol(1);
  known();
  MPI_Finalize();
  return 0;
}
