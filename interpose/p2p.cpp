// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking point to point: one MPI call in, one MPI call out, with packed data in between.
#include "interpose/bodies.hpp"
#include "interpose/next.hpp"
#include "interpose/requests.hpp"
#include "interpose/transfer.hpp"

namespace lacuna {
namespace {

using SendFn = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using SendLargeFn = int (*)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);

SendFn send_of(const Next& next, SendMode mode) noexcept {
  switch (mode) {
    case SendMode::kSynchronous:
      return next.MPI_Ssend;
    case SendMode::kReady:
      return next.MPI_Rsend;
    case SendMode::kStandard:
      break;
  }
  return next.MPI_Send;
}

SendLargeFn send_large_of(const Next& next, SendMode mode) noexcept {
  switch (mode) {
    case SendMode::kSynchronous:
      return next.MPI_Ssend_c;
    case SendMode::kReady:
      return next.MPI_Rsend_c;
    case SendMode::kStandard:
      break;
  }
  return next.MPI_Send_c;
}

}  // namespace

Answer take_send(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm) noexcept {
  finish_freed_requests();
  Outgoing outgoing;
  if (!make_outgoing(buf, count, datatype, dest, true, &outgoing)) return kDeclined;
  const Next& next = next_functions();
  const Wire& wire = outgoing.wire;
  const void* packed = outgoing.staging.data();
  if (fits_int(wire.count)) {
    return taken(
        send_of(next, mode)(packed, static_cast<int>(wire.count), wire.type, dest, tag, comm));
  }
  return taken(send_large_of(next, mode)(packed, wire.count, wire.type, dest, tag, comm));
}

Answer take_recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Status* status) noexcept {
  finish_freed_requests();
  Incoming incoming;
  if (!make_incoming(buf, count, datatype, source, true, &incoming)) return kDeclined;
  const Next& next = next_functions();
  const Wire& wire = incoming.wire;
  void* packed = incoming.staging.data();
  OwnStatus own(status);
  const int code = fits_int(wire.count) ? next.MPI_Recv(packed, static_cast<int>(wire.count),
                                                        wire.type, source, tag, comm, own.get())
                                        : next.MPI_Recv_c(packed, wire.count, wire.type, source,
                                                          tag, comm, own.get());
  if (code == MPI_SUCCESS && own.is_written()) deliver(incoming, *own.get());
  own.give();
  return taken(code);
}

// Where only one side is lacuna's, the other keeps its arguments.
Answer take_sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                     int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                     int source, int recvtag, MPI_Comm comm, MPI_Status* status) noexcept {
  finish_freed_requests();
  Incoming incoming;
  Outgoing outgoing;
  const bool receives = make_incoming(recvbuf, recvcount, recvtype, source, true, &incoming);
  const bool sends = make_outgoing(sendbuf, sendcount, sendtype, dest, true, &outgoing);
  if (!receives && !sends) return kDeclined;
  if (sends) {
    sendbuf = outgoing.staging.data();
    sendcount = outgoing.wire.count;
    sendtype = outgoing.wire.type;
  }
  OwnStatus own(status);
  if (receives) {
    recvbuf = incoming.staging.data();
    recvcount = incoming.wire.count;
    recvtype = incoming.wire.type;
    status = own.get();
  }
  const Next& next = next_functions();
  const int code = fits_int(sendcount) && fits_int(recvcount)
                       ? next.MPI_Sendrecv(sendbuf, static_cast<int>(sendcount), sendtype, dest,
                                           sendtag, recvbuf, static_cast<int>(recvcount), recvtype,
                                           source, recvtag, comm, status)
                       : next.MPI_Sendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                             recvcount, recvtype, source, recvtag, comm, status);
  if (receives && code == MPI_SUCCESS && own.is_written()) deliver(incoming, *own.get());
  if (receives) own.give();
  return taken(code);
}

}  // namespace lacuna
