// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking point-to-point: Send, Recv, Sendrecv.
#include "optimizer/templates/noted.hpp"

using lacuna::Asked;
using lacuna::AskedNow;
using lacuna::is_noted;
using lacuna::is_small;
using lacuna::Outgoing;
using lacuna::Part;
using lacuna::Staging;

LACUNA_ORIGINAL(MPI_Send);
LACUNA_ORIGINAL(MPI_Recv);
LACUNA_ORIGINAL(MPI_Sendrecv);

LACUNA_TEMPLATE(MPI_Send)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 const Part& part) {
  if (!part.takes(buf)) return lacuna_original_MPI_Send(buf, count, type, dest, tag, comm);
  const Staging staging(part);
  if (staging.data == nullptr) return lacuna_original_MPI_Send(buf, count, type, dest, tag, comm);
  if (dest != MPI_PROC_NULL) part.gather(buf, staging.data);
  const Outgoing out(part, staging.data, dest);
  return MPI_Send(staging.data, out.count, out.type, dest, tag, comm);
}

LACUNA_TEMPLATE(MPI_Recv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status,
 const Part& part) {
  if (!part.takes_from(buf, comm))
    return lacuna_original_MPI_Recv(buf, count, type, source, tag, comm, status);
  const Staging staging(part);
  if (staging.data == nullptr)
    return lacuna_original_MPI_Recv(buf, count, type, source, tag, comm, status);
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
  const bool packs = sent.pack != nullptr,
             unpacks = got.pack != nullptr;  // known where this is inlined
  if ((!packs || sent.takes(sendbuf)) && (!unpacks || got.takes_from(recvbuf, comm))) {
    const Staging out(sent), in(got);
    if ((!packs || out.data != nullptr) && (!unpacks || in.data != nullptr)) {
      if (packs && dest != MPI_PROC_NULL) sent.gather(sendbuf, out.data);
      const Outgoing packed(sent, out.data, dest);
      MPI_Status own;
      MPI_Status* const seen = unpacks && status == MPI_STATUS_IGNORE ? &own : status;
      const int code = MPI_Sendrecv(packs ? out.data : sendbuf, packs ? packed.count : sendcount,
                                    packs ? packed.type : sendtype, dest, sendtag,
                                    unpacks ? in.data : recvbuf, unpacks ? got.units() : recvcount,
                                    unpacks ? got.unit : recvtype, source, recvtag, comm, seen);
      if (unpacks && code == MPI_SUCCESS) got.scatter(recvbuf, in.data, *seen);
      return code;
    }
  }
  return lacuna_original_MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                      recvcount, recvtype, source, recvtag, comm, status);
}

// The same for types that are looked up. What is not there is the library's without a detour: most
// calls whose types are not known have predefined ones.
LACUNA_ASKS_FOUND(MPI_Send)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  const AskedNow sent(type, count, Asked::kSend, lacuna::kMostSent);
  return lacuna_template_MPI_Send(buf, count, type, dest, tag, comm, sent.part);
}

LACUNA_ASKS(MPI_Send)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  if (!is_noted(type)) return MPI_Send(buf, count, type, dest, tag, comm);
  return lacuna_asks_2_found_MPI_Send(buf, count, type, dest, tag, comm);
}

LACUNA_ASKS_FOUND(MPI_Recv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const AskedNow got(type, count, Asked::kReceive, lacuna::kMostSent);
  return lacuna_template_MPI_Recv(buf, count, type, source, tag, comm, status, got.part);
}

LACUNA_ASKS(MPI_Recv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!is_noted(type)) return MPI_Recv(buf, count, type, source, tag, comm, status);
  return lacuna_asks_2_found_MPI_Recv(buf, count, type, source, tag, comm, status);
}

LACUNA_ASKS_FOUND(MPI_Sendrecv)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  const AskedNow sent(sendtype, sendcount, Asked::kSend, lacuna::kMostSent);
  const AskedNow got(recvtype, recvcount, Asked::kReceive, lacuna::kMostSent);
  return lacuna_template_MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                      recvcount, recvtype, source, recvtag, comm, status, sent.part,
                                      got.part);
}

LACUNA_ASKS(MPI_Sendrecv)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (!is_noted(sendtype) && !is_noted(recvtype)) {
    return MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                        source, recvtag, comm, status);
  }
  return lacuna_asks_2_found_MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                          recvcount, recvtype, source, recvtag, comm, status);
}

#if MPI_VERSION >= 4
LACUNA_ASKS(MPI_Send_c)
(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  if (!is_noted(type) || !is_small(count)) return MPI_Send_c(buf, count, type, dest, tag, comm);
  return lacuna_asks_2_found_MPI_Send(buf, int(count), type, dest, tag, comm);
}

LACUNA_ASKS(MPI_Recv_c)
(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
 MPI_Status* status) {
  if (!is_noted(type) || !is_small(count))
    return MPI_Recv_c(buf, count, type, source, tag, comm, status);
  return lacuna_asks_2_found_MPI_Recv(buf, int(count), type, source, tag, comm, status);
}

LACUNA_ASKS(MPI_Sendrecv_c)
(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
 MPI_Status* status) {
  if ((!is_noted(sendtype) && !is_noted(recvtype)) || !is_small(sendcount) ||
      !is_small(recvcount)) {
    return MPI_Sendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                          source, recvtag, comm, status);
  }
  return lacuna_asks_2_found_MPI_Sendrecv(sendbuf, int(sendcount), sendtype, dest, sendtag, recvbuf,
                                          int(recvcount), recvtype, source, recvtag, comm, status);
}
#endif
