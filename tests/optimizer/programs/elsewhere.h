// SPDX-License-Identifier: BSD-3-Clause
//
// MPI's functions called by another file, which makes no types.
#ifndef LACUNA_TESTS_OPTIMIZER_ELSEWHERE_H_
#define LACUNA_TESTS_OPTIMIZER_ELSEWHERE_H_

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
int elsewhere_MPI_Send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int elsewhere_MPI_Recv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status);
int elsewhere_MPI_Sendrecv(const void* buf, int count, MPI_Datatype type, int dest, int tag, void* to, int received, MPI_Datatype as, int source, int its_tag, MPI_Comm comm, MPI_Status* status);
int elsewhere_MPI_Pack(const void* buf, int count, MPI_Datatype type, void* packed, int size, int* position, MPI_Comm comm);
int elsewhere_MPI_Unpack(const void* packed, int size, int* position, void* buf, int count, MPI_Datatype type, MPI_Comm comm);
int elsewhere_MPI_Bcast(void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm);
int elsewhere_MPI_Alltoall(const void* buf, int count, MPI_Datatype type, void* to, int received, MPI_Datatype as, MPI_Comm comm);
#ifdef __cplusplus
}
#endif

#endif  // LACUNA_TESTS_OPTIMIZER_ELSEWHERE_H_
