// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking calls, MPI_Cancel and MPI_Request_free. The program gets the library's own request.
#include "interpose/functions/bodies.hpp"
#include "interpose/library/call_fitting.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/messages/send_modes.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {
bool may_start(MPI_Datatype datatype, const MPI_Request* request) noexcept {
  if (request == nullptr) return false;
  if (runtime().nonblocking) return true;
  const TypeRecord* record = type_record(datatype);
  if (record != nullptr && record->plan != nullptr) log_type(*record, Outcome::kHiddenCompletion);
  return false;
}

namespace {

// Each call uses a request variable of lacuna until the library has set it: after an error that the
// program's handler has seen, the code may be MPI_SUCCESS and the request untouched.

// `start` posts the send of packed data or a token, and sets the request.
template <typename Start>
Answer start_send(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Request* request, const Start& start) {
  finish_freed_requests();
  if (!may_start(datatype, request)) return kDeclined;
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  Outgoing outgoing;
  outgoing.mode = mode;
  outgoing.tag = tag;
  if (!make_outgoing(buf, count, datatype, dest, comm, false, &outgoing)) {
    drop_pending(entry);
    return without_packed_data(comm);
  }
  MPI_Request started = runtime().request_null;
  int code = MPI_SUCCESS;
  send_and_fill(&outgoing, false, [&] {
    code = start(outgoing.data, outgoing.wire, &started);
    return started != runtime().request_null;
  });
  if (started == runtime().request_null) {
    drop_pending(entry);
    return handled(code);
  }
  *request = started;
  // A token stays in its region until the receiver has finished with it.
  if (outgoing.region != nullptr || is_complete(started)) {
    drop_pending(entry);
    return handled(code);
  }
  entry->receive = false;
  entry->outgoing = std::move(outgoing.staging);
  entry->source.comm = comm;
  add_pending(entry, started);
  return handled(code);
}

// `start` posts the receive, and sets the request.
template <typename Start>
Answer start_receive(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                     bool matched, MPI_Request* request, const Start& start) {
  finish_freed_requests();
  if (!may_start(datatype, request)) return kDeclined;
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  entry->receive = true;
  Incoming& incoming = entry->incoming;
  incoming.matched = matched;
  if (!make_incoming(buf, count, datatype, source, comm, false, &incoming)) {
    drop_pending(entry);
    return kDeclined;
  }
  mark(incoming);
  MPI_Request started = runtime().request_null;
  const int code = start(&incoming, &started);
  if (started == runtime().request_null) {
    drop_pending(entry);
    return handled(code);
  }
  *request = started;
  const bool only_watched = incoming.is_only_watched();
  add_pending(entry, started);
  return only_watched ? watched(code) : handled(code);
}

int begin_matched(MPI_Message* message, const Incoming& incoming, MPI_Request* started) {
  const Wire wire = incoming.library_type();
  void* const place = incoming.library_buffer();
  return call_fitting(&Next::MPI_Imrecv, &Next::MPI_Imrecv_c, place, wire.count, wire.type, message,
                      started);
}

}  // namespace

int begin_receive(direct::HeldReceive* held_receive, int source, int tag, MPI_Comm comm,
                  Incoming* incoming, MPI_Request* started) {
  incoming->redirect(*held_receive);
  int code = MPI_SUCCESS;
  if (MPI_Message* held = held_receive->message()) {
    code = begin_matched(held, *incoming, started);
  } else {
    const Wire wire = incoming->library_type();
    void* const place = incoming->library_buffer();
    code = call_fitting(&Next::MPI_Irecv, &Next::MPI_Irecv_c, place, wire.count, wire.type, source,
                        tag, comm, started);
  }
  held_receive->finish();
  return code;
}

Answer handle_isend(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype,
                    int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  if (!may_send(mode)) return kDeclined;
  const auto start = [&](const void* packed, const Wire& wire, MPI_Request* started) {
    const SendFunctions& send = send_functions(mode);
    return call_fitting(send.nonblocking, send.nonblocking_c, packed, wire.count, wire.type, dest,
                        tag, comm, started);
  };
  return start_send(mode, buf, count, datatype, dest, tag, comm, request, start);
}

