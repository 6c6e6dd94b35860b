// SPDX-License-Identifier: BSD-3-Clause
//
// A packed message keeps its signature: it is sent as n elements of the basic type if there is only
// one, else as MPI_PACKED, which matches every type. So the peer may run without lacuna, or receive
// into any type of the same signature.
#include "interpose/messages/message.hpp"

#include <utility>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/messages/send.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/types/guard.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {
namespace {

Note try_to_prepare(const Job& job, bool blocking, bool is_guarded, Staging* staging,
                    Wire* wire) noexcept {
  *wire = wire_of(job);
  if (!is_countable(*wire)) return Note::kTooLarge;
  if (is_guarded && !guard(wire)) return Note::kMayOverrun;
  *staging = borrow_staging(job.bytes, blocking);
  return *staging ? Note::kTaken : Note::kNoMemory;
}

}  // namespace

bool prepare(const Job& job, bool blocking, bool is_guarded, Staging* staging,
             Wire* wire) noexcept {
  const Note why = try_to_prepare(job, blocking, is_guarded, staging, wire);
  if (why != Note::kTaken) log_type(*job.record, why, job.bytes);
  return why == Note::kTaken;
}

namespace {

// The peer to which a token may be sent instead of the payload. Null: none.
const direct::Peer* find_peer(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                              MPI_Comm comm, Job* job) noexcept {
  // Only payloads longer than a token: a receive that is too small for the payload must fail, also
  // if a token would fit.
  if (!examine(Operation::kDirect, buf, count, datatype, job) ||
      job->bytes <= direct::kTokenBytes) {
    return nullptr;
  }
  return direct::peer_of(comm, dest);
}

bool promise(const PlanPtr& plan, const void* buf, MPI_Count count, int64_t bytes,
             const Account& account, const direct::Peer& peer, Outgoing* outgoing) noexcept {
  outgoing->region = direct::reserve(bytes);
  if (outgoing->region == nullptr) return false;
  direct::write_token(outgoing->region, bytes, peer);
  outgoing->data = &outgoing->region->token;
  outgoing->wire = {runtime().packed, direct::kTokenBytes};
  outgoing->plan = plan.get();
  outgoing->kept = keep_plan(plan);
  outgoing->buf = buf;
  outgoing->count = count;
  outgoing->account = account;
  return true;
}

bool make_direct(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                 Outgoing* outgoing) noexcept {
  Job job;
  const direct::Peer* peer = find_peer(buf, count, datatype, dest, comm, &job);
  if (peer == nullptr || !direct::is_tag_of_send(outgoing->tag) ||
      !promise(job.record->plan, buf, count, job.bytes, account_of(*job.record), *peer, outgoing)) {
    return false;
  }
  log_type(*job.record, Note::kDirect, job.bytes);
  return true;
}

bool begin_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm, bool blocking,
                    Incoming* incoming, Job* job) noexcept {
  incoming->comm = comm;
  if (!open_to(kP2pSwitch, datatype)) return false;
  if (!examine(Operation::kReceive, buf, count, datatype, job)) return false;
  const Note why = try_to_prepare(*job, blocking, true, &incoming->staging, &incoming->wire);
  if (why != Note::kTaken) {
    decline_receive(*job->record, why, job->bytes, job);
    return false;
  }
  incoming->data = incoming->staging.data();
  incoming->plan = job->record->plan;
  incoming->buf = buf;
  incoming->count = count;
  incoming->bytes = job->bytes;
  incoming->account = account_of(*job->record);
  return true;
}

}  // namespace

void Outgoing::fill(bool is_out) noexcept {
  if (region == nullptr) return;
  const Stopwatch watch(account, Way::kPack);
  direct::publish(region, *plan, buf, count, is_out);
}

void Outgoing::give_up() noexcept {
  if (region != nullptr) direct::release(region);
}

namespace {

// Not for synchronous sends, which complete when the receive has begun: a probe may receive tokens
// before. Not for buffered ones, which must fail if the attached buffer is too small for the data.
bool may_send_tokens(SendMode mode) noexcept {
  return is_open(kDirectSwitch) && (mode == SendMode::kStandard || mode == SendMode::kReady);
}

// Whether to pack, whatever the receiver does.
bool examine_send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                  Job* job) noexcept {
  const Runtime& rt = runtime();
  if (!examine(Operation::kSend, buf, count, datatype, job)) return false;
  if (job->record->uniform || !breaks_own_structs(rt.flavour, rt.mpich_major, job->bytes))
    return true;
  int rank = MPI_PROC_NULL;
  if (!is_communicator(comm) || next_functions().MPI_Comm_rank(comm, &rank) != MPI_SUCCESS ||
      rank != dest) {
    return true;
  }
  log_type(*job->record, Note::kMixed, job->bytes);
  return false;
}

