// Types whose handles are given away: calls look them up when they run ("asks"), as real programs keep them. What is
// found must be what the handle means then, whoever has freed it, and given it again.
#include <stddef.h>

#include "../check.h"

#define PLACE 8192

// MPI's functions as others call them, which no compiler sees.
static int (*volatile free_type)(MPI_Datatype*) = MPI_Type_free;
static int (*volatile make_type)(int, int, int, MPI_Datatype, MPI_Datatype*) = MPI_Type_vector;
static int (*volatile commit_type)(MPI_Datatype*) = MPI_Type_commit;

static void from_to(MPI_Datatype from, int sends, MPI_Datatype to, int receives, const char* name) {
  MPI_Status status;
  refill(sends + 2);
  if (rank == 0) MPI_Send(sent + PLACE, sends, from, 1, 7, MPI_COMM_WORLD);  // asks
  if (rank == 1) {
    MPI_Recv(got + PLACE, receives, to, 0, 7, MPI_COMM_WORLD, &status);  // asks
    tell(name, &status, to);
  }
}
__attribute__((noinline)) static void move(const char* name, MPI_Datatype type, int count) {
  char packed[8192];
  int at = 0;
  refill(count);
  memset(packed, 0, sizeof packed);
  MPI_Pack(sent + PLACE, count, type, packed, sizeof packed, &at, MPI_COMM_SELF);  // asks
  memcpy(got, packed, sizeof packed);
  at = 0;
  MPI_Unpack(packed, sizeof packed, &at, got + 2 * PLACE, count, type, MPI_COMM_SELF);  // asks
  MPI_Sendrecv(sent + PLACE, count, type, other, 1, got + 4 * PLACE, count, type, other, 1, MPI_COMM_WORLD,  // asks
               MPI_STATUS_IGNORE);
  tell(name, NULL, type);
  from_to(type, count, type, count + 2, name);
}

// A struct that one function fills and another one uses.
struct halo {
  int n, stride;
  MPI_Datatype row, column, cells;
};
struct cell {
  char letter;
  int number;
  double values[2];
};
__attribute__((noinline)) static void halo_init(struct halo* halo, int n, int stride) {
  MPI_Datatype cell, types[3] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
  int lengths[3] = {1, 1, 2};
  MPI_Aint places[3] = {offsetof(struct cell, letter), offsetof(struct cell, number), offsetof(struct cell, values)};
  halo->n = n;
  halo->stride = stride;
  MPI_Type_contiguous(n, MPI_DOUBLE, &halo->row);
  MPI_Type_commit(&halo->row);
  MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &halo->column);
  MPI_Type_commit(&halo->column);  // registers
  MPI_Type_create_struct(3, lengths, places, types, &cell);
  MPI_Type_create_resized(cell, 0, sizeof(struct cell), &halo->cells);
  MPI_Type_commit(&halo->cells);  // registers
  MPI_Type_free(&cell);
}
__attribute__((noinline)) static void halo_exchange(const struct halo* halo) {
  MPI_Request requests[4];
  MPI_Status statuses[4];
  refill(halo->n);
  MPI_Irecv(got + PLACE, 1, halo->column, other, 1, MPI_COMM_WORLD, &requests[0]);        // asks
  MPI_Irecv(got + 3 * PLACE, 9, halo->cells, other, 2, MPI_COMM_WORLD, &requests[1]);     // asks
  MPI_Isend(sent + PLACE + 8, 1, halo->column, other, 1, MPI_COMM_WORLD, &requests[2]);   // asks
  MPI_Isend(sent + 3 * PLACE, 7, halo->cells, other, 2, MPI_COMM_WORLD, &requests[3]);    // asks
  MPI_Waitall(4, requests, statuses);
  tell("halo's columns", &statuses[0], halo->column);
  tell("halo's cells", &statuses[1], halo->cells);
  refill(halo->n + 1);
  MPI_Sendrecv(sent, 2, halo->row, other, 1, got, 2, halo->row, other, 1, MPI_COMM_WORLD, &statuses[0]);  // asks
  tell("halo's rows", &statuses[0], halo->row);
}
__attribute__((noinline)) static void halo_free(struct halo* halo) {
  MPI_Type_free(&halo->row);
  MPI_Type_free(&halo->column);
  MPI_Type_free(&halo->cells);
}

// Variables of the file, and an array of types.
static MPI_Datatype own_column;
MPI_Datatype everybodys;
static MPI_Datatype faces[6];
__attribute__((noinline)) static void setup(int n) {
  MPI_Type_vector(n, 1, n + 2, MPI_INT, &own_column);
  MPI_Type_commit(&own_column);  // registers
  MPI_Type_vector(n + 1, 3, 7, MPI_SHORT, &everybodys);
  MPI_Type_commit(&everybodys);  // registers
  for (int i = 0; i < 6; ++i) {
    int sizes[3] = {n, n, n}, parts[3] = {n - 2, n - 2, n - 2}, starts[3] = {1, 1, 1};
    parts[i / 2] = 1;
    starts[i / 2] = i % 2 == 0 ? 0 : n - 1;
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &faces[i]);
    MPI_Type_commit(&faces[i]);
  }
}
__attribute__((noinline)) static void use_own(int which) {
  move("own column", own_column, 1 + which);
  move("everybody's", everybodys, 2);
  for (int i = 0; i < 6; ++i) move("face", faces[i], 1);
  refill(5);
  memcpy(got, sent, kBytes);
  if (rank == 0) refill(6), memcpy(got, sent, kBytes);
  MPI_Bcast(got + PLACE, 3, everybodys, 0, MPI_COMM_WORLD);  // asks
  tell("broadcast", NULL, everybodys);
  refill(8);
  MPI_Alltoall(sent + PLACE, 2, everybodys, got + PLACE, 2, everybodys, MPI_COMM_WORLD);  // asks
  tell("to each", NULL, everybodys);
  MPI_Alltoall(sent + PLACE, 1, own_column, got + PLACE, 6 + which - 1, MPI_INT, MPI_COMM_WORLD);  // asks
  tell("to each as numbers", NULL, own_column);
}

