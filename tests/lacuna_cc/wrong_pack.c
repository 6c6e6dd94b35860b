// Preloaded: an MPI_Pack that gets its last byte wrong, so that what is compiled differs from it.
#include <mpi.h>

int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size, int* position, MPI_Comm comm) {
  const int code = PMPI_Pack(in, count, type, out, size, position, comm);
  if (*position > 0) ((char*)out)[*position - 1] ^= 1;
  return code;
}

#ifdef SENDS
// And an MPI_Send that gets the first byte of a derived type's buffer wrong.
int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  int numbers, addresses, types, combiner;
  PMPI_Type_get_envelope(type, &numbers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) *(char*)data ^= 1;
  return PMPI_Send(data, count, type, to, tag, comm);
}
#endif
