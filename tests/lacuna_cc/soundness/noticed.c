// What a program could notice: functions of its own that MPI calls, variables that a type reaches
// or that hold one.
#include "../check.h"

#define FROM_TO(buffer, type, into)                               \
  if (rank == 0) MPI_Send(buffer, 1, type, 1, 5, MPI_COMM_WORLD); \
  if (rank == 1) MPI_Recv(into, 1, type, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)

// Attributes: a copy of a type calls the program's functions, and so does freeing it.
static int copied, deleted;
static int copy(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)extra;
  ++copied;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}
static void attributes(void) {
  MPI_Datatype type = column(5, 7), twin, of_twin, of_basic;
  int key, at = 0;
  char packed[64];
  MPI_Type_create_keyval(copy, delete, &key, NULL);
  MPI_Type_set_attr(type, key, &rank);
  MPI_Type_dup(type, &twin);
  MPI_Type_dup(twin, &of_twin);
  refill(1);
  MPI_Pack(sent, 1, of_twin, packed, 64, &at, MPI_COMM_WORLD);  // specialized
  memcpy(got, packed, 40);
  MPI_Type_free(&twin);
  MPI_Type_free(&of_twin);
  tell("copies", NULL, type);
  if (rank == 1) printf("copied %d deleted %d\n", copied, deleted);
  MPI_Type_free(&type);
  MPI_Type_set_attr(MPI_DOUBLE, key, &rank);
  MPI_Type_dup(MPI_DOUBLE, &of_basic);
  MPI_Type_free(&of_basic);
  MPI_Type_delete_attr(MPI_DOUBLE, key);
  if (rank == 1) printf("copied %d deleted %d\n", copied, deleted);
  MPI_Type_free_keyval(&key);
}

// A variable of this file that no type was put into: MPI tells of the error.
static MPI_Datatype never_set;
__attribute__((noinline)) static void set(void) { never_set = column(4, 3); }
__attribute__((noinline)) static void use_unset(void) {
  int found = MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Send(sent, 1, never_set, MPI_PROC_NULL, 5, MPI_COMM_WORLD);  // specialized
  if (code != MPI_SUCCESS) MPI_Error_class(code, &found);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (rank == 1) printf("never set %d\n", found == MPI_ERR_TYPE);
}

