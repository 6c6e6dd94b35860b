// Whether registering types pays is decided at each place that makes them, again and again. count_registered.c, if it
// is preloaded, counts how many were registered.
#include "../check.h"

__attribute__((weak)) int types_registered(void);

static double matrix[4096];

__attribute__((noinline)) static void make(int n, MPI_Datatype* type) {
  MPI_Type_vector(n, 1, n + 1, MPI_DOUBLE, type);
  MPI_Type_commit(type);  // registers
}
__attribute__((noinline)) static void use(const MPI_Datatype* type, int times) {
  char packed[1024];
  int at = 0;
  for (int i = 0; i < times; ++i) {
    at = 0;
    MPI_Pack(matrix + i, 1, *type, packed, sizeof packed, &at, MPI_COMM_SELF);  // asks
  }
  for (int i = 0; i < at; ++i) got[i] = (unsigned char)(got[i] * 31 + packed[i]);
}

static void make_some(const char* name, int many, int times) {
  const int before = types_registered != NULL ? types_registered() : 0;
  for (int i = 0; i < many; ++i) {
    MPI_Datatype type;
    make(3 + i % 60, &type);
    use(&type, times);
    MPI_Type_free(&type);
  }
  tell(name, NULL, MPI_DOUBLE);
  if (types_registered != NULL && rank == 0) fprintf(stderr, "%s: %d\n", name, types_registered() - before);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  refill(argc);
  for (int i = 0; i < 4096; ++i) matrix[i] = 1 + i * 0.25;
  make_some("in vain", 3000, 0);
  make_some("asked for", 3000, 40);
  make_some("in vain again", 3000, 0);
  make_some("asked for once", 3000, 1);
  MPI_Finalize();
  return 0;
}
