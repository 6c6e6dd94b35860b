// Preloaded: an MPI_Pack that gets its last byte wrong, so that what is compiled differs from it.
#include <mpi.h>

int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size, int* position, MPI_Comm comm) {
  const int code = PMPI_Pack(in, count, type, out, size, position, comm);
  if (*position > 0) ((char*)out)[*position - 1] ^= 1;
  return code;
}
