// SPDX-License-Identifier: BSD-3-Clause
//
// Starting nonblocking communication, and MPI_Request_free. The request that the program gets is
// the library's own.
#include "interpose/bodies.hpp"
#include "interpose/log.hpp"
#include "interpose/next.hpp"
#include "interpose/requests.hpp"
#include "interpose/runtime.hpp"

namespace lacuna {
namespace {

// The call's request is ours until the library has given one: after an error that the program's own
// handler has seen, the code may be MPI_SUCCESS and the request untouched.

// Where completions may escape our eyes, nothing may be started that waits for them.
bool may_start(MPI_Datatype datatype, const MPI_Request* request) noexcept {
  if (request == nullptr) return false;
  if (runtime().nonblocking) return true;
  const TypeRecord* record = type_record(datatype);
  if (record != nullptr && record->plan != nullptr) log_type(*record, Note::kHiddenCompletion);
  return false;
}

}  // namespace

Answer take_isend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) noexcept {
  finish_freed_requests();
  if (!may_start(datatype, request)) return kDeclined;
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  Outgoing outgoing;
  if (!make_outgoing(buf, count, datatype, dest, false, &outgoing)) {
    drop_pending(entry);
    return kDeclined;
  }
  const Next& next = next_functions();
  const Wire& wire = outgoing.wire;
  const void* packed = outgoing.staging.data();
  MPI_Request started = runtime().request_null;
  const int code = fits_int(wire.count)
                       ? next.MPI_Isend(packed, static_cast<int>(wire.count), wire.type, dest, tag,
                                        comm, &started)
                       : next.MPI_Isend_c(packed, wire.count, wire.type, dest, tag, comm, &started);
  if (started == runtime().request_null) {
    drop_pending(entry);
    return taken(code);
  }
  *request = started;
  // A send that is complete when it returns needs no entry. More than thrift: libraries give such
  // sends one shared request handle, which must not be in the table.
  int done = 0;
  if (next.MPI_Request_get_status(started, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0) {
    drop_pending(entry);
    return taken(code);
  }
  entry->receive = false;
  entry->outgoing = std::move(outgoing.staging);
  add_pending(entry, started);
  return taken(code);
}

Answer take_irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Request* request) noexcept {
  finish_freed_requests();
  if (!may_start(datatype, request)) return kDeclined;
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  entry->receive = true;
  Incoming& incoming = entry->incoming;
  if (!make_incoming(buf, count, datatype, source, false, &incoming)) {
    drop_pending(entry);
    return kDeclined;
  }
  const Next& next = next_functions();
  const Wire& wire = incoming.wire;
  void* packed = incoming.staging.data();
  MPI_Request started = runtime().request_null;
  const int code = fits_int(wire.count) ? next.MPI_Irecv(packed, static_cast<int>(wire.count),
                                                         wire.type, source, tag, comm, &started)
                                        : next.MPI_Irecv_c(packed, wire.count, wire.type, source,
                                                           tag, comm, &started);
  if (started == runtime().request_null) {
    drop_pending(entry);
    return taken(code);
  }
  *request = started;
  add_pending(entry, started);
  return taken(code);
}

Answer take_request_free(MPI_Request* request) noexcept {
  finish_freed_requests();
  if (request == nullptr) return kDeclined;
  PendingRequest* entry = claim_pending(*request);
  if (entry == nullptr) return kDeclined;
  if (entry->exchange !=
      nullptr) {  // MPI forbids it for collectives; what happens is the library's
    put_back(entry);
    return kDeclined;
  }
  keep_freed(entry);
  *request = runtime().request_null;
  return taken(MPI_SUCCESS);
}

}  // namespace lacuna