// No place for what MPI gives, or nothing to take: an error, not a crash.
__attribute__((noinline)) static void nowhere(void) {
  const int ones[2] = {1, 1};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int errors = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  errors += MPI_Type_indexed(2, NULL, ones, MPI_DOUBLE, &type) != MPI_SUCCESS;
  errors += 2 * (MPI_Comm_rank(MPI_COMM_WORLD, NULL) != MPI_SUCCESS);
  errors += 4 * (MPI_Type_contiguous(2, MPI_DOUBLE, NULL) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (rank == 1) printf("nowhere %d\n", errors);
}

// The same where only the run time knows; and where there is a place, the type is followed.
__attribute__((noinline)) static int make_at(int n, MPI_Datatype* where) {
  const int code = MPI_Type_vector(n, 1, 3, MPI_DOUBLE, where);
  return code == MPI_SUCCESS ? MPI_Type_commit(where) : code;
}
__attribute__((noinline)) static int list_at(const int* lengths, const int* places,
                                             MPI_Datatype* where) {
  return MPI_Type_indexed(2, lengths, places, MPI_DOUBLE, where);
}
__attribute__((noinline)) static int rank_at(int* where) {
  return MPI_Comm_rank(MPI_COMM_WORLD, where);
}
static int make_inline(int n, MPI_Datatype* where) {
  const int code = MPI_Type_vector(n, 1, 2, MPI_DOUBLE, where);
  return code == MPI_SUCCESS ? MPI_Type_commit(where) : code;
}
__attribute__((noinline)) static void use_at(int n, MPI_Datatype* where) {
  char packed[256];
  int at = 0;
  MPI_Type_vector(n, 1, 2, MPI_DOUBLE, where);
  MPI_Type_commit(where);
  MPI_Pack(sent, 1, *where, packed, 256, &at, MPI_COMM_SELF);  // specialized
  memcpy(got, packed, (size_t)at);
  MPI_Type_free(where);
  tell("used at", NULL, *where);
}
__attribute__((noinline)) static void perhaps_nowhere(int n) {
  static const int ones[2] = {1, 2};
  MPI_Datatype type = MPI_DATATYPE_NULL, *volatile where = NULL;
  int found = -1, errors = 0, *volatile number = NULL;
  const int* volatile list = NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  errors += make_at(n, where) != MPI_SUCCESS;
  errors += 2 * (list_at(list, ones, &type) != MPI_SUCCESS);
  errors += 4 * (list_at(ones, list, &type) != MPI_SUCCESS);
  errors += 8 * (list_at(ones, ones, where) != MPI_SUCCESS);
  errors += 16 * (rank_at(number) != MPI_SUCCESS);
  errors += 32 * (make_inline(n, where) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  where = &type, list = ones, number = &found;
  refill(7);
  if (list_at(list, ones, where) == MPI_SUCCESS && MPI_Type_free(where) == MPI_SUCCESS)
    errors += 64;
  if (make_at(n, where) == MPI_SUCCESS && MPI_Type_free(where) == MPI_SUCCESS) errors += 128;
  if (rank_at(number) == MPI_SUCCESS && found == rank) errors += 256;
  if (rank == 1) printf("perhaps nowhere %d\n", errors);
  use_at(n, where);
}
static void make_surely(int n, MPI_Datatype* where) {
  MPI_Type_vector(n, 1, 2, MPI_DOUBLE, where);  // not made
  MPI_Type_commit(where);
}
__attribute__((noinline)) static void make_in_frame(int n) {
  MPI_Datatype type;
  char packed[256];
  int at = 0;
  make_surely(n, &type);
  refill(8);
  MPI_Pack(sent, 1, type, packed, 256, &at, MPI_COMM_SELF);  // specialized
  memcpy(got, packed, (size_t)at);
  MPI_Type_free(&type);
  tell("made in the frame", NULL, MPI_DOUBLE);
}

// Displacements from one variable to another, which MPI forbids, and programs use.
__attribute__((noinline)) static void between_variables(int n, const char* given) {
  float a = 0;
  double b = 0;
  int c = 0, at = 0;
  char packed[64];
  int lengths[3] = {1, 1, 1};
  MPI_Aint places[3] = {0}, begin, place;
  MPI_Datatype types[3] = {MPI_FLOAT, MPI_DOUBLE, MPI_INT}, type;
  memcpy(packed, given, sizeof packed);
  MPI_Get_address(&a, &begin);
  MPI_Get_address(&b, &place);
  places[1] = place - begin;
  MPI_Get_address(&c, &place);
  places[2] = place - begin;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  MPI_Type_commit(&type);
  a = 0, b = 0, c = 0;
  MPI_Unpack(packed, 64, &at, &a, 1, type, MPI_COMM_SELF);  // specialized
  if (rank == 1) printf("unpacked %g %g %d\n", a, b, c);
  a = (float)n, b = 2.5 * n, c = 7 * n, at = 0;
  MPI_Pack(&a, 1, type, packed, 64, &at, MPI_COMM_SELF);  // specialized
  b = 0, c = 0;
  double seen;
  memcpy(&seen, packed + 4, 8);
  if (rank == 1) printf("packed %g\n", seen);
  for (int i = 0; i < 2; ++i) {
    a = (float)i, b = rank == 0 ? i + 4 : 0, c = rank == 0 ? n : 0;
    FROM_TO(&a, type, &a);  // specialized
    b += 1, c += 2;
    if (rank == 1) printf("received %g %g %d\n", a, b, c);
  }
  MPI_Type_free(&type);
}
// The same by a stride.
__attribute__((noinline)) static void between_two(const char* given) {
  double a, b;
  MPI_Aint begin, end;
  MPI_Datatype type;
  char packed[16];
  int at = 0;
  memcpy(packed, given, sizeof packed);
  MPI_Get_address(&a, &begin);
  MPI_Get_address(&b, &end);
  MPI_Type_create_hvector(2, 1, end - begin, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  a = 0, b = 0;
  MPI_Unpack(packed, 16, &at, &a, 1, type, MPI_COMM_SELF);  // specialized
  if (rank == 1) printf("two %g %g\n", a, b);
  MPI_Type_free(&type);
}
// The same by a list: nodes of the heap.
__attribute__((noinline)) static void between_nodes(int n) {
  double* nodes[8];
  MPI_Aint places[8];
  MPI_Datatype type;
  char packed[64];
  int at = 0;
  for (int i = 0; i < 8; ++i) {
    nodes[i] = malloc(sizeof(double));
    *nodes[i] = i + n;
    MPI_Get_address(nodes[i], &places[i]);
  }
  for (int i = 7; i >= 0; --i) places[i] -= places[0];
  MPI_Type_create_hindexed_block(n, 1, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Pack(nodes[0], 1, type, packed, 64, &at, MPI_COMM_SELF);  // specialized
  for (int i = 0; i < 8; ++i) *nodes[i] = -1;
  at = 0;
  MPI_Unpack(packed, 64, &at, nodes[0], 1, type, MPI_COMM_SELF);  // specialized
  for (int i = 0; i < 8; ++i) {
    if (rank == 1) printf("node %g\n", *nodes[i]);
    free(nodes[i]);
  }
  MPI_Type_free(&type);
}

// What comes overwrites variables that hold types.
static void into_handles(void) {
  enum { kHandle = sizeof(MPI_Datatype) };
  MPI_Datatype moves, long_one = column(9, 2), short_one = column(4, 5);
  MPI_Datatype held[3] = {long_one, MPI_INT, short_one},
               other_way[3] = {short_one, MPI_INT, long_one};
  char packed[64];
  int at = 0;
  MPI_Type_vector(2, kHandle, 2 * kHandle, MPI_BYTE, &moves);
  MPI_Type_commit(&moves);
  MPI_Pack(other_way, 1, moves, packed, 64, &at, MPI_COMM_SELF);  // specialized
  at = 0;
  MPI_Unpack(packed, 64, &at, held, 1, moves, MPI_COMM_SELF);  // specialized
  refill(2);
  FROM_TO(sent, held[0], got);  // asks: loaded from memory
  tell("into handles", NULL, held[0]);
  MPI_Type_free(&moves);
  MPI_Type_free(&long_one);
  MPI_Type_free(&short_one);
}

// Handles in a structure of the caller's, and in an array by an index of the run time.
struct Types {
  int n;
  MPI_Datatype types[3];
};
__attribute__((noinline)) static void in_structure(struct Types* held) {
  MPI_Type_vector(held->n, 1, 3, MPI_DOUBLE, &held->types[1]);
  MPI_Type_commit(&held->types[1]);
  refill(3);
  FROM_TO(sent, held->types[1], got);  // asks: loaded from memory
  tell("in a structure", NULL, held->types[1]);
  MPI_Type_free(&held->types[1]);
}
__attribute__((noinline)) static void in_array(int which) {
  MPI_Datatype types[4];
  for (int i = 0; i < 4; ++i) types[i] = column(4 + i, 3);
  refill(4);
  FROM_TO(sent, types[which], got);  // asks: loaded from memory
  tell("in an array", NULL, types[which]);
  for (int i = 0; i < 4; ++i) MPI_Type_free(&types[i]);
}

// Each call of a function has variables of its own: what it waits for is its own, too.
__attribute__((noinline)) static void recursive(int depth) {
  MPI_Datatype type;
  MPI_Request request;
  MPI_Type_vector(3 + depth, 1, 2 + depth, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(got + 4096 * depth, 1, type, rank, depth, MPI_COMM_WORLD, &request);  // specialized
  if (depth > 0) recursive(depth - 1);
  MPI_Send(sent + 4096 * depth, 1, type, rank, depth, MPI_COMM_WORLD);  // specialized
  MPI_Type_free(&type);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  tell("recursive", NULL, type);
}

// A type may be freed, its numbers may change, and gaps are the program's while data come.
__attribute__((noinline)) static void under_way(int n) {
  MPI_Datatype type;
  MPI_Request request;
  double* into = (double*)(void*)got;
  refill(5);
  MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(into, 1, type, rank, 3, MPI_COMM_WORLD, &request);  // specialized
  MPI_Type_free(&type);
  MPI_Send(sent, n, MPI_DOUBLE, rank, 3, MPI_COMM_WORLD);
  for (int i = 1; i < 2 * n; i += 2) into[i] = i;
  look_at(&n);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 1; i < 2 * n; i += 2) into[i] += 1;
  tell("under way", NULL, type);
}

// Other names of the buffer, right before and right after.
__attribute__((noinline)) static void other_names(double* one, double* other_name, int n) {
  MPI_Datatype type = column(5, 2);
  refill(6);
  for (int i = 0; i < n; ++i) {
    one[2] = i, one[4] = i + 1;
    FROM_TO(rank == 0 ? sent : got, type, got);  // specialized
    one[2] = -one[2];
    other_name[2] += 3;
  }
  tell("other names", NULL, type);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  char given[64] = {0};
  start(&argc, &argv);
  attributes();
  if (argc > 1) set();
  use_unset();
  nowhere();
  perhaps_nowhere(argc + 4);
  make_in_frame(argc + 3);
  const float a = 1.5f * (float)argc;
  const double b = 2.5 * argc;
  memcpy(given, &a, 4);
  memcpy(given + 4, &b, 8);
  memcpy(given + 12, &argc, 4);
  between_variables(argc + 1, given);
  const double two[2] = {argc + 1, argc + 2};
  between_two((const char*)two);
  between_nodes(argc + 7);
  into_handles();
  struct Types* held = calloc(1, sizeof *held);
  held->n = argc + 4;
  look_at(held);
  in_structure(held);
  free(held);
  in_array(argc + 1);
  recursive(argc + 3);
  under_way(argc + 8);
  void* names = rank == 0 ? sent : got;
  other_names(names, names, argc + 2);
  MPI_Finalize();
  return 0;
}
