// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking point-to-point calls: one MPI call of the program becomes one of the library, with
// packed data.
#include "interpose/functions/bodies.hpp"
#include "interpose/library/call_fitting.hpp"
#include "interpose/library/next.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/messages/send_modes.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {
namespace {

int send_packed(SendMode mode, Outgoing* outgoing, int dest, int tag, MPI_Comm comm) {
  const SendFunctions& send = send_functions(mode);
  const Wire& wire = outgoing->wire;
  int code = MPI_SUCCESS;
  send_and_fill(outgoing, true, [&] {
    code = call_fitting(send.blocking, send.blocking_c, outgoing->data, wire.count, wire.type, dest,
                        tag, comm);
    return code == MPI_SUCCESS;
  });
  return code;
}

}  // namespace

Answer handle_send(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                   int tag, MPI_Comm comm) {
  finish_freed_requests();
  if (!may_send(mode)) return kDeclined;
  Outgoing outgoing;
  outgoing.mode = mode;
  outgoing.tag = tag;
  if (!make_outgoing(buf, count, datatype, dest, comm, true, &outgoing))
    return without_packed_data(comm);
  return handled(send_packed(mode, &outgoing, dest, tag, comm));
}

namespace {

// `receive` makes the library's receive call.
template <typename Receive>
Answer receive_packed(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                      bool matched, MPI_Status* status, const Receive& receive) {
  finish_freed_requests();
  Incoming incoming;
  incoming.matched = matched;
  if (!make_incoming(buf, count, datatype, source, comm, true, &incoming)) return kDeclined;
  OwnStatus own(status);
  const int code = own.finish(incoming, receive(&incoming, own.get()));
  return incoming.is_only_watched() ? watched(code) : handled(code);
}

}  // namespace

int receive_held(MPI_Message* message, const Incoming& incoming, MPI_Status* status,
                 direct::HeldReceive* held_receive) {
  const Wire wire = incoming.library_type();
  void* const place = incoming.library_buffer();
  const int code = call_fitting(&Next::MPI_Mrecv, &Next::MPI_Mrecv_c, place, wire.count, wire.type,
                                message, status);
  held_receive->finish();
  return code;
}

namespace {

// With threads, a receive is first posted and then waited for, because another thread may probe
// (direct/messages/probe.hpp).
bool must_post(int source) {
  return g_gate.threads && is_open(kDirectSwitch) && source != MPI_PROC_NULL;
}

Answer post_receive(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  const Answer answer = handle_irecv(buf, count, datatype, source, tag, comm, request);
  if (answer.handled) return answer;
  return watched(call_fitting(&Next::MPI_Irecv, &Next::MPI_Irecv_c, buf, count, datatype, source,
                              tag, comm, request));
}

// After an error there may be no request.
int wait_for(MPI_Request* request, MPI_Status* status, int code) {
  if (code != MPI_SUCCESS || *request == runtime().request_null) return code;
  const Answer answer = handle_wait(request, status);
  return answer.handled ? answer.code : next_functions().MPI_Wait(request, status);
}

}  // namespace

Answer handle_recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Status* status) {
  if (must_post(source)) {
    MPI_Request request = runtime().request_null;
    Answer answer = post_receive(buf, count, datatype, source, tag, comm, &request);
    answer.code = wait_for(&request, status, answer.code);
    return answer;
  }
  const auto receive = [&](Incoming* incoming, MPI_Status* own) {
    direct::HeldReceive held_receive;
    held_receive.start(&source, &tag, &comm);
    incoming->redirect(held_receive);
    if (MPI_Message* held = held_receive.message())
      return receive_held(held, *incoming, own, &held_receive);
    const Wire wire = incoming->library_type();
    void* const place = incoming->library_buffer();
    const int code = call_fitting(&Next::MPI_Recv, &Next::MPI_Recv_c, place, wire.count, wire.type,
                                  source, tag, comm, own);
    held_receive.finish();
    return code;
  };
  return receive_packed(buf, count, datatype, source, comm, false, status, receive);
}

