// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_TESTS_INTERPOSE_TOOLS_LIKE_BINDINGS_HPP_
#define LACUNA_TESTS_INTERPOSE_TOOLS_LIKE_BINDINGS_HPP_

#include <mpi.h>

#pragma GCC visibility push(default)
int bindings_send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int bindings_recv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Status* status);
int bindings_irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                   MPI_Request* request);
int bindings_wait(MPI_Request* request, MPI_Status* status);
int bindings_probe(int source, int tag, MPI_Comm comm, MPI_Status* status);
#pragma GCC visibility pop

#endif  // LACUNA_TESTS_INTERPOSE_TOOLS_LIKE_BINDINGS_HPP_
