// What is staged for messages under way, and the frame of their function: that may be left by a function of another
// file (leaves.c), which loses the request; and threads may have little room for it.
#include <pthread.h>
#include <setjmp.h>

#include "../check.h"

extern jmp_buf way_back;
void perhaps_leave(int leaves);

__attribute__((noinline)) static void receives(int leaves) {
  MPI_Datatype type = column(16, 3);
  MPI_Request request;
  MPI_Irecv(got, 1, type, 0, 1, MPI_COMM_WORLD, &request);  // specialized
  MPI_Type_free(&type);
  perhaps_leave(leaves);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
// Where frames were: nobody else may write there. The data come while MPI is called.
__attribute__((noinline)) static int changed(void) {
  volatile char here[4000];
  int count = 0, is_there, is_sent = 0;
  for (int i = 0; i < 4000; ++i) here[i] = 7;
  MPI_Barrier(MPI_COMM_WORLD);
  while (is_sent == 0) MPI_Iprobe(0, 2, MPI_COMM_WORLD, &is_sent, MPI_STATUS_IGNORE);
  for (int i = 0; i < 1000; ++i) MPI_Iprobe(0, 9, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
  MPI_Recv(&is_sent, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 4000; ++i) count += here[i] != 7;
  return count;
}
// The data, and after them a message that says so.
static void sends(int which) {
  double values[16];
  for (int i = 0; i < 16; ++i) values[i] = i + which;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(values, 16, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
  MPI_Send(&which, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

// 64 messages of 8000 bytes, each way, in one function.
#define ONE(tag)                                                       \
  MPI_Irecv(got, 1, type, 0, tag, MPI_COMM_SELF, &requests[0]);        \
  MPI_Isend(sent + tag, 1, type, 0, tag, MPI_COMM_SELF, &requests[1]); \
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#define FOUR(tag) ONE(tag) ONE(tag + 1) ONE(tag + 2) ONE(tag + 3)
#define SIXTEEN(tag) FOUR(tag) FOUR(tag + 4) FOUR(tag + 8) FOUR(tag + 12)
static void* with_little_room(void* argument) {
  MPI_Datatype type = column(1000, 3);
  MPI_Request requests[2];
  SIXTEEN(0) SIXTEEN(16) SIXTEEN(32) SIXTEEN(48)  // specialized
  MPI_Type_free(&type);
  return argument;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  refill(1);
  for (volatile int leaves = 0; leaves < 2; ++leaves) {
    if (rank == 0) {
      sends(leaves);
      continue;
    }
    if (leaves == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      receives(leaves);
      MPI_Recv(&level, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      tell("stays", NULL, MPI_DATATYPE_NULL);
    } else {
      if (setjmp(way_back) == 0) receives(leaves);
      printf("changed %d\n", changed());
    }
  }
  refill(2);
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 512 << 10);
  pthread_create(&thread, &small, with_little_room, NULL);
  pthread_join(thread, NULL);
  tell("little room", NULL, MPI_DATATYPE_NULL);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
