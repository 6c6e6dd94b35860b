// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests. The program gets the library's own request, made for packed data, so the
// staging must live as long as the request. Data are packed at each start and unpacked at each
// completion. Requests of collectives are made in collectives/call.hpp and started here.
//
// Some starts use a *substitute*, another request, while the persistent one stays inactive.
// Completing calls then ask the library about the substitute (requests/library_requests.hpp). This
// is done for a send of a token, which is a new message each time; for a receive of a message that
// a probe has taken out of the library's queue (direct/messages/probe.hpp), which a persistent
// request would not find; and, with pipelined messages, for all receives: MPICH 5.0.2 makes a
// persistent request inactive when MPI_Request_get_status finds it complete (is_incomplete()).
//
// An entry is active from its start until lacuna has seen it complete. After an error it may count
// as active although the library has ended it: that is harmless, as the status of an inactive
// request is the empty one. The opposite mistake would lose data.
#include <atomic>
#include <utility>

#include "interpose/device/moves.hpp"
#include "interpose/direct/messages/probe.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/library/call_fitting.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/messages/send_modes.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {
namespace {

Answer keep(PendingRequest* entry, MPI_Request made, MPI_Request* request, int code) {
  const bool only_watched =
      made != runtime().request_null && entry->receive && entry->incoming.is_only_watched();
  settle_made(entry, made, request, code);
  return only_watched ? watched(code) : handled(code);
}

constinit std::atomic<uint64_t> g_substituted{0};

bool receive_by_substitute(PendingRequest* entry) {
  const bool may_come_in_pieces =
      direct::has_pipeline() && direct::has_room_for_pieces(&entry->incoming);
  if (!direct::any_held() && !may_come_in_pieces) return false;
  direct::HeldReceive held_receive;
  int source = entry->from;
  int tag = entry->tag;
  MPI_Comm comm = entry->incoming.comm;
  held_receive.start(&source, &tag, &comm);
  if (!held_receive.redirected() && !may_come_in_pieces) return false;
  begin_receive(&held_receive, source, tag, comm, &entry->incoming, &entry->substitute);
  return entry->incoming.redirected || entry->substitute != runtime().request_null;
}

bool send_token(PendingRequest* entry) {
  const SendSource& source = entry->source;
  Outgoing outgoing;
  if (!make_token(source, &outgoing)) return false;
  bool is_sent = false;
  send_and_fill(&outgoing, false, [&] {
    const int code = (next_functions().*send_functions(source.mode).nonblocking)(
        outgoing.data, static_cast<int>(outgoing.wire.count), outgoing.wire.type, source.dest,
        source.tag, source.comm, &entry->substitute);
    return is_sent = code == MPI_SUCCESS && entry->substitute != runtime().request_null;
  });
  entry->token = std::move(outgoing.staging);
  return is_sent;
}

// What a start has come to: the library's MPI_Start must be called; a substitute has been started;
// or nothing is started, as a device has failed, or the substitute of an earlier start is active.
enum class Begun { kMustStart, kSubstituted, kFailed };

// Prepares a start.
Begun begin(PendingRequest* entry) {
  // Active and incomplete: the program's mistake, left to the library. Active but complete: an
  // earlier start has failed.
  if (entry->active && entry->substituted != 0) return Begun::kFailed;
  if (entry->active && !is_complete(entry->request)) return Begun::kMustStart;
  if (entry->completion != nullptr) {
    if (!entry->completion->pack()) return Begun::kFailed;
    activate(entry);
    return Begun::kMustStart;
  }
  Incoming& incoming = entry->incoming;
  incoming.payload_bytes = -1;
  incoming.failed = MPI_SUCCESS;
  incoming.redirected = false;
  incoming.whole = Staging();
  entry->token = Staging();
  if (entry->receive) mark(incoming);
  entry->substitute = runtime().request_null;
  const bool is_substituted = entry->receive ? receive_by_substitute(entry) : send_token(entry);
  if (is_substituted)
    entry->substituted = g_substituted.fetch_add(1, std::memory_order_relaxed) + 1;
  else if (!entry->receive && is_watched(kDevices) && device::take_failure())
    return Begun::kFailed;
  const SendSource& source = entry->source;
  if (!is_substituted && entry->outgoing &&
      !pack_for(source.account, *source.plan, source.buf, source.count, entry->outgoing.data())) {
    return Begun::kFailed;
  }
  activate(entry);
  return is_substituted ? Begun::kSubstituted : Begun::kMustStart;
}

// The library does not know of a substitute, and would start its own request. Open MPI does not
// check whether a request is active.
int raise_started_twice() {
  return runtime().flavour != Flavour::kOpenMpi
             ? raise_error(comm_of_unattached_errors(), MPI_ERR_REQUEST)
             : MPI_SUCCESS;
}

int raise_failed_start(const PendingRequest& entry) {
  if (entry.active && entry.substituted != 0) return raise_started_twice();
  return device::raise_failure(entry.completion != nullptr ? entry.incoming.comm
                                                           : entry.source.comm);
}

}  // namespace

