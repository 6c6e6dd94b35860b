// SPDX-License-Identifier: BSD-3-Clause
//
// A library that is called as MPI's C++ bindings are (CMakeLists.txt), and calls MPI as they do.
#include "tests/interpose/tools/like_bindings.hpp"

// A statement after the call keeps it from becoming a jump, which would make the program its
// caller.
#define RETURN_CODE_OF(call) \
  const int code = call;     \
  asm volatile("");          \
  return code

int bindings_send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  RETURN_CODE_OF(MPI_Send(buf, count, type, dest, tag, comm));
}

int bindings_recv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Status* status) {
  RETURN_CODE_OF(MPI_Recv(buf, count, type, source, tag, comm, status));
}

int bindings_irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  RETURN_CODE_OF(MPI_Irecv(buf, count, type, source, tag, comm, request));
}

int bindings_wait(MPI_Request* request, MPI_Status* status) {
  RETURN_CODE_OF(MPI_Wait(request, status));
}

int bindings_probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  RETURN_CODE_OF(MPI_Probe(source, tag, comm, status));
}
