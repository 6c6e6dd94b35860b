// SPDX-License-Identifier: BSD-3-Clause
//
// Transposes an N x N matrix of complex numbers between two steps of an FFT. Each rank has some
// rows, and then some rows of the transposed matrix; one MPI_Alltoallw moves and transposes. Any
// number of ranks:
//
//   mpicc transpose.c -o transpose && lacuna run mpiexec -n 4 ./transpose
#include <complex.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 100 };  // what the ranks have need not be equal
typedef double complex Number;

static int first_row(int rank, int ranks) { return (int)((long)N * rank / ranks); }
static Number cell(int row, int column) { return row + column * I; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int first = first_row(rank, ranks);
  const int rows = first_row(rank + 1, ranks) - first;
  Number(*from)[N] = malloc(sizeof(Number[N]) * (size_t)(rows + 1));
  Number(*to)[N] = malloc(sizeof(Number[N]) * (size_t)(rows + 1));
  if (!from || !to) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < N; ++j) from[i][j] = cell(first + i, j);

  // To each rank go the columns that become its rows, column by column; from each come pieces of
  // our rows, row by row.
  MPI_Datatype column, next_column;
  MPI_Type_vector(rows, 1, N, MPI_C_DOUBLE_COMPLEX, &column);
  MPI_Type_create_resized(column, 0, sizeof(Number), &next_column);
  int counts[ranks], places[ranks];
  MPI_Datatype columns[ranks], pieces[ranks];
  for (int other = 0; other < ranks; ++other) {
    const int begin = first_row(other, ranks), width = first_row(other + 1, ranks) - begin;
    MPI_Type_contiguous(width, next_column, &columns[other]);
    MPI_Type_vector(rows, width, N, MPI_C_DOUBLE_COMPLEX, &pieces[other]);
    MPI_Type_commit(&columns[other]);
    MPI_Type_commit(&pieces[other]);
    counts[other] = 1;
    places[other] = begin * (int)sizeof(Number);
  }

  MPI_Alltoallw(from, counts, places, columns, to, counts, places, pieces, MPI_COMM_WORLD);

  int wrong = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < N; ++j) wrong += to[i][j] != cell(j, first + i);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong cells\n", ranks, wrong);
  for (int other = 0; other < ranks; ++other) {
    MPI_Type_free(&columns[other]);
    MPI_Type_free(&pieces[other]);
  }
  MPI_Type_free(&next_column);
  MPI_Type_free(&column);
  free(from);
  free(to);
  MPI_Finalize();
  return wrong != 0;
}
