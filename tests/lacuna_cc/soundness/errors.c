// Errors that the program survives: what it finds then is what it finds without.
#include "../check.h"

static int errors;
static int class_of(int code) {
  int found = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &found);
  errors += found != MPI_SUCCESS;
  return found;
}
#define IS(call, class) (class_of(call) == (class))

// A message far longer than its receive has room for, which Open MPI writes past the end of
// contiguous memory: not of the caller's frame, nor of what packed data stand in.
enum { kLong = 240000 };
static double line[kLong];
static void tell_too_long(const char* name, int code) {
  int outside = 0;
  const int is_cut = IS(code, MPI_ERR_TRUNCATE);
  // What stands in the receive itself is the library's choice.
  for (int i = 0; i < kBytes; ++i) outside += got[i] != 0xa6 && (i < 4096 || i % 24 >= 8 + 4096 % 24);
  if (rank == 1) printf("%s: too long %d, outside %d\n", name, is_cut, outside);
}
__attribute__((noinline)) static void too_long(MPI_Comm comm, int n) {
  MPI_Datatype small = column(64, 3), large = column(n, 3);
  MPI_Request request;
  for (int length = 600; length <= kLong / 6; length *= 8) {
    refill(3);
    if (rank == 0) MPI_Send(line, length, MPI_DOUBLE, 1, 1, comm);
    if (rank == 1)
      tell_too_long("receive", MPI_Recv(got + 4096, 1, small, 0, 1, comm, MPI_STATUS_IGNORE));  // specialized
    if (rank == 0) MPI_Send(line, 6 * length, MPI_DOUBLE, 1, 2, comm);
    if (rank == 1)
      tell_too_long("of the run time", MPI_Recv(got + 4096, 1, large, 0, 2, comm, MPI_STATUS_IGNORE));  // specialized
    if (rank == 0) MPI_Send(line, length, MPI_DOUBLE, 1, 3, comm);
    if (rank == 1)
      tell_too_long("exchange", MPI_Sendrecv(line, 0, MPI_DOUBLE, MPI_PROC_NULL, 3, got + 4096, 1, small, 0, 3, comm,  // specialized
                                             MPI_STATUS_IGNORE));
    if (rank == 0) MPI_Send(line, length, MPI_DOUBLE, 1, 4, comm);
    if (rank == 1) {
      MPI_Irecv(got + 4096, 1, small, 0, 4, comm, &request);  // specialized
      tell_too_long("later", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  }
  MPI_Type_free(&small);
  MPI_Type_free(&large);
}

// What may be no type is committed, freed: an error.
__attribute__((noinline)) static void perhaps_none(int is_made, const char* name) {
  MPI_Datatype freed = MPI_DATATYPE_NULL, committed = MPI_DATATYPE_NULL;
  char packed[256];
  int at = 0;
  errors = 0;
  if (is_made) {
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &freed);
    MPI_Type_commit(&freed);
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &committed);
  }
  if (!IS(MPI_Type_commit(&committed), is_made ? MPI_SUCCESS : MPI_ERR_TYPE)) errors += 10;
  if (is_made) {
    MPI_Pack(line, 1, freed, packed, 256, &at, MPI_COMM_SELF);      // specialized
    MPI_Pack(line, 1, committed, packed, 256, &at, MPI_COMM_SELF);  // specialized
    MPI_Type_free(&committed);
  }
  MPI_Type_free(&freed);
  if (rank == 1) printf("%s: %d packed, %d errors\n", name, at, errors);
}
static int told;
static void tell_handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++told;
}

// There is no such type.
__attribute__((noinline)) static void outside(int start, int subsize) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int sizes[2] = {6, 6}, subsizes[2] = {2, subsize}, starts[2] = {start, 1};
  char packed[1024];
  int at = 0;
  told = 0;
  memset(packed, 0, sizeof packed);
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Pack(line, 1, type, packed, sizeof packed, &at, MPI_COMM_SELF);  // specialized
  memcpy(got, packed, sizeof packed);
  MPI_Type_free(&type);
  if (rank == 1) printf("from %d, %d of 6: %d packed, %d errors\n", start, subsize, at, told);
  tell("subarray", NULL, MPI_DOUBLE);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Comm own;
  start(&argc, &argv);
  for (int i = 0; i < kLong; ++i) line[i] = i;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // some libraries ask that of waits
  too_long(own, 700 + argc);
  MPI_Comm_free(&own);
  MPI_Comm_create_errhandler(tell_handler, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  refill(1);
  for (int start = -1; start < 6; ++start) outside(start, 3);
  for (int subsize = -1; subsize < 7; ++subsize) outside(2, subsize);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  perhaps_none(argc > 0, "made");
  perhaps_none(argc > 1, "none");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  told = 0;
  perhaps_none(argc > 1, "told of");
  if (rank == 1) printf("%d told\n", told);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
