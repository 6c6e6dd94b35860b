// A frame that is left by a jump is gone: what a nonblocking call would have staged there, too. The program loses the
// request, and the data come all the same.
#include <setjmp.h>

#include "../check.h"

static jmp_buf back;

// Other functions of this file may jump, and so may those that they call.
__attribute__((noinline)) static void perhaps(int jumps) {
  if (jumps) longjmp(back, 1);
}
__attribute__((noinline)) static void jumps_itself(int jumps) {
  MPI_Datatype type = column(16, 3);
  MPI_Request request;
  MPI_Irecv(got, 1, type, 0, 1, MPI_COMM_WORLD, &request);  // left: not proven to complete
  MPI_Type_free(&type);
  if (jumps) longjmp(back, 1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
__attribute__((noinline)) static void calls_one_that_jumps(int jumps) {
  MPI_Datatype type = column(16, 3);
  MPI_Request request;
  MPI_Irecv(got + 8, 1, type, 0, 1, MPI_COMM_WORLD, &request);  // left: not proven to complete
  MPI_Type_free(&type);
  perhaps(jumps);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
__attribute__((noinline)) static void nobody_jumps(void) {
  MPI_Datatype type = column(16, 3);
  MPI_Request request;
  MPI_Irecv(got + 16, 1, type, 0, 1, MPI_COMM_WORLD, &request);  // specialized
  MPI_Type_free(&type);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
// Where frames were: nobody else may write there. The data are under way from the barrier on, and come while MPI is
// called.
__attribute__((noinline)) static int changed(const volatile unsigned char* last) {
  volatile char here[4000];
  const unsigned char before = *last;
  int count = 0, is_there;
  for (int i = 0; i < 4000; ++i) here[i] = 7;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 1000000 && *last == before; ++i) MPI_Iprobe(0, 9, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
  for (int i = 0; i < 4000; ++i) count += here[i] != 7;
  return count;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  refill(1);
  for (int i = 0; i < 16; ++i) sent[8 * i + 7] = 1;  // what comes last is not what was there
  for (volatile int turn = 0; turn < 3; ++turn) {
    if (rank == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Send(sent, 16, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      continue;
    }
    if (turn == 2) {
      MPI_Barrier(MPI_COMM_WORLD);
      nobody_jumps();
    } else {
      if (setjmp(back) == 0) {
        if (turn == 0) jumps_itself(argc);
        if (turn == 1) calls_one_that_jumps(argc);
      }
      printf("changed %d\n", changed(got + 8 * turn + 15 * 24 + 7));
    }
    tell("after a jump", NULL, MPI_DATATYPE_NULL);
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