Answer handle_irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  const auto start = [&](Incoming* incoming, MPI_Request* started) {
    const direct::PostingLock posting(source, tag, comm);
    direct::HeldReceive held_receive;
    held_receive.start(&source, &tag, &comm);
    return begin_receive(&held_receive, source, tag, comm, incoming, started);
  };
  return start_receive(buf, count, datatype, source, comm, false, request, start);
}

Answer handle_imrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                     MPI_Request* request) {
  if (!is_message(message)) return kDeclined;
  const auto start = [&](Incoming* incoming, MPI_Request* started) {
    incoming->matched = true;
    direct::HeldReceive held_receive;
    held_receive.start(*message);
    incoming->redirect(held_receive);
    if (held_receive.redirected()) incoming->comm = held_receive.comm();
    const int code = begin_matched(message, *incoming, started);
    held_receive.finish();
    return code;
  };
  return start_receive(buf, count, datatype, MPI_ANY_SOURCE, runtime().comm_world, true, request,
                       start);
}

namespace {

// Splits MPI_Isendrecv into a send from lacuna's memory, whose completion the program need not see,
// and a receive, whose request the program gets.
Answer split_isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                       int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  Outgoing outgoing;
  outgoing.tag = sendtag;
  if (dest != MPI_PROC_NULL &&
      !make_outgoing(sendbuf, sendcount, sendtype, dest, comm, false, &outgoing)) {
    const Answer failed = without_packed_data(comm);
    if (failed.handled || !pack_aside(sendbuf, sendcount, sendtype, &outgoing)) {
      drop_pending(entry);
      return failed;
    }
  }
  MPI_Request sent = runtime().request_null;
  int code = MPI_SUCCESS;
  if (dest != MPI_PROC_NULL) {
    send_and_fill(&outgoing, false, [&] {
      const Wire& wire = outgoing.wire;
      code = call_fitting(&Next::MPI_Isend, &Next::MPI_Isend_c, outgoing.data, wire.count,
                          wire.type, dest, sendtag, comm, &sent);
      return sent != runtime().request_null;
    });
  }
  if (sent == runtime().request_null) {
    drop_pending(entry);
    if (dest != MPI_PROC_NULL) return handled(code);
  } else {
    entry->outgoing = std::move(outgoing.staging);
    entry->source.comm = comm;
    add_pending(entry, sent);
    keep_freed(entry);
  }
  const Answer received =
      handle_irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, request);
  if (received.handled) return received;
  return handled(call_fitting(&Next::MPI_Irecv, &Next::MPI_Irecv_c, recvbuf, recvcount, recvtype,
                              source, recvtag, comm, request));
}

}  // namespace

namespace {

// Whether the received length must be known: for a receive that must be packed, and for a type that
// lacuna cannot decode, whose gaps may be inaccessible, so that no token can be sought in them.
bool needs_length(MPI_Count count, MPI_Datatype datatype) {
  const TypeRecord* record = plainly_predefined(datatype) ? nullptr : watched_type(datatype);
  return record != nullptr && (record->outcome == Outcome::kUndecoded || record->cuts_token ||
                               packed_receive(*record, count) != nullptr);
}

// Whether the data are received into a device's memory by lacuna, which must know the length, too.
bool comes_to_device(void* buf, MPI_Count count, MPI_Datatype datatype) {
  Decision decision;
  return is_watched(kDevices) && !plainly_predefined(datatype) &&
         examine(Operation::kUnpack, buf, count, datatype, &decision) && decision.is_on_device();
}

}  // namespace

