// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking point to point: one MPI call in, one MPI call out, with packed data in between.
#include "interpose/bodies.hpp"
#include "interpose/next.hpp"
#include "interpose/requests.hpp"
#include "interpose/sends.hpp"
#include "interpose/transfer.hpp"

namespace lacuna {
Answer take_send(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 int tag, MPI_Comm comm) noexcept {
  finish_freed_requests();
  if (!may_send(mode)) return kDeclined;
  Outgoing outgoing;
  if (!make_outgoing(buf, count, datatype, dest, true, &outgoing)) return kDeclined;
  const Next& next = next_functions();
  const SendFunctions& send = send_functions(mode);
  const Wire& wire = outgoing.wire;
  const void* packed = outgoing.staging.data();
  if (fits_int(wire.count)) {
    return taken(
        (next.*send.blocking)(packed, static_cast<int>(wire.count), wire.type, dest, tag, comm));
  }
  return taken((next.*send.blocking_c)(packed, wire.count, wire.type, dest, tag, comm));
}

namespace {

// `receive` gets what comes in as packed data, by one call of the library.
template <typename Receive>
Answer receive_packed(void* buf, MPI_Count count, MPI_Datatype datatype, int source,
                      MPI_Status* status, const Receive& receive) noexcept {
  finish_freed_requests();
  Incoming incoming;
  if (!make_incoming(buf, count, datatype, source, true, &incoming)) return kDeclined;
  OwnStatus own(status);
  const int code = receive(incoming.staging.data(), incoming.wire, own.get());
  if (code == MPI_SUCCESS && own.is_written()) deliver(incoming, *own.get());
  own.give();
  return taken(code);
}

}  // namespace

Answer take_recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Status* status) noexcept {
  const auto receive = [&](void* packed, const Wire& wire, MPI_Status* own) {
    const Next& next = next_functions();
    return fits_int(wire.count)
               ? next.MPI_Recv(packed, static_cast<int>(wire.count), wire.type, source, tag, comm,
                               own)
               : next.MPI_Recv_c(packed, wire.count, wire.type, source, tag, comm, own);
  };
  return receive_packed(buf, count, datatype, source, status, receive);
}

// A matched message has a source already; the two handles that stand for none are the library's.
Answer take_mrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Status* status) noexcept {
  if (!is_message(message)) return kDeclined;
  const auto receive = [&](void* packed, const Wire& wire, MPI_Status* own) {
    const Next& next = next_functions();
    return fits_int(wire.count)
               ? next.MPI_Mrecv(packed, static_cast<int>(wire.count), wire.type, message, own)
               : next.MPI_Mrecv_c(packed, wire.count, wire.type, message, own);
  };
  return receive_packed(buf, count, datatype, MPI_ANY_SOURCE, status, receive);
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

// As MPI_Sendrecv of two packed messages: nothing is in the way of the one that comes in.
Answer take_sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int sendtag, int source, int recvtag, MPI_Comm comm,
                             MPI_Status* status) noexcept {
  finish_freed_requests();
  Incoming incoming;
  Staging outgoing;
  if (!make_replacement(buf, count, datatype, dest, source, &outgoing, &incoming)) return kDeclined;
  const Next& next = next_functions();
  const Wire& wire = incoming.wire;
  const void* from = outgoing.data();
  void* to = incoming.staging.data();
  OwnStatus own(status);
  const int code =
      fits_int(wire.count)
          ? next.MPI_Sendrecv(from, static_cast<int>(wire.count), wire.type, dest, sendtag, to,
                              static_cast<int>(wire.count), wire.type, source, recvtag, comm,
                              own.get())
          : next.MPI_Sendrecv_c(from, wire.count, wire.type, dest, sendtag, to, wire.count,
                                wire.type, source, recvtag, comm, own.get());
  if (code == MPI_SUCCESS && own.is_written()) deliver(incoming, *own.get());
  own.give();
  return taken(code);
}

}  // namespace lacuna