// Buffered sends need no guarded type: the library packs what it buffers anyway.
bool prepare_send(const Job& job, bool blocking, SendMode mode, Staging* staging,
                  Wire* wire) noexcept {
  const bool is_guarded = mode != SendMode::kBuffered && job.bytes > kNeverOverruns;
  return prepare(job, blocking, is_guarded, staging, wire);
}

}  // namespace

bool make_outgoing(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                   bool blocking, Outgoing* outgoing) noexcept {
  if (dest == MPI_PROC_NULL || !is_open(kP2pSwitch)) return false;
  if (may_send_tokens(outgoing->mode) && make_direct(buf, count, datatype, dest, comm, outgoing))
    return true;
  Job job;
  if (!examine_send(buf, count, datatype, dest, comm, &job) ||
      !prepare_send(job, blocking, outgoing->mode, &outgoing->staging, &outgoing->wire)) {
    return false;
  }
  outgoing->data = outgoing->staging.data();
  pack_for(account_of(*job.record), *job.record->plan, buf, count, outgoing->staging.data());
  log_type(*job.record, Note::kTaken, job.bytes);
  return true;
}

bool make_source(const void* buf, MPI_Count count, MPI_Datatype datatype, Staging* staging,
                 Wire* wire, SendSource* source) noexcept {
  if (source->dest == MPI_PROC_NULL) return false;
  Job direct;
  if (may_send_tokens(source->mode)) {
    source->peer = find_peer(buf, count, datatype, source->dest, source->comm, &direct);
    if (source->peer != nullptr) source->life = direct::life_of(source->comm);
  }
  Job packed;
  if (examine_send(buf, count, datatype, source->dest, source->comm, &packed) &&
      prepare_send(packed, false, source->mode, staging, wire)) {
    log_type(*packed.record, source->life != 0 ? Note::kDirect : Note::kTaken, packed.bytes);
  } else if (source->life != 0) {
    *wire = {datatype, count};
    log_type(*direct.record, Note::kDirect, direct.bytes);
  } else {
    return false;
  }
  const Job& job = *staging ? packed : direct;
  source->plan = job.record->plan;
  source->buf = buf;
  source->count = count;
  source->bytes = job.bytes;
  source->account = account_of(*job.record);
  return true;
}

bool make_token(const SendSource& source, Outgoing* outgoing) noexcept {
  return source.life != 0 && is_open(kP2pSwitch) && is_open(kDirectSwitch) &&
         direct::life_of(source.comm) == source.life &&
         promise(source.plan, source.buf, source.count, source.bytes, source.account, *source.peer,
                 outgoing);
}

bool make_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   bool blocking, Incoming* incoming) noexcept {
  if (source == MPI_PROC_NULL) return false;
  Job job;
  if (!begin_incoming(buf, count, datatype, comm, blocking, incoming, &job)) {
    if (!is_open(kDirectSwitch) || !make_watched(buf, count, datatype, blocking, incoming))
      return false;
    incoming->untold.otherwise(job.why);
    return true;
  }
  log_type(*job.record, Note::kTaken, job.bytes);
  return true;
}

bool make_replacement(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int source,
                      MPI_Comm comm, Staging* outgoing, Incoming* incoming) noexcept {
  if (source == MPI_PROC_NULL) return false;
  Job job;
  bool pays = begin_incoming(buf, count, datatype, comm, true, incoming, &job);
  if (pays) {
    *outgoing = borrow_staging(incoming->bytes, true);
    pays = static_cast<bool>(*outgoing);
    if (pays)
      log_type(*job.record, Note::kTaken, job.bytes);
    else
      decline_receive(*job.record, Note::kNoMemory, job.bytes, &job);
  }
  if (!pays) {
    *incoming = Incoming();
    incoming->comm = comm;
    if (!is_open(kDirectSwitch) || !make_watched(buf, count, datatype, true, incoming))
      return false;
    incoming->untold.otherwise(job.why);
    if (incoming->staging) *outgoing = need_staging(incoming->bytes, true);
    if (!*outgoing) {  // the library does the call, and may receive a token
      incoming->receive_in_place(datatype);
      return true;
    }
  }
  if (dest == MPI_PROC_NULL) return true;
  if (incoming->by_library) return direct::pack_by_library(*incoming, count, outgoing->data());
  pack_for(incoming->account, *incoming->plan, buf, count, outgoing->data());
  return true;
}

bool is_message(const MPI_Message* message) noexcept {
  return message != nullptr && *message != runtime().message_null &&
         *message != runtime().message_no_proc;
}

}  // namespace lacuna
