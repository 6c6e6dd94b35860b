// A stand-in for memory of a device: nobody but MPI can look there. OWNER is the name of its runtime's function. With
// IS_RUNTIME this file is that runtime, and the MPI that knows of it.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>

enum { kBytes = 65536 };
char* OWNER(int protection);
extern int packs;

#ifdef IS_RUNTIME
int packs;
char* OWNER(int protection) { return mmap(NULL, kBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size, int* at, MPI_Comm comm) {
  ++packs;
  void* memory = size == kBytes ? out : (void*)in;
  mprotect(memory, kBytes, PROT_READ | PROT_WRITE);
  const int code = PMPI_Pack(in, count, type, out, size, at, comm);
  mprotect(memory, kBytes, PROT_NONE);
  return code;
}
#else
int main(int argc, char** argv) {
  MPI_Datatype type;
  char packed[64];
  double sent[64] = {0};
  int at = 0;
  MPI_Init(&argc, &argv);
  char* memory = OWNER(IS_DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE);
  MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Pack(memory, 1, type, packed, 64, &at, MPI_COMM_SELF);    // specialized
  MPI_Pack(sent, 1, type, memory, kBytes, &at, MPI_COMM_SELF);  // specialized
  MPI_Type_free(&type);
  printf("packed by MPI: %d of %d\n", packs, at);
  MPI_Finalize();
  return 0;
}
#endif
