// SPDX-License-Identifier: BSD-3-Clause
//
// A struct of arrays: the fields of a rank's cells lie in arrays of their own, of several types.
// One message takes a cell range of all of them, by their addresses. Any number of ranks, in a
// ring:
//
//   mpicc fields.c -o fields && lacuna run mpiexec -n 4 ./fields
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 500, GHOSTS = 40 };  // own cells, and copies of the left rank's last ones before them

typedef struct {
  double* density;
  double (*velocity)[3];
  float* temperature;
  int* material;
} Fields;

static Fields make_fields(int cells) {
  const size_t count = (size_t)cells;
  return (Fields){calloc(count, sizeof(double)), calloc(count, sizeof(double[3])),
                  calloc(count, sizeof(float)), calloc(count, sizeof(int))};
}

static void set_cell(Fields fields, int at, int rank, int cell) {
  fields.density[at] = rank + cell * 1e-3;
  for (int i = 0; i < 3; ++i) fields.velocity[at][i] = rank * 1e3 + cell + i * 0.25;
  fields.temperature[at] = (float)(cell + rank);
  fields.material[at] = rank * N + cell;
}

// Cells [first, first + count) of all fields, to be sent and received at MPI_BOTTOM.
static MPI_Datatype range_type(Fields fields, int first, int count) {
  const int lengths[] = {count, 3 * count, count, count};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_FLOAT, MPI_INT};
  MPI_Aint places[4];
  MPI_Get_address(&fields.density[first], &places[0]);
  MPI_Get_address(&fields.velocity[first], &places[1]);
  MPI_Get_address(&fields.temperature[first], &places[2]);
  MPI_Get_address(&fields.material[first], &places[3]);
  MPI_Datatype range;
  MPI_Type_create_struct(4, lengths, places, types, &range);
  MPI_Type_commit(&range);
  return range;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  Fields fields = make_fields(GHOSTS + N), wanted = make_fields(1);
  for (int cell = 0; cell < N; ++cell) set_cell(fields, GHOSTS + cell, rank, cell);

  MPI_Datatype last = range_type(fields, N, GHOSTS), ghosts = range_type(fields, 0, GHOSTS);
  MPI_Sendrecv(MPI_BOTTOM, 1, last, right, 0, MPI_BOTTOM, 1, ghosts, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);

  int wrong = 0;
  for (int i = 0; i < GHOSTS; ++i) {
    set_cell(wanted, 0, left, N - GHOSTS + i);
    wrong +=
        fields.density[i] != wanted.density[0] || fields.velocity[i][2] != wanted.velocity[0][2] ||
        fields.temperature[i] != wanted.temperature[0] || fields.material[i] != wanted.material[0];
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong cells\n", ranks, wrong);
  MPI_Type_free(&last);
  MPI_Type_free(&ghosts);
  for (int i = 0; i < 2; ++i) {
    const Fields one = i ? fields : wanted;
    free(one.density);
    free(one.velocity);
    free(one.temperature);
    free(one.material);
  }
  MPI_Finalize();
  return wrong != 0;
}
