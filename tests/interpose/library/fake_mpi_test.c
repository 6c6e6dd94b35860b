/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs on fake_mpi.c, with lacuna preloaded. The functions that the fake lacks are looked up, so
 * that the program loads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

extern int fake_sends;
extern int fake_last_count;

static int failures = 0;

static void check(int ok, const char* what) {
  if (ok) return;
  ++failures;
  fprintf(stderr, "fake_mpi_test: %s\n", what);
}

typedef int (*send_c)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int (*pack_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*, MPI_Comm);
typedef int (*recv_fn)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
typedef int (*ssend_fn)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int64_t (*calls_fn)(const char*, int);

int main(int argc, char** argv) {
  const MPI_Datatype derived = (MPI_Datatype)0x8c0000ff; /* looks like a derived type */
  char buf[64] = "";
  MPI_Count large_position = 5;
  MPI_Status status;
  int position = 3;
  send_c send;
  pack_c pack;
  recv_fn recv_;
  ssend_fn ssend;
  calls_fn calls;
  check(dlsym(RTLD_DEFAULT, "lacuna_interposed") != NULL, "lacuna is preloaded");
  check(MPI_Init(&argc, &argv) == MPI_SUCCESS, "MPI_Init");
  check(MPI_Send(buf, 7, derived, 0, 0, MPI_COMM_WORLD) == MPI_SUCCESS && fake_last_count == 7,
        "MPI_Send");
  check(
      MPI_Pack(buf, 2, derived, buf, 64, &position, MPI_COMM_WORLD) == MPI_SUCCESS && position == 5,
      "MPI_Pack");

  *(void**)&send = dlsym(RTLD_DEFAULT, "MPI_Send_c");
  check(send(buf, 9, derived, 0, 0, MPI_COMM_WORLD) == MPI_SUCCESS && fake_last_count == 9,
        "MPI_Send_c by MPI_Send");
  check(send(buf, (MPI_Count)INT_MAX + 1, derived, 0, 0, MPI_COMM_WORLD) ==
            MPI_ERR_UNSUPPORTED_OPERATION,
        "too large");
  check(fake_sends == 2, "nothing was sent for it");
  *(void**)&pack = dlsym(RTLD_DEFAULT, "MPI_Pack_c");
  check(pack(buf, 4, derived, buf, 64, &large_position, MPI_COMM_WORLD) == MPI_SUCCESS &&
            large_position == 9,
        "MPI_Pack_c");
  check(pack(buf, 4, derived, buf, 64, NULL, MPI_COMM_WORLD) == MPI_ERR_UNSUPPORTED_OPERATION,
        "no position");

  *(void**)&recv_ = dlsym(RTLD_DEFAULT, "MPI_Recv");
  check(recv_(buf, 3, derived, 0, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS &&
            status.MPI_SOURCE == 3,
        "PMPI_Recv");
  *(void**)&ssend = dlsym(RTLD_DEFAULT, "MPI_Ssend");
  check(ssend(buf, 3, derived, 0, 0, MPI_COMM_WORLD) == MPI_ERR_UNSUPPORTED_OPERATION,
        "MPI_Ssend is nowhere");
  *(void**)&calls = dlsym(RTLD_DEFAULT, "lacuna_interposed_calls");
  check(calls("MPI_Send", 1) == 0 && calls("MPI_Send", 0) == 0, "lacuna is off");
  check(calls("MPI_Nonsense", 1) == -1, "an unknown function");
  check(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize");
  printf("fake_mpi_test: %d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
