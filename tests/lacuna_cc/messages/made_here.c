// A type made in one file, and used in another.
#include <mpi.h>

MPI_Datatype column;
void use(const double* from, double* to, int rank);
static double a[4096], b[4096];

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 4096; ++i) a[i] = rank + i;
  MPI_Type_vector(16, 1, 24, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  use(a, b, rank);
  MPI_Type_free(&column);
  MPI_Finalize();
  return 0;
}
