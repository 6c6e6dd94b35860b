// Displacements in arrays of the run time: MPI reads them when the type is made. Whatever the
// program does with them then, the type stays what it was.
#include "../check.h"

enum { kLong = 5000 };  // more than has room in the frame

__attribute__((noinline)) static int* numbers(int n, int step) {
  int* list = malloc((size_t)n * sizeof(int));
  for (int i = 0; i < n; ++i) list[i] = (i * 7 % n) * step;
  return list;
}

__attribute__((noinline)) static void list(int n, int length, int* places) {
  MPI_Datatype type;
  MPI_Status status;
  MPI_Type_create_indexed_block(n, length, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  refill(n);
  if (rank == 0) MPI_Send(sent, 1, type, 1, 3, MPI_COMM_WORLD);          // specialized
  if (rank == 1) MPI_Recv(got, 1, type, 0, 3, MPI_COMM_WORLD, &status);  // specialized
  tell("list", rank == 1 ? &status : NULL, type);
  MPI_Type_free(&type);
}

__attribute__((noinline)) static void changed(int n, int* places) {
  MPI_Datatype type;
  MPI_Status status;
  MPI_Type_create_indexed_block(n, 1, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  refill(1);
  for (int i = 0; i < n; ++i) places[i] = 0;
  free(places);
  if (rank == 0) MPI_Send(sent, 1, type, 1, 3, MPI_COMM_WORLD);          // specialized
  if (rank == 1) MPI_Recv(got, 1, type, 0, 3, MPI_COMM_WORLD, &status);  // specialized
  tell("changed", rank == 1 ? &status : NULL, type);
  MPI_Type_free(&type);
}

// What is received overwrites the list.
__attribute__((noinline)) static void overwritten(int n) {
  MPI_Datatype type;
  MPI_Status status;
  refill(2);
  int* places = (int*)got;
  for (int i = 0; i < n; ++i) places[i] = n - i;
  MPI_Type_create_indexed_block(n, 1, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  if (rank == 0) MPI_Send(sent, 1, type, 1, 3, MPI_COMM_WORLD);          // specialized
  if (rank == 1) MPI_Recv(got, 1, type, 0, 3, MPI_COMM_WORLD, &status);  // specialized
  tell("overwritten", rank == 1 ? &status : NULL, type);
  MPI_Type_free(&type);
}

// Each turn another list, of addresses, in a struct beside a field.
__attribute__((noinline)) static void in_turns(int turns, int n) {
  for (int turn = 1; turn <= turns; ++turn) {
    MPI_Aint* places = malloc((size_t)n * sizeof(MPI_Aint));
    for (int i = 0; i < n; ++i) places[i] = (MPI_Aint)((n - 1 - i) * (8 + 3 * turn) + turn);
    MPI_Datatype part, type, types[2];
    MPI_Type_create_hindexed_block(n, 2, places, MPI_SHORT, &part);
    free(places);
    int ones[2] = {1, 2};
    MPI_Aint at[2] = {64, 8};
    types[0] = part;
    types[1] = MPI_INT;
    MPI_Type_create_struct(2, ones, at, types, &type);
    MPI_Type_commit(&type);
    refill(turn);
    unsigned char packed[4096];
    int size = 0, position = 0;
    MPI_Pack(sent, 1, type, packed, (int)sizeof packed, &size, MPI_COMM_WORLD);  // specialized
    MPI_Unpack(packed, size, &position, got, 1, type, MPI_COMM_WORLD);           // specialized
    tell("turn", NULL, type);
    MPI_Type_free(&part);
    MPI_Type_free(&type);
  }
}

// Until a receive completes, the type may be made anew, with another list.
__attribute__((noinline)) static void waiting(int n, int* places) {
  MPI_Datatype type;
  MPI_Request request;
  MPI_Type_create_indexed_block(n, 1, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  refill(3);
  if (rank == 1) {
    MPI_Irecv(got, 1, type, 0, 3, MPI_COMM_WORLD, &request);  // left: a list of the run time
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Isend(sent, 1, type, 1, 3, MPI_COMM_WORLD, &request);  // specialized
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  tell("waiting", NULL, type);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int* places = numbers(90, 3);
  list(90, 2, places);
  list(1, 5, places);
  list(0, 5, places);
  waiting(90, places);
  changed(90, places);
  places = numbers(kLong, 2);
  list(kLong, 1, places);
  list(4096, 1, places);
  free(places);
  overwritten(200);
  in_turns(4, 30);
  MPI_Finalize();
  return 0;
}
