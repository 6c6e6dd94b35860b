// Preloaded: counts the attributes that types are given.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

int types_noted(void);

static int noted;
int types_noted(void) { return noted; }

int PMPI_Type_set_attr(MPI_Datatype type, int keyval, void* value) {
  int (*next)(MPI_Datatype, int, void*) = (int (*)(MPI_Datatype, int, void*))dlsym(RTLD_NEXT, "PMPI_Type_set_attr");
  ++noted;
  return next(type, keyval, value);
}
