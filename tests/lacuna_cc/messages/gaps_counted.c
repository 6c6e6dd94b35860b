// An MPI tool that counts, for gaps.c: threads do so at once.
#include <mpi.h>

int g_made, g_freed;

int MPI_Type_indexed(int count, const int* lengths, const int* places, MPI_Datatype of, MPI_Datatype* type) {
  __atomic_add_fetch(&g_made, 1, __ATOMIC_RELAXED);
  return PMPI_Type_indexed(count, lengths, places, of, type);
}

// Of the others no type is left either.
int MPI_Type_vector(int count, int length, int stride, MPI_Datatype of, MPI_Datatype* type) {
  __atomic_add_fetch(&g_made, 1, __ATOMIC_RELAXED);
  return PMPI_Type_vector(count, length, stride, of, type);
}

int MPI_Type_free(MPI_Datatype* type) {
  __atomic_add_fetch(&g_freed, 1, __ATOMIC_RELAXED);
  return PMPI_Type_free(type);
}
