// Isend and Irecv: packed data wait in the frame, and are unpacked where the request completes.
#include "../check.h"

#define PLACE 4096

static void one_each(void) {
  MPI_Datatype type = column(8, 3);
  MPI_Request in, out;
  MPI_Status status;
  refill(1);
  MPI_Irecv(got + PLACE, 2, type, other, 1, MPI_COMM_WORLD, &in);    // specialized
  MPI_Isend(sent + PLACE, 2, type, other, 1, MPI_COMM_WORLD, &out);  // specialized
  MPI_Type_free(&type);  // which is allowed, and the receive goes on
  MPI_Wait(&out, MPI_STATUS_IGNORE);
  MPI_Wait(&in, &status);
  tell("one each", rank == 1 ? &status : NULL, MPI_DOUBLE);
}
static void all_at_once(void) {
  MPI_Datatype type = column(8, 3);
  MPI_Request requests[4];
  MPI_Status statuses[4];
  refill(2);
  MPI_Irecv(got + PLACE, 1, type, other, 1, MPI_COMM_WORLD, &requests[0]);       // specialized
  MPI_Irecv(got + 4 * PLACE, 1, type, other, 2, MPI_COMM_WORLD, &requests[1]);   // specialized
  MPI_Isend(sent + PLACE, 1, type, other, 2, MPI_COMM_WORLD, &requests[2]);      // specialized
  MPI_Isend(sent + 2 * PLACE, 1, type, other, 1, MPI_COMM_WORLD, &requests[3]);  // specialized
  MPI_Waitall(4, requests, statuses);
  tell("all", rank == 1 ? &statuses[1] : NULL, type);
  for (int turn = 0; turn < 3; ++turn) {
    refill(3 + turn);
    MPI_Irecv(got + PLACE, 1, type, other, 1, MPI_COMM_WORLD, &requests[0]);   // specialized
    MPI_Isend(sent + PLACE, 1, type, other, 1, MPI_COMM_WORLD, &requests[1]);  // specialized
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    tell("turn", NULL, type);
  }
  MPI_Type_free(&type);
}
// Some of them not at all, as at the border of a domain.
__attribute__((noinline)) static void some(int left, int right) {
  MPI_Datatype type = column(8, 3);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  refill(9);
  if (left >= 0) MPI_Irecv(got + PLACE, 1, type, left, 1, MPI_COMM_WORLD, &requests[0]);  // specialized
  if (right >= 0) MPI_Isend(sent + PLACE, 1, type, right, 1, MPI_COMM_WORLD, &requests[1]);  // specialized
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  tell("some", NULL, type);
  MPI_Type_free(&type);
}
static void short_and_nobody(int n) {
  MPI_Datatype type = column(n, 3);
  MPI_Request in, out;
  MPI_Status status;
  refill(10);
  MPI_Irecv(got + PLACE, 3, type, other, 1, MPI_COMM_WORLD, &in);             // specialized
  MPI_Isend(sent + PLACE, n + 3, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &out);  // a plain one
  MPI_Wait(&in, &status);
  MPI_Wait(&out, MPI_STATUS_IGNORE);
  tell("short", rank == 1 ? &status : NULL, type);
  MPI_Irecv(got + PLACE, 3, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &in);  // specialized
  MPI_Wait(&in, &status);
  tell("nobody", NULL, type);
  MPI_Type_free(&type);
}
// Who else sees the request, or how it ends, is not known.
static MPI_Request kept;
static void elsewhere(void) {
  MPI_Datatype type = column(8, 3);
  MPI_Request in, out;
  int done = 0;
  refill(11);
  MPI_Irecv(got + PLACE, 1, type, other, 1, MPI_COMM_WORLD, &in);     // left: not proven
  MPI_Isend(sent + PLACE, 1, type, other, 1, MPI_COMM_WORLD, &kept);  // left: not proven
  while (!done) MPI_Test(&in, &done, MPI_STATUS_IGNORE);
  MPI_Wait(&kept, MPI_STATUS_IGNORE);
  tell("tested", NULL, type);
  refill(12);
  MPI_Isend(sent + PLACE, 1, type, other, 1, MPI_COMM_WORLD, &out);  // left: not proven
  look_at(&out);
  MPI_Recv(got + PLACE, 1, type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // specialized
  MPI_Wait(&out, MPI_STATUS_IGNORE);
  tell("shown", NULL, type);
  MPI_Type_free(&type);
}
__attribute__((noinline)) static void perhaps(int waits, MPI_Request* outer) {
  MPI_Datatype type = column(8, 3);
  MPI_Request out;
  MPI_Isend(sent + PLACE, 1, type, other, 1, MPI_COMM_WORLD, &out);  // left: not proven
  if (waits) MPI_Wait(&out, MPI_STATUS_IGNORE);
  MPI_Isend(sent + PLACE, 1, type, other, 2, MPI_COMM_WORLD, outer);  // left: not proven
  MPI_Type_free(&type);
}
// Without gaps, the data go from where they are.
static void flat(void) {
  MPI_Datatype type;
  MPI_Type_contiguous(24, MPI_INT, &type);
  MPI_Type_commit(&type);
  refill(13);
  MPI_Isend(sent + PLACE, 2, type, other, 1, MPI_COMM_WORLD, &kept);                              // specialized
  MPI_Recv(got + PLACE, 2, type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // specialized
  MPI_Wait(&kept, MPI_STATUS_IGNORE);
  tell("flat", NULL, type);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  one_each();
  all_at_once();
  some(rank == 1 ? 0 : -1, rank == 0 ? 1 : -1);
  short_and_nobody(argc + 3);
  elsewhere();
  MPI_Request outer;
  refill(20);
  perhaps(argc, &outer);
  MPI_Recv(got, 8, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(got + 100, 8, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&outer, MPI_STATUS_IGNORE);
  tell("perhaps", NULL, MPI_DOUBLE);
  flat();
  MPI_Finalize();
  return 0;
}
