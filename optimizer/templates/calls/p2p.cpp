// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking point-to-point: Send, Recv, Sendrecv.
#include "optimizer/templates/registry.hpp"

using lacuna::compiled::BufferArg;
using lacuna::compiled::CallLookup;
using lacuna::compiled::is_registered;
using lacuna::compiled::is_small;
using lacuna::compiled::Lookup;
using lacuna::compiled::Outgoing;
using lacuna::compiled::Staging;

LACUNA_ORIGINAL(MPI_Send);
LACUNA_ORIGINAL(MPI_Recv);
LACUNA_ORIGINAL(MPI_Sendrecv);

LACUNA_TEMPLATE(MPI_Send)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 const BufferArg& arg) {
  if (!arg.takes_to(buf, dest, comm))
    return lacuna_original_MPI_Send(buf, count, type, dest, tag, comm);
  const Staging staging(arg);
  if (staging.data == nullptr) return lacuna_original_MPI_Send(buf, count, type, dest, tag, comm);
  if (dest != MPI_PROC_NULL) arg.gather(buf, staging.data);
  const Outgoing out(arg, staging.data, dest);
  return MPI_Send(staging.data, out.count, out.type, dest, tag, comm);
}

LACUNA_TEMPLATE(MPI_Recv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status,
 const BufferArg& arg) {
  if (!arg.takes_from(buf, comm))
    return lacuna_original_MPI_Recv(buf, count, type, source, tag, comm, status);
  const Staging staging(arg);
  if (staging.data == nullptr)
    return lacuna_original_MPI_Recv(buf, count, type, source, tag, comm, status);
  MPI_Status own;
  MPI_Status* const seen = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = MPI_Recv(staging.data, arg.units(), arg.unit, source, tag, comm, seen);
  if (code == MPI_SUCCESS) arg.scatter(buf, staging.data, *seen);
  return code;
}

LACUNA_TEMPLATE(MPI_Sendrecv)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status,
 const BufferArg& sent, const BufferArg& got) {
  const bool packs = sent.pack != nullptr,
             unpacks = got.pack != nullptr;  // constants after inlining
  if ((!packs || sent.takes_to(sendbuf, dest, comm)) &&
      (!unpacks || got.takes_from(recvbuf, comm))) {
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

// For types that are looked up. A type that is not registered goes to the library at once: most
// calls whose types are not known at compile time have predefined types.
LACUNA_LOOKUP_FOUND(MPI_Send)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  const CallLookup sent(type, count, Lookup::kSend, lacuna::compiled::kMostSent);
  return lacuna_template_MPI_Send(buf, count, type, dest, tag, comm, sent.arg);
}

LACUNA_LOOKUP(MPI_Send)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  if (!is_registered(type)) return MPI_Send(buf, count, type, dest, tag, comm);
  return lacuna_lookup_1_found_MPI_Send(buf, count, type, dest, tag, comm);
}

LACUNA_LOOKUP_FOUND(MPI_Recv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const CallLookup got(type, count, Lookup::kReceive, lacuna::compiled::kMostSent);
  return lacuna_template_MPI_Recv(buf, count, type, source, tag, comm, status, got.arg);
}

LACUNA_LOOKUP(MPI_Recv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!is_registered(type)) return MPI_Recv(buf, count, type, source, tag, comm, status);
  return lacuna_lookup_1_found_MPI_Recv(buf, count, type, source, tag, comm, status);
}

LACUNA_LOOKUP_FOUND(MPI_Sendrecv)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  const CallLookup sent(sendtype, sendcount, Lookup::kSend, lacuna::compiled::kMostSent);
  const CallLookup got(recvtype, recvcount, Lookup::kReceive, lacuna::compiled::kMostSent);
  return lacuna_template_MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                      recvcount, recvtype, source, recvtag, comm, status, sent.arg,
                                      got.arg);
}

LACUNA_LOOKUP(MPI_Sendrecv)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (!is_registered(sendtype) && !is_registered(recvtype)) {
    return MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                        source, recvtag, comm, status);
  }
  return lacuna_lookup_1_found_MPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                            recvcount, recvtype, source, recvtag, comm, status);
}

#if MPI_VERSION >= 4
LACUNA_LOOKUP(MPI_Send_c)
(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  if (!is_registered(type) || !is_small(count))
    return MPI_Send_c(buf, count, type, dest, tag, comm);
  return lacuna_lookup_1_found_MPI_Send(buf, int(count), type, dest, tag, comm);
}

LACUNA_LOOKUP(MPI_Recv_c)
(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
 MPI_Status* status) {
  if (!is_registered(type) || !is_small(count))
    return MPI_Recv_c(buf, count, type, source, tag, comm, status);
  return lacuna_lookup_1_found_MPI_Recv(buf, int(count), type, source, tag, comm, status);
}

LACUNA_LOOKUP(MPI_Sendrecv_c)
(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
 MPI_Status* status) {
  if ((!is_registered(sendtype) && !is_registered(recvtype)) || !is_small(sendcount) ||
      !is_small(recvcount)) {
    return MPI_Sendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                          source, recvtag, comm, status);
  }
  return lacuna_lookup_1_found_MPI_Sendrecv(sendbuf, int(sendcount), sendtype, dest, sendtag,
                                            recvbuf, int(recvcount), recvtype, source, recvtag,
                                            comm, status);
}
#endif
