// SPDX-License-Identifier: BSD-3-Clause
//
// A program with functions of its own under names of POSIX and Linux, which C leaves to programs.
// They must never be called by lacuna. (The MPI libraries do not call these either.)
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define OWN(name)                                             \
  void name(void) {                                           \
    fprintf(stderr, "the program's " #name "() is called\n"); \
    abort();                                                  \
  }
OWN(poll)
OWN(getrandom)
OWN(getrlimit)
OWN(readlink)
OWN(munlock)
OWN(accept4)
OWN(memfd_create)
OWN(fstat)
OWN(pread)

enum { kCount = 20000 };
static int g_out[3 * kCount], g_in[3 * kCount];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Datatype column;
  MPI_Type_vector(kCount, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  const int left = (rank + size - 1) % size;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 3 * kCount; ++i) g_out[i] = rank + i + round;
    MPI_Sendrecv(g_out, 1, column, (rank + 1) % size, 0, g_in, 1, column, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < 3 * kCount; i += 3) bad += g_in[i] != left + i + round;
    MPI_Bcast(g_out, 1, column, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3 * kCount; i += 3) bad += g_out[i] != i + round;
  }
  MPI_Type_free(&column);
  MPI_Finalize();
  if (bad != 0) fprintf(stderr, "%d elements are wrong\n", bad);
  return bad != 0;
}
