// SPDX-License-Identifier: BSD-3-Clause
//
// A collectives component as UCC and HCOLL are, below lacuna: a rank takes a call if its own types
// are contiguous. If ranks come to different decisions, they wait for each other for ever
// (ucc#1300); here that is counted.
#include <mpi.h>

#include <initializer_list>

extern "C" {
__attribute__((visibility("default"))) int ucc_disagreements = 0;
}

namespace {

bool is_contiguous(MPI_Datatype type) {
  MPI_Aint lb = 0, extent = 0;
  int size = 0;
  PMPI_Type_get_extent(type, &lb, &extent);
  PMPI_Type_size(type, &size);
  return lb == 0 && extent == size;
}

void decide(std::initializer_list<MPI_Datatype> types, MPI_Comm comm) {
  int takes = 1;
  for (const MPI_Datatype type : types) takes = is_contiguous(type) ? takes : 0;
  int least = 0, most = 0;
  PMPI_Allreduce(&takes, &least, 1, MPI_INT, MPI_MIN, comm);
  PMPI_Allreduce(&takes, &most, 1, MPI_INT, MPI_MAX, comm);
  if (least != most) ++ucc_disagreements;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  decide({sendtype, recvtype}, comm);
  return PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

EXPORTED int MPI_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                           MPI_Request* request) {
  decide({sendtype, recvtype}, comm);
  return PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
}

EXPORTED int MPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  decide({sendtype, recvtype}, comm);
  return PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

EXPORTED int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  decide({datatype}, comm);
  return PMPI_Bcast(buffer, count, datatype, root, comm);
}