// Messages without a source (MPI_MESSAGE_NULL, MPI_MESSAGE_NO_PROC) are left to the library.
Answer handle_mrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                    MPI_Status* status) {
  if (!is_message(message)) return kDeclined;
  const auto receive = [&](Incoming* incoming, MPI_Status* own) {
    direct::HeldReceive held_receive;
    held_receive.start(*message);
    incoming->redirect(held_receive);
    if (held_receive.redirected() && raises_mrecv_errors_on_comm(runtime().flavour))
      incoming->comm = held_receive.comm();
    return receive_held(message, *incoming, own, &held_receive);
  };
  return receive_packed(buf, count, datatype, MPI_ANY_SOURCE, runtime().comm_world, true, status,
                        receive);
}

namespace {

int send_by_library(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm) {
  return call_fitting(&Next::MPI_Send, &Next::MPI_Send_c, buf, count, datatype, dest, tag, comm);
}

// No request: the send has failed, whatever the code says (MPICH 5 returns MPI_SUCCESS after errors
// that the program's handler has seen).
int begin_send_by_library(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                          int tag, MPI_Comm comm, MPI_Request* request) {
  return call_fitting(&Next::MPI_Isend, &Next::MPI_Isend_c, buf, count, datatype, dest, tag, comm,
                      request);
}

// The message to receive is held already, so the receive cannot wait: it is done first, then the
// sending half, which may.
int led_sendrecv(Outgoing* outgoing, const void* sendbuf, MPI_Count sendcount,
                 MPI_Datatype sendtype, int dest, int sendtag, MPI_Comm comm,
                 const Incoming& incoming, int source, int recvtag, MPI_Comm where,
                 MPI_Status* status, direct::HeldReceive* held_receive) {
  int code = MPI_SUCCESS;
  if (MPI_Message* held = held_receive->message()) {
    code = receive_held(held, incoming, status, held_receive);
  } else {
    const Wire wire = incoming.library_type();
    void* const place = incoming.library_buffer();
    code = call_fitting(&Next::MPI_Recv, &Next::MPI_Recv_c, place, wire.count, wire.type, source,
                        recvtag, where, status);
    held_receive->finish();
  }
  const int sent = send_by_library(sendbuf, sendcount, sendtype, dest, sendtag, comm);
  if (sent != MPI_SUCCESS) outgoing->give_up();
  return code != MPI_SUCCESS ? code : sent;
}

// Posts the receive before it waits for anything. Posts nothing if the sending half is invalid: the
// receive would take a message that is meant for another one.
Answer posted_sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                       int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  const bool sends = direct::can_send(dest, sendtag, comm);
  if ((!sends && dest != MPI_PROC_NULL) || !direct::can_match(source, recvtag, comm))
    return kDeclined;  // the library reports the error
  Outgoing outgoing;
  const bool packs = make_outgoing(sendbuf, sendcount, sendtype, dest, comm, true, &outgoing);
  MPI_Request sent = runtime().request_null;
  if (!packs) {
    if (const Answer failed = without_packed_data(comm); failed.handled) return failed;
    const int code =
        begin_send_by_library(sendbuf, sendcount, sendtype, dest, sendtag, comm, &sent);
    if (sent == runtime().request_null) return watched(code);
  }
  MPI_Request request = runtime().request_null;
  Answer answer = post_receive(recvbuf, recvcount, recvtype, source, recvtag, comm, &request);
  const int other = packs ? send_packed(SendMode::kStandard, &outgoing, dest, sendtag, comm)
                          : next_functions().MPI_Wait(&sent, MPI_STATUS_IGNORE);
  if (answer.code == MPI_SUCCESS) answer.code = other;
  const int received = wait_for(&request, status, MPI_SUCCESS);
  if (answer.code == MPI_SUCCESS) answer.code = received;
  answer.watched = answer.watched && !packs;
  return answer;
}

}  // namespace

