// SPDX-License-Identifier: BSD-3-Clause
#include "elsewhere.h"

int elsewhere_MPI_Send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return MPI_Send(buf, count, type, dest, tag, comm);
}

int elsewhere_MPI_Recv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return MPI_Recv(buf, count, type, source, tag, comm, status);
}

int elsewhere_MPI_Sendrecv(const void* buf, int count, MPI_Datatype type, int dest, int tag, void* to, int received, MPI_Datatype as, int source, int its_tag, MPI_Comm comm, MPI_Status* status) {
  return MPI_Sendrecv(buf, count, type, dest, tag, to, received, as, source, its_tag, comm, status);
}

int elsewhere_MPI_Pack(const void* buf, int count, MPI_Datatype type, void* packed, int size, int* position, MPI_Comm comm) {
  return MPI_Pack(buf, count, type, packed, size, position, comm);
}

int elsewhere_MPI_Unpack(const void* packed, int size, int* position, void* buf, int count, MPI_Datatype type, MPI_Comm comm) {
  return MPI_Unpack(packed, size, position, buf, count, type, comm);
}

int elsewhere_MPI_Bcast(void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return MPI_Bcast(buf, count, type, root, comm);
}

int elsewhere_MPI_Alltoall(const void* buf, int count, MPI_Datatype type, void* to, int received, MPI_Datatype as, MPI_Comm comm) {
  return MPI_Alltoall(buf, count, type, to, received, as, comm);
}
