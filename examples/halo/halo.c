// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges the edges of a periodic grid of N x N cells on each rank with its four neighbours. In
// C, rows are contiguous and columns have gaps. Any number of ranks:
//
//   mpicc halo.c -o halo && lacuna run mpiexec -n 4 ./halo
#include <mpi.h>
#include <stdio.h>

enum { N = 64 };
static double grid[N + 2][N + 2];  // with the neighbours' edges around

static double cell(int rank, int row, int column) { return rank * 1e6 + row * 1e3 + column; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size, rank, up, down, left, right;
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Comm ranks;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &ranks);
  MPI_Comm_rank(ranks, &rank);
  MPI_Cart_shift(ranks, 0, 1, &up, &down);
  MPI_Cart_shift(ranks, 1, 1, &left, &right);
  for (int i = 1; i <= N; ++i)
    for (int j = 1; j <= N; ++j) grid[i][j] = cell(rank, i, j);

  MPI_Datatype row, column;
  MPI_Type_contiguous(N, MPI_DOUBLE, &row);
  MPI_Type_vector(N, 1, N + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&row);
  MPI_Type_commit(&column);

  MPI_Sendrecv(&grid[1][1], 1, row, up, 0, &grid[N + 1][1], 1, row, down, 0, ranks,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&grid[N][1], 1, row, down, 0, &grid[0][1], 1, row, up, 0, ranks, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&grid[1][1], 1, column, left, 0, &grid[1][N + 1], 1, column, right, 0, ranks,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&grid[1][N], 1, column, right, 0, &grid[1][0], 1, column, left, 0, ranks,
               MPI_STATUS_IGNORE);

  int wrong = 0;
  for (int i = 1; i <= N; ++i) {
    wrong += grid[0][i] != cell(up, N, i) || grid[N + 1][i] != cell(down, 1, i);
    wrong += grid[i][0] != cell(left, i, N) || grid[i][N + 1] != cell(right, i, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, ranks);
  if (rank == 0) printf("%d ranks, %d wrong cells\n", size, wrong);
  MPI_Type_free(&row);
  MPI_Type_free(&column);
  MPI_Comm_free(&ranks);
  MPI_Finalize();
  return wrong != 0;
}