// A side that lacuna declines keeps its arguments.
Answer handle_sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                       int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  finish_freed_requests();
  if (must_post(source)) {
    return posted_sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                           recvtype, source, recvtag, comm, status);
  }
  Incoming incoming;
  Outgoing outgoing;
  outgoing.tag = sendtag;
  const bool receives = make_incoming(recvbuf, recvcount, recvtype, source, comm, true, &incoming);
  const bool sends = make_outgoing(sendbuf, sendcount, sendtype, dest, comm, true, &outgoing);
  if (!sends) {
    const Answer failed = without_packed_data(comm);
    if (failed.handled || !receives) return failed;
  }
  if (sends) {
    outgoing.fill();
    sendbuf = outgoing.data;
    sendcount = outgoing.wire.count;
    sendtype = outgoing.wire.type;
  }
  OwnStatus own(status);
  if (receives) {
    recvbuf = incoming.data;
    recvcount = incoming.wire.count;
    recvtype = incoming.wire.type;
  }
  // If the sending half is invalid, the library finds the error, and receives nothing.
  if (direct::any_held() && receives &&
      (dest == MPI_PROC_NULL || direct::can_send(dest, sendtag, comm))) {
    direct::HeldReceive held_receive;
    MPI_Comm where = comm;
    held_receive.start(&source, &recvtag, &where);
    incoming.redirect(held_receive);
    if (held_receive.redirected()) {
      const int received =
          led_sendrecv(&outgoing, sendbuf, sendcount, sendtype, dest, sendtag, comm, incoming,
                       source, recvtag, where, own.get(), &held_receive);
      return handled(own.finish(incoming, received));
    }
  }
  const int code =
      call_fitting(&Next::MPI_Sendrecv, &Next::MPI_Sendrecv_c, sendbuf, sendcount, sendtype, dest,
                   sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, own.get());
  // An error of the receiving half comes when the token has been sent.
  if (sends && !own.is_written()) outgoing.give_up();
  int result = code;
  if (receives)
    result = own.finish(incoming, code);
  else if (own.is_written())
    own.copy_to_caller();
  return sends || !incoming.is_only_watched() ? handled(result) : watched(result);
}

// Done as MPI_Sendrecv of two packed messages, which are in different buffers.
Answer handle_sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                               int sendtag, int source, int recvtag, MPI_Comm comm,
                               MPI_Status* status) {
  finish_freed_requests();
  if (is_open(kDirectSwitch) && (direct::any_held() || g_gate.threads)) {
    Outgoing aside;
    aside.wire.type = runtime().packed;
    // If the data are too many to be copied, the library does the call, and may receive a token.
    if (dest == MPI_PROC_NULL || pack_aside(buf, count, datatype, &aside)) {
      return handle_sendrecv(aside.data, aside.wire.count, aside.wire.type, dest, sendtag, buf,
                             count, datatype, source, recvtag, comm, status);
    }
  }
  Incoming incoming;
  Staging outgoing;
  if (!make_replacement(buf, count, datatype, dest, source, comm, &outgoing, &incoming))
    return without_packed_data(comm);
  const Wire& wire = incoming.wire;
  OwnStatus own(status);
  if (!outgoing) {
    const int code = call_fitting(&Next::MPI_Sendrecv_replace, &Next::MPI_Sendrecv_replace_c, buf,
                                  count, datatype, dest, sendtag, source, recvtag, comm, own.get());
    const int result = own.finish(incoming, code);
    return incoming.is_only_watched() ? watched(result) : handled(result);
  }
  const void* from = outgoing.data();
  void* to = incoming.data;
  const int code =
      call_fitting(&Next::MPI_Sendrecv, &Next::MPI_Sendrecv_c, from, wire.count, wire.type, dest,
                   sendtag, to, wire.count, wire.type, source, recvtag, comm, own.get());
  const int result = own.finish(incoming, code);
  return incoming.is_only_watched() ? watched(result) : handled(result);
}

}  // namespace lacuna
