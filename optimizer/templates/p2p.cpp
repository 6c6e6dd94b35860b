// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking point-to-point: Send, Recv, Sendrecv.
#include "optimizer/templates/part.hpp"

using lacuna::Part;
using lacuna::Staging;

LACUNA_TEMPLATE(MPI_Send)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 const Part& part) {
  if (!part.takes(buf)) return MPI_Send(buf, count, type, dest, tag, comm);
  const Staging staging(part);
  if (staging.data == nullptr) return MPI_Send(buf, count, type, dest, tag, comm);
  if (dest != MPI_PROC_NULL) part.gather(buf, staging.data);
  return MPI_Send(staging.data, part.units(), part.unit, dest, tag, comm);
}

LACUNA_TEMPLATE(MPI_Recv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status,
 const Part& part) {
  if (!part.takes(buf)) return MPI_Recv(buf, count, type, source, tag, comm, status);
  const Staging staging(part);
  if (staging.data == nullptr) return MPI_Recv(buf, count, type, source, tag, comm, status);
  MPI_Status own;
  MPI_Status* const seen = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = MPI_Recv(staging.data, part.units(), part.unit, source, tag, comm, seen);
  if (code == MPI_SUCCESS) part.scatter(buf, staging.data, *seen);
  return code;
}

LACUNA_TEMPLATE(MPI_Sendrecv)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status,
 const Part& sent, const Part& got) {
  const bool packs = sent.takes(sendbuf);
  const bool unpacks = got.takes(recvbuf);
  if (!packs && !unpacks) {
    return MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                        source, recvtag, comm, status);
  }
  MPI_Status own;
  MPI_Status* const seen = status == MPI_STATUS_IGNORE ? &own : status;
  const auto with_received = [&](const void* buffer, int count, MPI_Datatype type) {
    if (!unpacks) {
      return MPI_Sendrecv(buffer, count, type, dest, sendtag, recvbuf, recvcount, recvtype, source,
                          recvtag, comm, status);
    }
    const Staging staging(got);
    if (staging.data == nullptr) {
      return MPI_Sendrecv(buffer, count, type, dest, sendtag, recvbuf, recvcount, recvtype, source,
                          recvtag, comm, status);
    }
    const int code = MPI_Sendrecv(buffer, count, type, dest, sendtag, staging.data, got.units(),
                                  got.unit, source, recvtag, comm, seen);
    if (code == MPI_SUCCESS) got.scatter(recvbuf, staging.data, *seen);
    return code;
  };
  if (!packs) return with_received(sendbuf, sendcount, sendtype);
  const Staging staging(sent);
  if (staging.data == nullptr) return with_received(sendbuf, sendcount, sendtype);
  if (dest != MPI_PROC_NULL) sent.gather(sendbuf, staging.data);
  return with_received(staging.data, sent.units(), sent.unit);
}