// Only the sending half is packed: with MPICH 5.0.2 and Intel MPI 2021.19 the request's status is
// not the receive's, so the received length is unknown. The receiving half keeps its arguments; a
// token in it is recognised by its content.
Answer handle_isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                        int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                        int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  finish_freed_requests();
  if (!may_start(sendtype, request)) return kDeclined;
  // Split the call if the message may be held for a probe; if it is received over the data that are
  // sent (it may be a token); or if the length must be known.
  if ((is_open(kDirectSwitch) && (direct::any_held() || g_gate.threads || sendbuf == recvbuf ||
                                  needs_length(recvcount, recvtype))) ||
      comes_to_device(recvbuf, recvcount, recvtype)) {
    const Answer split = split_isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                         recvcount, recvtype, source, recvtag, comm, request);
    if (split.handled) return split;  // else the send data are too many to be copied
  }
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  Outgoing outgoing;
  outgoing.tag = sendtag;
  const bool sends = make_outgoing(sendbuf, sendcount, sendtype, dest, comm, false, &outgoing);
  entry->receive = watch_receive(recvbuf, recvcount, recvtype, source, comm, &entry->incoming);
  const Answer failed = sends ? kDeclined : without_packed_data(comm);
  if (failed.handled || (!sends && !entry->receive)) {
    drop_pending(entry);
    return failed;
  }
  if (sends) {
    outgoing.fill();
    sendbuf = outgoing.data;
    sendcount = outgoing.wire.count;
    sendtype = outgoing.wire.type;
  }
  if (entry->receive) {
    mark(entry->incoming);
    recvbuf = entry->incoming.data;
    recvcount = entry->incoming.wire.count;
    recvtype = entry->incoming.wire.type;
  }
  MPI_Request started = runtime().request_null;
  const int code =
      call_fitting(&Next::MPI_Isendrecv, &Next::MPI_Isendrecv_c, sendbuf, sendcount, sendtype, dest,
                   sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, &started);
  if (started == runtime().request_null) {
    outgoing.give_up();
    drop_pending(entry);
    return handled(code);
  }
  *request = started;
  if (!entry->receive && (outgoing.region != nullptr || is_complete(started))) {
    drop_pending(entry);
    return handled(code);
  }
  entry->outgoing = std::move(outgoing.staging);
  entry->source.comm = comm;
  add_pending(entry, started);
  return sends ? handled(code) : watched(code);
}

// The data are packed, or copied, before the receive may overwrite them.
Answer handle_isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                int sendtag, int source, int recvtag, MPI_Comm comm,
                                MPI_Request* request) {
  return handle_isendrecv(buf, count, datatype, dest, sendtag, buf, count, datatype, source,
                          recvtag, comm, request);
}

// For Open MPI 4, which lacks MPI_Isendrecv: programs may find lacuna's function by its name.
int missing_isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                      int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                      int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  if (!is_open(~0U) || request == nullptr || !runtime().nonblocking) return kUnsupported;
  const Answer answer = split_isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,
                                        recvcount, recvtype, source, recvtag, comm, request);
  return answer.handled ? answer.code : kUnsupported;
}

Answer handle_cancel(MPI_Request* request) {
  if (request == nullptr) return kDeclined;
  const Cancelling cancelling = cancelling_of(*request);
  if (!cancelling.has_effect) return handled(MPI_SUCCESS);
  return cancelling.substitute != nullptr
             ? handled(next_functions().MPI_Cancel(cancelling.substitute))
             : kDeclined;
}

Answer handle_request_free(MPI_Request* request) {
  finish_freed_requests();
  if (request == nullptr) return kDeclined;
  if (PendingRequest* entry = claim_pending(*request)) {
    if (entry->completion == nullptr || entry->completion->may_be_freed()) {
      keep_freed(entry);
      *request = runtime().request_null;
      return handled(MPI_SUCCESS);
    }
    // MPI forbids to free active requests of collectives and of one-sided operations: left to the
    // library.
    put_back(entry);
    if (!entry->persistent) return kDeclined;
  }
  PendingRequest* entry = find_persistent(*request);
  if (entry == nullptr) return kDeclined;
  const bool outstanding_request = entry->active;
  remove_persistent(entry);  // first: another thread may get the same handle at once
  const int code = next_functions().MPI_Request_free(request);
  if (handle_bits(*request) == entry->key) {
    add_persistent(entry, *request);
  } else if (!outstanding_request) {  // else the library may still use its data
    drop_pending(entry);
  }
  return handled(code);
}

}  // namespace lacuna