Answer handle_send_init(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype,
                        int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  finish_freed_requests();
  if (mode == SendMode::kBuffered && !keeps_buffered(runtime().flavour)) return kDeclined;
  if (!may_start(datatype, request)) return kDeclined;
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  Wire wire;
  entry->source.mode = mode;
  entry->source.dest = dest;
  entry->source.tag = tag;
  entry->source.comm = comm;
  if (!make_source(buf, count, datatype, &entry->outgoing, &wire, &entry->source)) {
    drop_pending(entry);
    return kDeclined;
  }
  const SendFunctions& send = send_functions(mode);
  const void* data = entry->outgoing ? entry->outgoing.data() : buf;
  MPI_Request made = runtime().request_null;
  const int code =
      call_fitting(send.init, send.init_c, data, wire.count, wire.type, dest, tag, comm, &made);
  return keep(entry, made, request, code);
}

Answer handle_recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, MPI_Request* request) {
  finish_freed_requests();
  if (!may_start(datatype, request)) return kDeclined;
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  entry->receive = true;
  entry->incoming.on_host = true;  // a reset of the device takes its memory, and not the request
  if (!make_incoming(buf, count, datatype, source, comm, false, &entry->incoming)) {
    drop_pending(entry);
    return kDeclined;
  }
  entry->from = source;
  entry->tag = tag;
  const Wire& wire = entry->incoming.wire;
  void* packed = entry->incoming.data;
  MPI_Request made = runtime().request_null;
  const int code = call_fitting(&Next::MPI_Recv_init, &Next::MPI_Recv_init_c, packed, wire.count,
                                wire.type, source, tag, comm, &made);
  return keep(entry, made, request, code);
}

Answer handle_start(MPI_Request* request) {
  finish_freed_requests();
  PendingRequest* entry = request != nullptr ? find_persistent(*request) : nullptr;
  if (entry == nullptr) return kDeclined;
  Begun begun{};
  {
    const direct::PostingLock posting;
    begun = begin(entry);
    if (begun == Begun::kMustStart) return handled(next_functions().MPI_Start(request));
  }
  return handled(begun == Begun::kFailed ? raise_failed_start(*entry) : MPI_SUCCESS);
}

Answer handle_startall(int count, MPI_Request* requests) {
  finish_freed_requests();
  if (requests == nullptr) return kDeclined;
  bool any = false;
  int code = MPI_SUCCESS;
  const PendingRequest* failed = nullptr;
  {
    const direct::PostingLock posting;
    int begun = 0;  // requests before this index have been started
    const auto start_up_to = [&](int end) {
      const int first = std::exchange(begun, end);
      return end > first ? next_functions().MPI_Startall(end - first, requests + first)
                         : MPI_SUCCESS;
    };
    for (int i = 0; i < count && code == MPI_SUCCESS && failed == nullptr; ++i) {
      PendingRequest* entry = find_persistent(requests[i]);
      if (entry == nullptr) continue;
      any = true;
      // The library's requests before this one are started first, so that a substitute's message
      // does not overtake theirs.
      if (entry->source.serial != 0 || (entry->receive && direct::has_pipeline()))
        code = start_up_to(i);
      const Begun one = code == MPI_SUCCESS ? begin(entry) : Begun::kMustStart;
      if (one == Begun::kMustStart) continue;
      code = start_up_to(i);
      begun = i + 1;
      if (one == Begun::kFailed && code == MPI_SUCCESS) failed = entry;
    }
    if (any && code == MPI_SUCCESS && failed == nullptr) code = start_up_to(count);
  }
  if (failed != nullptr) return handled(raise_failed_start(*failed));
  return any ? handled(code) : kDeclined;
}

}  // namespace lacuna
