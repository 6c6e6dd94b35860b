/* SPDX-License-Identifier: BSD-3-Clause
   Sends a column of a matrix from rank 0 to rank 1: what a packager's smoke test preloads lacuna into. */
#include <mpi.h>
#include <stdio.h>

enum { kSize = 1024, kSteps = 10 };
static double from[kSize][kSize], to[kSize][kSize];

int main(int argc, char** argv) {
  int rank;
  MPI_Datatype columns;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_vector(kSize, 2, kSize, MPI_DOUBLE, &columns);
  MPI_Type_commit(&columns);
  for (int row = 0; row < kSize; ++row) from[row][1] = row;
  for (int step = 0; step < kSteps; ++step) {
    if (rank == 0) MPI_Send(&from[0][0], 1, columns, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&to[0][0], 1, columns, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 1) printf("received %g\n", to[kSize - 1][1]);
  MPI_Type_free(&columns);
  return MPI_Finalize();
}
