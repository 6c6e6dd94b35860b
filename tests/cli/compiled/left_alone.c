// SPDX-License-Identifier: BSD-3-Clause
//
// Columns of doubles that a rank sends itself, of 16 and of 128: by sizes of the program's text and
// by sizes of its arguments. counted.c says what went to the MPI library.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kStride = 3, kMost = 128 };

int g_counted;  // what the last MPI_Send was told

static double g_from[kMost * kStride], g_to[kMost * kStride];

static void column(int n) {
  MPI_Datatype type;
  MPI_Request request;
  MPI_Type_vector(n, 1, kStride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(g_to, n * kStride, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
  MPI_Send(g_from, 1, type, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
}

// The same in rows of two.
static void plane(int n) {
  MPI_Datatype row, type;
  MPI_Request request;
  MPI_Type_vector(2, 1, kStride, MPI_DOUBLE, &row);
  MPI_Type_create_hvector(n / 2, 1, 2 * kStride * sizeof(double), row, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(g_to, n * kStride, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
  MPI_Send(g_from, 1, type, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&row);
  MPI_Type_free(&type);
}

static void check(int n) {
  for (int i = 0; i < n; ++i) {
    if (g_to[i] != g_from[i * kStride]) {
      printf("wrong bytes\n");
      exit(1);
    }
    g_to[i] = 0;
  }
  printf("%d: %d\n", n, g_counted);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kMost * kStride; ++i) g_from[i] = i + 1;
  column(16);
  check(16);
  column(128);
  check(128);
  for (int i = 1; i < argc; ++i) {
    column(atoi(argv[i]));
    check(atoi(argv[i]));
    plane(atoi(argv[i]) / 2 * 2);
    check(atoi(argv[i]) / 2 * 2);
  }
  MPI_Finalize();
  return 0;
}
