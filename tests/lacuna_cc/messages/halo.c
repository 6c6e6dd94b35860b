// A Jacobi step whose columns are types made in each turn: nothing of them must be left.
#include <mpi.h>
#include <stdio.h>

enum { kRows = 64, kColumns = 34 };
static double grid[kRows][kColumns], next[kRows][kColumns];

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int left = rank == 1 ? 0 : MPI_PROC_NULL, right = rank == 0 ? 1 : MPI_PROC_NULL;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) grid[i][j] = (i * 7 + j * 3 + rank) % 11;
  }
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Datatype column;
    MPI_Request requests[4];
    MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(&grid[0][0], 1, column, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&grid[0][kColumns - 1], 1, column, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&grid[0][kColumns - 2], 1, column, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&grid[0][1], 1, column, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&column);
    for (int i = 1; i < kRows - 1; ++i) {
      for (int j = 1; j < kColumns - 1; ++j) {
        next[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]) / 4;
      }
    }
    for (int i = 1; i < kRows - 1; ++i) {
      for (int j = 1; j < kColumns - 1; ++j) grid[i][j] = next[i][j];
    }
  }
  double sum = 0;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) sum += grid[i][j] * (i + j);
  }
  if (rank == 1) printf("%.17g\n", sum);
  MPI_Finalize();
  return 0;
}
