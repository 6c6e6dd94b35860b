// SPDX-License-Identifier: BSD-3-Clause
// Prints the longest message that nobody copies straight out of the sender's memory, and the
// longest that is sent before it is received (-1: none is told apart). Sizes are halved between the
// least and the most, and what tells them apart is counted, not timed.
//
// Usage: costs_copies LEAST MOST (bytes; two ranks)
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int g_reads;

// In the C library's place, as far as the MPI library can see.
__attribute__((visibility("default"))) ssize_t
process_vm_readv(pid_t pid, const struct iovec* local, unsigned long locals,
                 const struct iovec* remote, unsigned long remotes, unsigned long flags) {
  ++g_reads;
  return syscall(SYS_process_vm_readv, pid, local, locals, remote, remotes, flags);
}

static int is_read(int rank, char* data, int bytes) {
  int any = 0;
  g_reads = 0;
  if (rank == 0)
    MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int reads = g_reads;  // not those of the next call
  MPI_Allreduce(&reads, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any;
}

// How many messages have been sent, in memory of both ranks.
static atomic_int* g_sent;

// Whether the send is not over before the receive begins: the library has not put the data aside.
// The receiver is in no call of the library meanwhile, which might take the message in.
static int is_unfinished(int rank, char* data, int bytes) {
  static int messages = 0;
  int done = 0;
  ++messages;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Request request;
    MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 2000 && !done; ++i) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    atomic_store(g_sent, messages);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    while (atomic_load(g_sent) != messages) sched_yield();
    MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return !done;
}

// The longest message of which `differs` does not hold; -1: it holds of the least, or not even of
// the most.
static int longest(int rank, char* data, int low, int high, int (*differs)(int, char*, int)) {
  differs(rank, data, high);  // what a library does once
  if (differs(rank, data, low) || !differs(rank, data, high)) return -1;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (differs(rank, data, middle))
      high = middle;
    else
      low = middle;
  }
  return low;
}

int main(int argc, char** argv) {
  int rank;
  const int least = argc > 2 ? atoi(argv[1]) : 0, most = argc > 2 ? atoi(argv[2]) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* data = calloc(1, (size_t)most + 1);
  MPI_Win window;
  MPI_Aint size;
  int unit;
  MPI_Win_allocate_shared(rank == 0 ? sizeof(*g_sent) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                          &g_sent, &window);
  MPI_Win_shared_query(window, 0, &size, &unit, &g_sent);
  if (rank == 0) atomic_store(g_sent, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const int copied = longest(rank, data, least, most, is_read);
  const int eager = longest(rank, data, least, most, is_unfinished);
  if (rank == 0) printf("%d %d\n", copied, eager);
  MPI_Win_free(&window);
  free(data);
  MPI_Finalize();
  return 0;
}
