// MPI-4's functions with MPI_Counts: as those with ints, and nothing of a count is lost.
#include <stddef.h>

#include "../check.h"

#define PLACE 4096

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}
static MPI_Datatype column_of(MPI_Count n, MPI_Count stride) {
  MPI_Datatype type;
  MPI_Type_vector_c(n, 1, stride, MPI_DOUBLE, &type);
  return committed(type);
}

static void shift(const char* name, MPI_Datatype type) {
  tell(name, NULL, type);
  refill(rank + 17);
}

// Every constructor, sent as it is and received as what it holds; and the other way round.
#define BOTH_WAYS(name, bytes, type) \
  do { \
    MPI_Datatype made = type; \
    MPI_Sendrecv_c(sent + PLACE, 1, made, other, 0, got, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); \
    shift(name, made); \
    MPI_Type_free(&made); \
  } while (0)

struct mixed {
  int number;
  double values[3];
};

static MPI_Datatype contiguous(MPI_Count n) {
  MPI_Datatype type, of;
  MPI_Type_vector_c(n, 2, 3, MPI_INT, &of);
  MPI_Type_contiguous_c(3, of, &type);
  MPI_Type_free(&of);
  return committed(type);
}
static MPI_Datatype hvector(MPI_Count n) {
  MPI_Datatype type;
  MPI_Type_create_hvector_c(n, 2, -24, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype indexed(void) {
  const MPI_Count lengths[3] = {2, 1, 3}, places[3] = {7, -2, 12};
  MPI_Datatype type;
  MPI_Type_indexed_c(3, lengths, places, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype hindexed(void) {
  const MPI_Count lengths[3] = {2, 1, 3}, places[3] = {56, -16, 96};
  MPI_Datatype type;
  MPI_Type_create_hindexed_c(3, lengths, places, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype indexed_block(void) {
  const MPI_Count places[3] = {9, 0, 4};
  MPI_Datatype type;
  MPI_Type_create_indexed_block_c(3, 2, places, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype hindexed_block(void) {
  const MPI_Count places[3] = {72, 0, 32};
  MPI_Datatype type;
  MPI_Type_create_hindexed_block_c(3, 2, places, MPI_DOUBLE, &type);
  return committed(type);
}
static MPI_Datatype fields(void) {
  const MPI_Count lengths[2] = {1, 3}, places[2] = {offsetof(struct mixed, number), offsetof(struct mixed, values)};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type, of;
  MPI_Type_create_struct_c(2, lengths, places, types, &of);
  MPI_Type_create_resized_c(of, 0, sizeof(struct mixed), &type);
  MPI_Type_free(&of);
  return committed(type);
}
static MPI_Datatype tile(MPI_Count n) {
  const MPI_Count sizes[3] = {8, 9, n}, subsizes[3] = {2, 3, 4}, starts[3] = {5, 1, 2};
  MPI_Datatype type;
  MPI_Type_create_subarray_c(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  return committed(type);
}
// A list of the run time, which the program changes once the type is made.
static void listed(int n) {
  MPI_Count places[64];
  for (int i = 0; i < n; ++i) places[i] = (i * 5) % n * 2;
  MPI_Datatype type;
  MPI_Type_create_indexed_block_c(n, 1, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  memset(places, 0, sizeof places);
  look_at(places);
  MPI_Send_c(sent + PLACE, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD);  // specialized
  MPI_Sendrecv_c(sent + PLACE, 1, type, other, 0, got, n, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // specialized
  shift("listed", type);
  MPI_Type_free(&type);
}

static void constructors(int n) {
  BOTH_WAYS("contiguous", 72, contiguous(3));  // specialized
  BOTH_WAYS("vector", 8 * n, column_of(n, 5));  // specialized
  BOTH_WAYS("hvector", 80, hvector(5));  // specialized
  BOTH_WAYS("indexed", 48, indexed());  // specialized
  BOTH_WAYS("hindexed", 48, hindexed());  // specialized
  BOTH_WAYS("indexed_block", 48, indexed_block());  // specialized
  BOTH_WAYS("hindexed_block", 48, hindexed_block());  // specialized
  BOTH_WAYS("tile", 96, tile(n + 10));  // specialized
  listed(n + 20);
  MPI_Datatype type = fields();
  MPI_Status status;
  if (rank == 0) {
    MPI_Send_c(sent + PLACE, 5, type, 1, 3, MPI_COMM_WORLD);  // specialized
  } else {
    MPI_Recv_c(got, n + 5, type, 0, 3, MPI_COMM_WORLD, &status);  // specialized
    tell("fields", &status, type);
  }
  MPI_Type_free(&type);
}

static void calls(MPI_Count n) {
  MPI_Datatype type = column_of(6, 4), own = column_of(n, 3);
  MPI_Request requests[2];
  refill(rank + 1);
  MPI_Irecv_c(got, n, type, other, 1, MPI_COMM_WORLD, &requests[0]);           // specialized
  MPI_Isend_c(sent + PLACE, n, type, other, 1, MPI_COMM_WORLD, &requests[1]);  // specialized
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  shift("nonblocking", type);
  memcpy(got, sent, kBytes);
  MPI_Bcast_c(got + PLACE, 2, own, 0, MPI_COMM_WORLD);  // specialized
  shift("to all", type);
  if (rank == 0) {  // the same function of MPI
    MPI_Bcast_c(got + PLACE, 2, type, 0, MPI_COMM_WORLD);  // specialized
  } else {
    MPI_Datatype shown = type;
    look_at(&shown);
    MPI_Bcast(got + PLACE, 2, shown, 0, MPI_COMM_WORLD);  // asks: loaded from memory
  }
  shift("to one", type);
  MPI_Alltoall_c(sent + PLACE, 2, own, got, 2 * n, MPI_DOUBLE, MPI_COMM_WORLD);  // specialized
  shift("each to each", type);
  MPI_Type_free(&own);
  MPI_Type_free(&type);
}

static void packed(MPI_Count n) {
  MPI_Datatype type = column_of(6, 4);
  MPI_Count position = 8;
  refill(rank + 4);
  MPI_Pack_c(sent + PLACE, n, type, got, kBytes, &position, MPI_COMM_WORLD);  // specialized
  if (rank == 1) printf("packed %d\n", (int)position);
  position = 8;
  MPI_Unpack_c(got, kBytes, &position, got + PLACE, n, type, MPI_COMM_WORLD);  // specialized
  if (rank == 1) printf("unpacked %d\n", (int)position);
  shift("packed", type);
  MPI_Type_free(&type);
}

// Calls of types that are made elsewhere.
__attribute__((noinline)) static void asked(MPI_Datatype type, MPI_Count n) {
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Count position = 8;
  refill(rank + 3);
  MPI_Pack_c(sent + PLACE, n, type, got, kBytes, &position, MPI_COMM_WORLD);  // asks: argument
  if (rank == 1) printf("packed %d\n", (int)position);
  position = 8;
  MPI_Unpack_c(got, kBytes, &position, got + PLACE, n, type, MPI_COMM_WORLD);  // asks: argument
  shift("asked and packed", type);
  MPI_Sendrecv_c(sent + PLACE, n, type, other, 1, got + PLACE, n + 1, type, other, 1, MPI_COMM_WORLD, &status);  // asks
  tell("asked and exchanged", &status, type);
  refill(rank + 5);
  if (rank == 0) {
    MPI_Send_c(sent + PLACE, n, type, 1, 3, MPI_COMM_WORLD);  // asks: argument
  } else {
    MPI_Recv_c(got, n + 5, type, 0, 3, MPI_COMM_WORLD, &status);  // asks: argument
    tell("asked and received", &status, type);
  }
  MPI_Irecv_c(got, n, type, other, 1, MPI_COMM_WORLD, &requests[0]);           // asks: argument
  MPI_Isend_c(sent + PLACE, n, type, other, 1, MPI_COMM_WORLD, &requests[1]);  // asks: argument
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  shift("asked and waited", type);
  memcpy(got, sent, kBytes);
  MPI_Bcast_c(got + PLACE, n, type, 0, MPI_COMM_WORLD);  // asks: argument
  shift("asked and broadcast", type);
  MPI_Alltoall_c(sent + PLACE, n, type, got, n, type, MPI_COMM_WORLD);  // asks: argument
  shift("asked and sent to each", type);
}

static void say(const char* what, int code) {
  int found = MPI_SUCCESS;
  MPI_Error_class(code, &found);
  if (rank == 1) printf("%s: count %d, good %d\n", what, found == MPI_ERR_COUNT, found == MPI_SUCCESS);
}

// Numbers whose low 32 bits are another one that would do.
static void what_an_int_has_not(MPI_Count n) {
  const MPI_Count four_gi = (MPI_Count)1 << 32;
  MPI_Datatype type = column_of(6, 4), shown = column_of(2, 2);
  look_at(&shown);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  refill(rank + 9);
  MPI_Count position = 0;
  say("packed", MPI_Pack_c(sent, n * -four_gi + 1, type, got, kBytes, &position, MPI_COMM_SELF));  // specialized
  if (rank == 1) printf("position %d\n", (int)position);
  say("sent", MPI_Send_c(sent, n * -four_gi + 1, type, MPI_PROC_NULL, 0, MPI_COMM_SELF));  // specialized
  say("many", MPI_Send_c(sent, n * four_gi + 1, type, MPI_PROC_NULL, 0, MPI_COMM_SELF));  // specialized
  say("the other", MPI_Sendrecv_c(sent, n * -four_gi + 1, shown, MPI_PROC_NULL, 0, got, 1, type, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));  // specialized
  say("asked", MPI_Send_c(sent, n * four_gi + 1, shown, MPI_PROC_NULL, 0, MPI_COMM_SELF));  // asks: loaded from memory
  say("asked", MPI_Send_c(sent, n * -four_gi + 1, shown, MPI_PROC_NULL, 0, MPI_COMM_SELF));  // asks: loaded from memory
  say("asked", MPI_Recv_c(got, n * -four_gi + 1, shown, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));  // asks
  say("each", MPI_Alltoall_c(sent, n * -four_gi + 1, type, got, 6, MPI_DOUBLE, MPI_COMM_SELF));  // specialized
  MPI_Datatype wide;
  const int code = MPI_Type_vector_c(n * -four_gi + 6, 1, 4, MPI_DOUBLE, &wide);
  if (rank == 1) printf("a negative count is an error %d\n", code != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  tell("nothing", NULL, type);
  MPI_Type_free(&shown);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  refill(rank);
  constructors(argc + 6);
  calls(argc + 1);
  packed(argc + 2);
  MPI_Datatype given = column_of(argc + 4, 3), twice = tile(argc + 11);
  asked(given, argc + 1);
  asked(twice, argc + 2);
  MPI_Type_free(&given);
  MPI_Type_free(&twice);
  what_an_int_has_not(argc);
  MPI_Finalize();
  return 0;
}
