// The rules of docs/internals/optimizer.md: what is not proven stays as it is, and what the program can see stays the
// same.
#include "../check.h"

#define SEND(type, count) \
  if (rank == 0) MPI_Send(sent + 4096, count, type, 1, 5, MPI_COMM_WORLD)
#define RECV(type, count, status) \
  if (rank == 1) MPI_Recv(got + 4096, count, type, 0, 5, MPI_COMM_WORLD, status)
#define BOTH(name, type, count) \
  do {                          \
    MPI_Status status_;         \
    refill(__LINE__);           \
    SEND(type, count);          \
    RECV(type, count, &status_); \
    tell(name, rank == 1 ? &status_ : NULL, type); \
  } while (0)

MPI_Datatype seen_by_all;
static MPI_Datatype own_column, own_either;
static volatile MPI_Datatype unsteady;

// A value denotes an object: a variable may hold one type after another.
static void variable_used_twice(void) {
  MPI_Datatype type = column(4, 9);
  BOTH("first", type, 1);  // specialized
  MPI_Type_free(&type);
  type = column(6, 5);
  BOTH("second", type, 1);  // specialized
  MPI_Type_free(&type);
}
// Whoever has the address may write there.
static void address_given_away(void) {
  MPI_Datatype type = column(4, 9);
  look_at(&type);
  BOTH("given away", type, 1);  // asks: loaded from memory
  MPI_Type_free(&type);
}
static void global(void) {
  seen_by_all = column(4, 7);
  look_at(NULL);
  BOTH("global", seen_by_all, 1);  // asks: other files
  MPI_Type_free(&seen_by_all);
}
static void volatile_variable(void) {
  unsteady = column(4, 7);
  BOTH("volatile", unsteady, 1);  // asks: loaded from memory
  MPI_Datatype type = unsteady;
  MPI_Type_free(&type);
}
// Only this file sees it, and only ever one type.
__attribute__((noinline)) static void make_own(void) { own_column = column(5, 6); }
__attribute__((noinline)) static void use_own(void) {
  BOTH("own global", own_column, 2);  // specialized
}
__attribute__((noinline)) static void make_either(int which) { own_either = which ? column(5, 6) : column(6, 5); }
__attribute__((noinline)) static void use_either(void) {
  BOTH("own global of two types", own_either, 1);  // asks: different types
}
// Where ways meet, all must bring the same.
__attribute__((noinline)) static void ways_meet(int which) {
  MPI_Datatype type;
  if (which) {
    MPI_Type_vector(3, 1, 4, MPI_INT, &type);
  } else {
    MPI_Type_contiguous(4, MPI_INT, &type);
  }
  MPI_Type_commit(&type);
  look_at(NULL);
  BOTH("ways meet", type, 1);  // asks: different types
  MPI_Type_free(&type);
}
__attribute__((noinline)) static void same_ways_meet(int which) {
  MPI_Datatype type;
  if (which) {
    look_at(sent);
    MPI_Type_vector(3, 1, 4, MPI_INT, &type);
  } else {
    MPI_Type_vector(3, 1, 4, MPI_INT, &type);
  }
  MPI_Type_commit(&type);
  look_at(NULL);
  BOTH("same ways meet", type, 1);  // specialized
  MPI_Type_free(&type);
}
// LLVM makes one constructor of two that differ in a number, which is then of the run time.
__attribute__((noinline)) static void like_ways_meet(int which) {
  MPI_Datatype type;
  if (which) {
    MPI_Type_vector(3, 1, 4, MPI_INT, &type);
  } else {
    MPI_Type_vector(4, 1, 4, MPI_INT, &type);
  }
  MPI_Type_commit(&type);
  look_at(NULL);
  BOTH("like ways meet", type, 1);  // specialized
  MPI_Type_free(&type);
}
__attribute__((noinline)) static void argument(MPI_Datatype type) {
  BOTH("argument", type, 1);  // asks: argument
}
static void made_in_a_loop(int n) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  for (int i = 0; i < n; ++i) {
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    type = column(3 + i, 4);
  }
  BOTH("made in a loop", type, 1);  // asks: run-time
  MPI_Type_free(&type);
}
// A receive may bring less than it asks for, down to a part of an element.
static void short_receive(void) {
  MPI_Datatype type = column(8, 3), half;
  MPI_Type_contiguous(11, MPI_DOUBLE, &half);
  MPI_Type_commit(&half);
  MPI_Status status;
  refill(1);
  SEND(half, 1);  // specialized
  RECV(type, 3, &status);  // specialized
  tell("short", rank == 1 ? &status : NULL, type);
  refill(2);
  SEND(half, 0);  // left: nothing to move
  RECV(type, 3, &status);  // specialized
  tell("empty", rank == 1 ? &status : NULL, type);
  MPI_Type_free(&half);
  MPI_Type_free(&type);
}
// Errors are the library's: of the same class, and from the same call.
static int class_of(int code) {
  int found = 0;
  MPI_Error_class(code, &found);
  return found;
}
// A count of the run time, which may be negative: there is no type, but the error is told where it would have been.
static int told_errors;
static void tell_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  if (rank == 1) printf("an error\n");
  ++told_errors;
}
__attribute__((noinline)) static void made_of(int count) {
  MPI_Datatype type;
  MPI_Type_vector(count, 2, 3, MPI_DOUBLE, &type);  // not made
  if (rank == 1) printf("made of %d: %d\n", count, told_errors);
  if (told_errors != 0) return;
  MPI_Type_commit(&type);
  refill(count);
  SEND(type, 1);                     // specialized
  RECV(type, 1, MPI_STATUS_IGNORE);  // specialized
  tell("made of", NULL, type);
  MPI_Type_free(&type);
}
static void negative_counts(int count) {
  MPI_Errhandler handler;
  made_of(5);
  MPI_Comm_create_errhandler(tell_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  made_of(count);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}
__attribute__((noinline)) static void errors(int count, int peer, int tag, void* buffer) {
  MPI_Datatype type = column(8, 3), shorter = column(7, 3);
  MPI_Datatype empty;
  MPI_Status status;
  MPI_Type_contiguous(count + 1, MPI_DOUBLE, &empty);
  MPI_Type_commit(&empty);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 1) {
    printf("less than nothing %d\n", class_of(MPI_Send(sent, count, empty, 0, 5, MPI_COMM_WORLD)) == MPI_ERR_COUNT);  // specialized
    printf("negative count %d\n", class_of(MPI_Send(sent, count, type, 0, 5, MPI_COMM_WORLD)) == MPI_ERR_COUNT);  // specialized
    printf("no such rank %d\n", class_of(MPI_Send(sent, 1, type, peer, 5, MPI_COMM_WORLD)) == MPI_ERR_RANK);      // specialized
    printf("no such tag %d\n", class_of(MPI_Send(sent, 1, type, 0, tag, MPI_COMM_WORLD)) == MPI_ERR_TAG);         // specialized
    printf("no buffer %d\n", MPI_Send(buffer, count + 1, type, MPI_PROC_NULL, 5, MPI_COMM_WORLD) == MPI_SUCCESS);  // specialized
  }
  SEND(type, 1);  // specialized
  if (rank == 1) {
    int code = MPI_Recv(got, 1, shorter, 0, 5, MPI_COMM_WORLD, &status);  // specialized
    printf("too long %d\n", class_of(code) == MPI_ERR_TRUNCATE);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&empty);
  MPI_Type_free(&type);
  MPI_Type_free(&shorter);
}
// An error handler of the program's may do anything to its variables.
static int handled;
static void count_errors(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  if (*code != MPI_SUCCESS) ++handled;
}
__attribute__((noinline)) static void handler(int count) {
  MPI_Errhandler counting;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Comm_create_errhandler(count_errors, &counting);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, counting);
  handled = 0;
  MPI_Type_contiguous(count, MPI_INT, &type);
  const int errors = handled;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&counting);
  if (rank == 1) printf("handled %d\n", errors);
}
// From nobody, to nobody.
static void nobody(void) {
  MPI_Datatype type = column(8, 3);
  MPI_Status status;
  refill(3);
  MPI_Send(sent, 1, type, MPI_PROC_NULL, 5, MPI_COMM_WORLD);           // specialized
  MPI_Recv(got, 1, type, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);  // specialized
  if (rank == 1) {
    int count = -1;
    MPI_Get_count(&status, type, &count);
    printf("nobody %d %d %d\n", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG, count);
  }
  MPI_Type_free(&type);
}
// Absolute addresses: the buffer is MPI_BOTTOM.
static void from_bottom(void) {
  MPI_Datatype type;
  int lengths[2] = {1, 2};
  MPI_Aint places[2];
  MPI_Get_address(rank == 0 ? sent + 64 : got + 64, &places[0]);
  MPI_Get_address(rank == 0 ? sent + 512 : got + 512, &places[1]);
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  refill(4);
  if (rank == 0) MPI_Send(MPI_BOTTOM, 1, type, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(MPI_BOTTOM, 1, type, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  tell("bottom", NULL, type);
  MPI_Type_free(&type);
}
// What else is asked of a type keeps it.
static void asked_about(void) {
  MPI_Datatype type = column(8, 3);
  int size = 0, code;
  MPI_Aint lb, extent;
  MPI_Type_size(type, &size);
  MPI_Type_get_extent(type, &lb, &extent);
  BOTH("asked about", type, 1);  // specialized
  if (rank == 1) printf("size %d extent %ld\n", size, (long)extent);
  MPI_Type_free(&type);
  code = MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  if (rank == 1) printf("code %d\n", code == MPI_SUCCESS);
  MPI_Type_free(&type);
}
// Other modes and other functions stay what they are.
static void other_modes(void) {
  MPI_Datatype type = column(8, 3);
  refill(5);
  if (rank == 0) MPI_Ssend(sent + 4096, 1, type, 1, 5, MPI_COMM_WORLD);
  RECV(type, 1, MPI_STATUS_IGNORE);  // specialized
  tell("synchronous", NULL, type);
  MPI_Type_free(&type);
}
// An exchange, with both sides specialized, or one.
static void exchange(void) {
  MPI_Datatype type = column(8, 3), flat = column(16, 1);
  MPI_Status status;
  refill(6);
  MPI_Sendrecv(sent + 4096, 2, type, other, 1, got + 4096, 1, flat, other, 1, MPI_COMM_WORLD, &status);  // specialized
  tell("exchange", rank == 1 ? &status : NULL, flat);
  refill(7);
  MPI_Sendrecv(sent + 4096, 8, MPI_DOUBLE, other, 1, got + 4096, 3, type, other, 1, MPI_COMM_WORLD, &status);  // specialized
  tell("exchange of one", rank == 1 ? &status : NULL, type);
  MPI_Type_free(&type);
  MPI_Type_free(&flat);
}
static void packing(void) {
  MPI_Datatype type = column(8, 3);
  char packed[512];
  int at = 3;
  refill(8);
  MPI_Pack(sent + 4096, 4, type, packed, 512, &at, MPI_COMM_WORLD);  // specialized
  if (rank == 1) printf("packed to %d\n", at);
  at = 3;
  MPI_Unpack(packed, 512, &at, got + 4096, 4, type, MPI_COMM_WORLD);  // specialized
  tell("unpacked", NULL, type);
  MPI_Type_free(&type);
}
// Rows of elements that each begin before the last: MPICH lays them out in a way of its own. The
// receive is the library's.
__attribute__((noinline)) static void backward_rows(MPI_Aint extent) {
  MPI_Datatype part, backward, rows[3];
  MPI_Request receive;
  MPI_Type_vector(2, 1, 3, MPI_INT, &part);
  MPI_Type_create_resized(part, 0, -64, &backward);
  MPI_Type_contiguous(3, backward, &rows[0]);
  MPI_Type_commit(&rows[0]);
  MPI_Type_create_resized(part, 0, extent, &rows[1]);
  MPI_Type_vector(1, 3, 7, rows[1], &rows[2]);
  MPI_Type_commit(&rows[2]);
  refill(9);
  MPI_Recv_init(got + 4096, 3, rows[0], other, 1, MPI_COMM_WORLD, &receive);
  MPI_Start(&receive);
  MPI_Send(sent + 4096, 3, rows[0], other, 1, MPI_COMM_WORLD);  // left: begin before the last
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Request_free(&receive);
  tell("backward rows", NULL, MPI_INT);
  refill(10);
  MPI_Recv_init(got + 4096, 3, rows[2], other, 1, MPI_COMM_WORLD, &receive);
  MPI_Start(&receive);
  MPI_Send(sent + 4096, 3, rows[2], other, 1, MPI_COMM_WORLD);  // specialized
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Request_free(&receive);
  tell("perhaps backward rows", NULL, MPI_INT);
  MPI_Type_free(&part);
  MPI_Type_free(&backward);
  for (int i = 0; i < 3; ++i) MPI_Type_free(&rows[i]);
}
__attribute__((optnone, noinline)) static void not_optimized(void) {
  MPI_Datatype type;
  MPI_Type_vector(8, 1, 3, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  BOTH("not optimized", type, 1);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  variable_used_twice();
  address_given_away();
  global();
  volatile_variable();
  make_own();
  use_own();
  MPI_Type_free(&own_column);
  make_either(argc);
  use_either();
  MPI_Type_free(&own_either);
  ways_meet(argc);
  same_ways_meet(argc);
  like_ways_meet(argc);
  like_ways_meet(argc - 1);
  MPI_Datatype given = column(argc + 4, 3);
  look_at(&given);
  argument(given);
  MPI_Type_free(&given);
  made_in_a_loop(argc + 2);
  short_receive();
  errors(-argc, argc + 7, -argc - 100, argc > 0 ? NULL : sent);
  handler(-argc);
  negative_counts(-argc);
  nobody();
  from_bottom();
  asked_about();
  other_modes();
  exchange();
  packing();
  backward_rows(-64 * argc);
  backward_rows(64 * argc);
  not_optimized();
  MPI_Finalize();
  return 0;
}
