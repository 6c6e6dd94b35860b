// SPDX-License-Identifier: BSD-3-Clause
//
// A packed message keeps its signature: it is sent as n elements of the basic type if there is only
// one, else as MPI_PACKED, which matches every type. So the peer may run without lacuna, or receive
// into any type of the same signature.
#include "interpose/messages/message.hpp"

#include <utility>

#include "interpose/device/moves.hpp"
#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/messages/send.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/types/guard.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {

Answer without_packed_data(MPI_Comm comm) {
  return is_watched(kDevices) && device::take_failure() ? handled(device::raise_failure(comm))
                                                        : kDeclined;
}

namespace {

Outcome try_to_prepare(const Decision& decision, bool blocking, bool is_guarded, Staging* staging,
                       Wire* wire) noexcept {
  *wire = wire_of(decision);
  if (!is_countable(*wire)) return Outcome::kTooLarge;
  if (is_guarded && !guard(wire)) return Outcome::kMayOverrun;
  *staging = decision.is_on_device() ? device::borrow_pinned(decision.bytes)
                                     : borrow_staging(decision.bytes, blocking);
  return *staging ? Outcome::kHandled : Outcome::kNoMemory;
}

}  // namespace

bool prepare(const Decision& decision, bool blocking, bool is_guarded, Staging* staging,
             Wire* wire) noexcept {
  const Outcome why = try_to_prepare(decision, blocking, is_guarded, staging, wire);
  if (why != Outcome::kHandled) log_type(*decision.record, why, decision.bytes);
  return why == Outcome::kHandled;
}

namespace {

// The peer to which a token may be sent instead of the payload. Null: none.
const direct::Peer* find_peer(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                              MPI_Comm comm, Decision* decision) noexcept {
  // Only payloads longer than a token: a receive that is too small for the payload must fail, also
  // if a token would fit.
  if (!examine(Operation::kDirect, buf, count, datatype, decision) ||
      decision->bytes <= direct::kTokenBytes) {
    return nullptr;
  }
  return direct::peer_of(comm, dest);
}

// Before the token is written: if a device fails, nothing may have been sent. False: the message
// goes packed, unless the device has failed.
bool pack_on_device(const Plan& plan, const void* buf, MPI_Count count, int64_t bytes,
                    const Account& account, direct::Region* region) noexcept {
  std::byte* const there = direct::payload(region);
  return device::reaches(plan, buf, there, bytes) && pack_for(account, plan, buf, count, there);
}

bool promise(const PlanPtr& plan, const void* buf, MPI_Count count, int64_t bytes,
             const Account& account, const direct::Peer& peer, Outgoing* outgoing) noexcept {
  outgoing->region = direct::reserve(bytes);
  if (outgoing->region == nullptr) return false;
  if (account.on_device) {
    if (!pack_on_device(*plan, buf, count, bytes, account, outgoing->region)) {
      direct::release(std::exchange(outgoing->region, nullptr));
      return false;
    }
    outgoing->region->published.store(bytes, std::memory_order_release);
  }
  direct::write_token(outgoing->region, bytes, peer);
  outgoing->data = &outgoing->region->token;
  outgoing->wire = {runtime().packed, direct::kTokenBytes};
  outgoing->plan = account.on_device ? nullptr : plan.get();
  outgoing->kept = keep_plan(plan);
  outgoing->buf = buf;
  outgoing->count = count;
  outgoing->account = account;
  return true;
}

bool make_direct(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                 Outgoing* outgoing) noexcept {
  Decision decision;
  const direct::Peer* peer = find_peer(buf, count, datatype, dest, comm, &decision);
  if (peer == nullptr || !direct::is_tag_of_send(outgoing->tag) ||
      !promise(decision.record->plan, buf, count, decision.bytes, account_of(decision), *peer,
               outgoing)) {
    return false;
  }
  log_type(*decision.record, Outcome::kDirect, decision.bytes);
  return true;
}

bool begin_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm, bool blocking,
                    Incoming* incoming, Decision* decision) noexcept {
  incoming->comm = comm;
  if (!open_to(kP2pSwitch, datatype)) return false;
  if (!examine(Operation::kReceive, buf, count, datatype, decision)) return false;
  const Outcome why =
      try_to_prepare(*decision, blocking, true, &incoming->staging, &incoming->wire);
  if (why != Outcome::kHandled) {
    decline_receive(*decision->record, why, decision->bytes, decision);
    return false;
  }
  incoming->data = incoming->staging.data();
  incoming->plan = decision->record->plan;
  incoming->buf = buf;
  incoming->count = count;
  incoming->bytes = decision->bytes;
  if (is_watched(kReported | kVerified | kDevices)) {
    incoming->account = account_of(*decision);
    incoming->by_library = decision->is_on_device();
  }
  return true;
}

}  // namespace

