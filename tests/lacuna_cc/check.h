// What the programs of these tests have in common: data to send, and one line for each result, which must be
// the same however the program was compiled. A comment behind a call says what lacuna-cc must do with it.
#ifndef CHECK_H
#define CHECK_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 65536 };
static unsigned char sent[kBytes] __attribute__((aligned(64))), got[kBytes] __attribute__((aligned(64)));
static int rank, other;

// Other code may have any effect on what it is given.
static void (*volatile look_at)(void*);
static void nothing(void* what) { (void)what; }

// Every stride-th of n x stride doubles.
static inline MPI_Datatype column(int n, int stride) {
  MPI_Datatype type;
  MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

static void refill(int seed) {
  for (int i = 0; i < kBytes; ++i) {
    sent[i] = (unsigned char)((i * 2654435761u + (unsigned)seed * 977u) >> 13);
    got[i] = (unsigned char)(0xa5 ^ seed);
  }
}

static void tell(const char* name, const MPI_Status* status, MPI_Datatype type) {
  unsigned long long sum = 14695981039346656037ull;
  for (int i = 0; i < kBytes; ++i) sum = (sum ^ got[i]) * 1099511628211ull;
  if (rank != 1) return;
  int count = -1, elements = -1;
  if (status != NULL) {
    MPI_Get_count(status, type, &count);
    MPI_Get_elements(status, type, &elements);
    printf("%s %016llx from %d tag %d count %d elements %d\n", name, sum, status->MPI_SOURCE, status->MPI_TAG, count, elements);
  } else {
    printf("%s %016llx\n", name, sum);
  }
}

static void start(int* argc, char*** argv) {
  look_at = nothing;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
}
#endif