// Less than there is room for, to a part of an element; and more.
static void short_ones(const struct halo* halo) {
  for (int count = 1; count < 27; count += 4) from_to(MPI_DOUBLE, count, halo->column, 3, "short");
  for (int count = 1; count < 3; ++count) from_to(halo->cells, count, halo->cells, 3, "few cells");
}

// A handle that others free, and get again for something else.
__attribute__((noinline)) static void freed_by_others(int n) {
  MPI_Datatype held[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Type_vector(n, 1, 3 + i, MPI_DOUBLE, &held[i]);
    MPI_Type_commit(&held[i]);  // registers
    look_at(&held[i]);
  }
  move("before", held[0], 1);
  for (int turn = 0; turn < 4; ++turn) {
    free_type(&held[turn % 2]);
    make_type(n, 2, 5 + turn, MPI_DOUBLE, &held[turn % 2]);
    commit_type(&held[turn % 2]);
    move("given again", held[0], 1);
    move("given again", held[1], 2);
  }
  free_type(&held[0]);
  free_type(&held[1]);
}
// As soon as the call has it.
__attribute__((noinline)) static void freed_meanwhile(struct halo* halo) {
  MPI_Datatype others[8];
  MPI_Request request;
  refill(11);
  MPI_Irecv(got + PLACE, 2, halo->column, other, 3, MPI_COMM_WORLD, &request);  // asks
  MPI_Type_free(&halo->column);
  for (int i = 0; i < 8; ++i) {
    MPI_Type_vector(4 + i, 2, 5, MPI_FLOAT, &others[i]);
    MPI_Type_commit(&others[i]);
  }
  look_at(others);
  MPI_Send(sent + PLACE, 2 * halo->n, MPI_DOUBLE, other, 3, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  tell("freed meanwhile", NULL, MPI_DOUBLE);
  for (int i = 0; i < 8; ++i) MPI_Type_free(&others[i]);
  MPI_Type_vector(halo->n, 1, halo->stride, MPI_DOUBLE, &halo->column);
  MPI_Type_commit(&halo->column);
}

// More than are registered.
static MPI_Datatype many[700];
__attribute__((noinline)) static void make_many(int n) {
  for (int i = 0; i < 700; ++i) {
    MPI_Type_vector(2 + i % 11, 1, n + i % 7, MPI_INT, &many[i]);
    MPI_Type_commit(&many[i]);
  }
}
__attribute__((noinline)) static void use_many(void) {
  for (int i = 0; i < 700; i += 9) move("many", many[i], 1 + i % 3);
  for (int i = 0; i < 700; ++i) MPI_Type_free(&many[i]);
}
// And many that nobody asks for.
__attribute__((noinline)) static void wasted(int n) {
  for (int i = 0; i < 500; ++i) {
    MPI_Datatype type = column(n, 3 + i % 5);
    look_at(&type);
    MPI_Type_free(&type);
  }
}

// A copy is another handle, and may be there still when its type is gone.
__attribute__((noinline)) static void copied(int n) {
  MPI_Datatype type = column(n, 4), copy;
  look_at(&type);
  MPI_Type_dup(type, &copy);
  commit_type(&copy);
  look_at(&copy);
  move("a type", type, 2);
  MPI_Type_free(&type);
  move("its copy", copy, 2);
  MPI_Type_free(&copy);
}

// A constructor that fails leaves what was there.
__attribute__((noinline)) static void failed(int n) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  make_type(5, 2, 3, MPI_FLOAT, &type);
  look_at(&type);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Type_vector(-n, 1, 4, MPI_DOUBLE, &type);
  if (type != MPI_DATATYPE_NULL) MPI_Type_commit(&type);
  look_at(&type);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  if (type != MPI_DATATYPE_NULL) {
    move("after a failure", type, 1);
    MPI_Type_free(&type);
  }
}

int main(int argc, char** argv) {
  struct halo halo;
  start(&argc, &argv);
  halo_init(&halo, 8 + argc, 11);
  look_at(&halo);
  for (int turn = 0; turn < 3; ++turn) halo_exchange(&halo);
  move("column", halo.column, 2);
  move("cells", halo.cells, 5);
  move("predefined", MPI_DOUBLE, 9);
  short_ones(&halo);
  setup(5 + argc);
  use_own(argc);
  freed_by_others(3 + argc);
  freed_meanwhile(&halo);
  make_many(2 + argc);
  use_many();
  copied(4 + argc);
  failed(2 + argc);
  halo_exchange(&halo);
  halo_free(&halo);
  wasted(5);
  halo_init(&halo, 6, 7);
  look_at(&halo);
  halo_exchange(&halo);
  // Not all are freed.
  MPI_Finalize();
  return 0;
}