void Outgoing::fill(bool is_out) noexcept {
  if (region == nullptr || plan == nullptr) return;
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
                  Decision* decision) noexcept {
  const Runtime& rt = runtime();
  if (!examine(Operation::kSend, buf, count, datatype, decision)) return false;
  if (decision->record->uniform || !breaks_own_structs(rt.flavour, rt.mpich_major, decision->bytes))
    return true;
  int rank = MPI_PROC_NULL;
  if (!is_communicator(comm) || next_functions().MPI_Comm_rank(comm, &rank) != MPI_SUCCESS ||
      rank != dest) {
    return true;
  }
  log_type(*decision->record, Outcome::kMixed, decision->bytes);
  return false;
}

// Buffered sends need no guarded type: the library packs what it buffers anyway.
bool prepare_send(const Decision& decision, bool blocking, SendMode mode, Staging* staging,
                  Wire* wire) noexcept {
  const bool is_guarded = mode != SendMode::kBuffered && decision.bytes > kNeverOverruns;
  return prepare(decision, blocking, is_guarded, staging, wire);
}

}  // namespace

bool make_outgoing(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                   bool blocking, Outgoing* outgoing) noexcept {
  if (dest == MPI_PROC_NULL || !is_open(kP2pSwitch)) return false;
  if (may_send_tokens(outgoing->mode) && make_direct(buf, count, datatype, dest, comm, outgoing))
    return true;
  Decision decision;
  if (!examine_send(buf, count, datatype, dest, comm, &decision) ||
      !prepare_send(decision, blocking, outgoing->mode, &outgoing->staging, &outgoing->wire)) {
    return false;
  }
  outgoing->data = outgoing->staging.data();
  if (!pack_for(account_of(decision), *decision.record->plan, buf, count,
                outgoing->staging.data())) {
    return false;
  }
  log_type(*decision.record, decision.handled(), decision.bytes);
  return true;
}

bool make_source(const void* buf, MPI_Count count, MPI_Datatype datatype, Staging* staging,
                 Wire* wire, SendSource* source) noexcept {
  if (source->dest == MPI_PROC_NULL) return false;
  Decision direct;
  if (may_send_tokens(source->mode)) {
    source->peer = find_peer(buf, count, datatype, source->dest, source->comm, &direct);
    if (source->peer != nullptr) source->serial = direct::serial_of(source->comm);
  }
  Decision packed;
  if (examine_send(buf, count, datatype, source->dest, source->comm, &packed) &&
      prepare_send(packed, false, source->mode, staging, wire)) {
    log_type(*packed.record, source->serial != 0 ? Outcome::kDirect : packed.handled(),
             packed.bytes);
  } else if (source->serial != 0) {
    *wire = {datatype, count};
    log_type(*direct.record, Outcome::kDirect, direct.bytes);
  } else {
    return false;
  }
  const Decision& decision = *staging ? packed : direct;
  source->plan = decision.record->plan;
  source->buf = buf;
  source->count = count;
  source->bytes = decision.bytes;
  source->account = account_of(decision);
  return true;
}

bool make_token(const SendSource& source, Outgoing* outgoing) noexcept {
  return source.serial != 0 && is_open(kP2pSwitch) && is_open(kDirectSwitch) &&
         direct::serial_of(source.comm) == source.serial &&
         promise(source.plan, source.buf, source.count, source.bytes, source.account, *source.peer,
                 outgoing);
}

bool make_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   bool blocking, Incoming* incoming) noexcept {
  if (source == MPI_PROC_NULL) return false;
  Decision decision;
  if (!begin_incoming(buf, count, datatype, comm, blocking, incoming, &decision)) {
    if (!is_open(kDirectSwitch) || !make_watched(buf, count, datatype, blocking, incoming))
      return false;
    incoming->deferred_log.otherwise(decision.why);
    return true;
  }
  log_type(*decision.record, decision.handled(), decision.bytes);
  return true;
}

bool make_replacement(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int source,
                      MPI_Comm comm, Staging* outgoing, Incoming* incoming) noexcept {
  if (source == MPI_PROC_NULL) return false;
  Decision decision;
  bool pays = begin_incoming(buf, count, datatype, comm, true, incoming, &decision);
  if (pays) {
    *outgoing = decision.is_on_device() ? device::borrow_pinned(incoming->bytes)
                                        : borrow_staging(incoming->bytes, true);
    pays = static_cast<bool>(*outgoing);
    if (pays)
      log_type(*decision.record, decision.handled(), decision.bytes);
    else
      decline_receive(*decision.record, Outcome::kNoMemory, decision.bytes, &decision);
  }
  if (!pays) {
    *incoming = Incoming();
    incoming->comm = comm;
    if (!is_open(kDirectSwitch) || !make_watched(buf, count, datatype, true, incoming))
      return false;
    incoming->deferred_log.otherwise(decision.why);
    if (incoming->staging) *outgoing = need_staging(incoming->bytes, true);
    if (!*outgoing) {  // the library does the call, and may receive a token
      incoming->receive_in_place(datatype);
      return true;
    }
  }
  if (dest == MPI_PROC_NULL) return true;
  if (incoming->by_library) return direct::pack_by_library(*incoming, count, outgoing->data());
  return pack_for(incoming->account, *incoming->plan, buf, count, outgoing->data());
}

bool is_message(const MPI_Message* message) noexcept {
  return message != nullptr && *message != runtime().message_null &&
         *message != runtime().message_no_proc;
}

}  // namespace lacuna
