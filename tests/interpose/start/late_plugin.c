/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin of late_program.c: lacuna must find the MPI library behind it, handle a call, and pass
 * others on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { kN = 16 };

__attribute__((visibility("default"))) int late_plugin_run(void) {
  int64_t (*calls)(const char*, int) = NULL;
  double matrix[kN * kN], line[kN], sum = 0, all = 0;
  MPI_Datatype column;
  int rank, size, i, good = 1;
  *(void**)&calls = dlsym(RTLD_DEFAULT, "lacuna_interposed_calls");
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_vector(kN, 1, kN, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (i = 0; i < kN * kN; ++i) matrix[i] = i + 1000 * rank;
  MPI_Sendrecv(matrix, 1, column, (rank + 1) % size, 0, line, kN, MPI_DOUBLE,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (i = 0; i < kN; ++i) good = good && line[i] == kN * i + 1000 * ((rank + size - 1) % size);
  good = good && calls != NULL && calls("MPI_Sendrecv", 1) == 1;
  sum = good;
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Type_free(&column);
  MPI_Finalize();
  if (rank == 0) printf("late_plugin: %d of %d ranks are right\n", (int)all, size);
  return (int)all == size ? 0 : 1;
}
