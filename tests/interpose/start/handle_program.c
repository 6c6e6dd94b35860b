/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that opens the MPI library itself and takes its functions from that handle, as Julia's
 * MPI.jl does: lacuna does not see these calls, and everything works as without it. For libraries
 * of MPICH's ABI, whose handles are numbers. Two ranks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { kN = 16 };

static void* g_library;

static void* function(const char* name) {
  void* found = dlsym(g_library, name);
  if (found == NULL) fprintf(stderr, "handle_program: no %s\n", name);
  return found;
}

int main(int argc, char** argv) {
  int (*init)(int*, char***);
  int (*finalize)(void);
  int (*comm_rank)(MPI_Comm, int*);
  int (*type_vector)(int, int, int, MPI_Datatype, MPI_Datatype*);
  int (*type_change)(MPI_Datatype*);
  int (*irecv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  int (*wait)(MPI_Request*, MPI_Status*);
  int64_t (*calls)(const char*, int);
  double matrix[kN * kN], to[kN * kN];
  MPI_Datatype column;
  MPI_Request request;
  int rank, i, good = 1;
  g_library = dlopen(argc > 1 ? argv[1] : "libmpi.so.12", RTLD_NOW | RTLD_LOCAL);
  if (g_library == NULL) {
    fprintf(stderr, "handle_program: %s\n", dlerror());
    return 2;
  }
  *(void**)&calls = dlsym(RTLD_DEFAULT, "lacuna_interposed_calls");
  if (calls == NULL) return 2;
  *(void**)&init = function("MPI_Init");
  *(void**)&finalize = function("MPI_Finalize");
  *(void**)&comm_rank = function("MPI_Comm_rank");
  *(void**)&type_vector = function("MPI_Type_vector");
  *(void**)&type_change = function("MPI_Type_commit");
  *(void**)&irecv = function("MPI_Irecv");
  *(void**)&send = function("MPI_Send");
  *(void**)&wait = function("MPI_Wait");
  init(&argc, &argv);
  comm_rank(MPI_COMM_WORLD, &rank);
  type_vector(kN, 1, kN, MPI_DOUBLE, &column);
  type_change(&column);
  for (i = 0; i < kN * kN; ++i) {
    matrix[i] = i + 1000 * rank;
    to[i] = -1;
  }
  irecv(to, 1, column, 1 - rank, 0, MPI_COMM_WORLD, &request);
  send(matrix, 1, column, 1 - rank, 0, MPI_COMM_WORLD);
  wait(&request, MPI_STATUS_IGNORE);
  for (i = 0; i < kN * kN; ++i) good = good && to[i] == (i % kN == 0 ? i + 1000 * (1 - rank) : -1);
  good = good && calls("MPI_Send", 1) == 0 && calls("MPI_Irecv", 1) == 0;
  *(void**)&type_change = function("MPI_Type_free");
  type_change(&column);
  finalize();
  return good ? 0 : 1;
}
