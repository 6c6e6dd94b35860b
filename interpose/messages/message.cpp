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
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/types/guard.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {

Answer without_packed_data(MPI_Comm comm) {
  return is_watched(kDevices) && device::take_failure() ? handled(device::raise_failure(comm))
                                                        : kDeclined;
}

namespace {

Outcome try_to_prepare(const Decision& decision, bool blocking, bool is_guarded, bool any_memory,
                       Staging* staging, Wire* wire) noexcept {
  *wire = wire_of(decision);
  if (!is_countable(*wire)) return Outcome::kTooLarge;
  if (is_guarded && !guard(wire)) return Outcome::kMayOverrun;
  if (!decision.is_on_device())
    *staging = borrow_staging(decision.bytes, blocking);
  else
    *staging = any_memory ? device::borrow_for_library(decision.bytes)
                          : device::borrow_pinned(decision.bytes);
  return *staging ? Outcome::kHandled : Outcome::kNoMemory;
}

}  // namespace

bool prepare(const Decision& decision, bool blocking, bool is_guarded, bool any_memory,
             Staging* staging, Wire* wire) noexcept {
  const Outcome why = try_to_prepare(decision, blocking, is_guarded, any_memory, staging, wire);
  if (why != Outcome::kHandled) log_type(*decision.record, why, decision.bytes);
  return why == Outcome::kHandled;
}

namespace {

// Whether a token may be sent instead of the payload, if the receiver takes tokens. Only payloads
// longer than a token: a receive that is too small for the payload must fail, also if a token would
// fit.
bool examine_for_token(const void* buf, MPI_Count count, MPI_Datatype datatype,
                       Decision* decision) noexcept {
  return examine(Operation::kDirect, buf, count, datatype, decision) &&
         decision->bytes > direct::kTokenBytes;
}

// Before the token is written: if a device fails, nothing may have been sent. False: the message
// goes packed, unless the device has failed.
bool pack_on_device(const Plan& plan, const void* buf, MPI_Count count, int64_t bytes,
                    const Account& account, const direct::Peer& peer,
                    direct::Region* region) noexcept {
  std::byte* there = direct::payload(region);
  const device::OnDevice data{&plan, count, const_cast<void*>(buf)};
  const device::WindowPlace place = device::window_for(data, there, bytes, peer);
  region->window = place.window;
  if (place.begin != nullptr)
    there = place.begin;
  else if (!device::reaches(data, there, bytes))
    return false;
  return pack_for(account, plan, buf, count, there);
}

bool promise(const PlanPtr& plan, const void* buf, MPI_Count count, int64_t bytes,
             const Account& account, const direct::Peer& peer, Outgoing* outgoing) noexcept {
  outgoing->region = direct::reserve(bytes);
  if (outgoing->region == nullptr) return false;
  if (account.on_device) {
    if (!pack_on_device(*plan, buf, count, bytes, account, peer, outgoing->region)) {
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

// The rank of MPI_COMM_WORLD to which such a message goes in pieces. -1: it does not.
int pipelined_to(MPI_Comm comm, int dest, MPI_Count count, const Decision& decision) noexcept {
  if (!direct::has_pipeline() || decision.is_on_device()) return -1;
  const Runtime& rt = runtime();
  if (!rt.always && !pays_in_pieces(rt.flavour, *rt.messages,
                                    shape_of(*decision.record, count, decision.bytes))) {
    return -1;
  }
  const int to = direct::rank_in_world(comm, dest);
  // A rank of this node has no peer where memory was refused.
  return direct::is_peer(to) && !direct::pipeline().within_nodes ? -1 : to;
}

// A message to another node, in pieces.
bool promise_pieces(const Plan& plan, const void* buf, MPI_Count count, int64_t bytes,
                    const Account& account, int to, bool blocking, Outgoing* outgoing) noexcept {
  const InLibrary inside;  // no payload is received meanwhile
  Staging token = borrow_staging(direct::kTokenBytes, blocking);
  if (!token || !outgoing->pieces.prepare(to, bytes, plan, count,
                                          reinterpret_cast<direct::Token*>(token.data()))) {
    return false;
  }
  token.wipe_at_end(direct::kTokenBytes);  // the receiver may not have received it by then
  outgoing->data = token.data();
  outgoing->staging = std::move(token);
  outgoing->wire = {runtime().packed, direct::kTokenBytes};
  outgoing->plan = &plan;
  outgoing->buf = buf;
  outgoing->count = count;
  outgoing->account = account;
  return true;
}

// Where a message's token goes: to a rank of this node, or of another. Neither: there is none.
struct Receiver {
  const direct::Peer* peer = nullptr;
  int far = -1;

  explicit operator bool() const noexcept { return peer != nullptr || far >= 0; }
  Outcome outcome() const noexcept {
    return peer != nullptr ? Outcome::kDirect : Outcome::kPipelined;
  }
};

Receiver receiver_of(MPI_Comm comm, int dest, MPI_Count count, const Decision& decision) noexcept {
  Receiver receiver;
  const direct::Peer* const peer = direct::peer_of(comm, dest);
  if (!direct::pipeline().within_nodes) receiver.peer = peer;
  if (receiver.peer == nullptr) receiver.far = pipelined_to(comm, dest, count, decision);
  return receiver;
}

bool promise_any(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                 bool blocking, Outgoing* outgoing) noexcept {
  Decision decision;
  if (!examine_for_token(buf, count, datatype, &decision) ||
      !direct::is_tag_of_send(outgoing->tag)) {
    return false;
  }
  const Receiver receiver = receiver_of(comm, dest, count, decision);
  const PlanPtr& plan = decision.record->plan;
  const Account account = account_of(decision);
  const bool is_made =
      receiver.peer != nullptr
          ? promise(plan, buf, count, decision.bytes, account, *receiver.peer, outgoing)
          : receiver.far >= 0 && promise_pieces(*plan, buf, count, decision.bytes, account,
                                                receiver.far, blocking, outgoing);
  if (is_made) log_type(*decision.record, receiver.outcome(), decision.bytes);
  return is_made;
}

// A token should not arrive in memory of a device, where it takes a copy to be read. Only ranks of
// this node send tokens instead of a device's data.
bool sends_no_token(int source, MPI_Comm comm) noexcept {
  return !is_open(kDirectSwitch) || (source >= 0 && direct::peer_of(comm, source) == nullptr);
}

bool begin_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                    bool blocking, Incoming* incoming, Decision* decision) noexcept {
  incoming->comm = comm;
  if (!open_to(kP2pSwitch, datatype)) return false;
  if (!examine(Operation::kReceive, buf, count, datatype, decision)) return false;
  const Outcome why =
      try_to_prepare(*decision, blocking, true,
                     decision->is_on_device() && !incoming->on_host && sends_no_token(source, comm),
                     &incoming->staging, &incoming->wire);
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
  if (plan == nullptr) return;
  const Stopwatch watch(account, Way::kPack);
  if (pieces)
    pieces.send(*plan, buf, count, is_out);
  else
    direct::publish(region, *plan, buf, count, is_out);
}

void Outgoing::give_up() noexcept {
  if (region != nullptr) direct::release(region);
  if (pieces) pieces.give_up();
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
bool prepare_send(const Decision& decision, bool blocking, SendMode mode, bool any_memory,
                  Staging* staging, Wire* wire) noexcept {
  const bool is_buffered = mode == SendMode::kBuffered;
  const bool is_guarded = !is_buffered && decision.bytes > kNeverOverruns;
  return prepare(decision, blocking, is_guarded, any_memory && !is_buffered, staging, wire);
}

}  // namespace

bool make_outgoing(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                   bool blocking, Outgoing* outgoing) noexcept {
  if (dest == MPI_PROC_NULL || !is_open(kP2pSwitch)) return false;
  if (may_send_tokens(outgoing->mode) &&
      promise_any(buf, count, datatype, dest, comm, blocking, outgoing)) {
    return true;
  }
  Decision decision;
  if (!examine_send(buf, count, datatype, dest, comm, &decision) ||
      !prepare_send(decision, blocking, outgoing->mode, true, &outgoing->staging,
                    &outgoing->wire)) {
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
  Receiver receiver;
  if (may_send_tokens(source->mode) && examine_for_token(buf, count, datatype, &direct))
    receiver = receiver_of(source->comm, source->dest, source->count, direct);
  source->peer = receiver.peer;
  source->far = receiver.far;
  if (receiver) source->serial = direct::serial_of(source->comm);
  Decision packed;
  if (examine_send(buf, count, datatype, source->dest, source->comm, &packed) &&
      prepare_send(packed, false, source->mode, false, staging, wire)) {
    log_type(*packed.record, source->serial != 0 ? receiver.outcome() : packed.handled(),
             packed.bytes);
  } else if (source->serial != 0) {
    *wire = {datatype, count};
    log_type(*direct.record, receiver.outcome(), direct.bytes);
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
  if (source.serial == 0 || !is_open(kP2pSwitch) || !is_open(kDirectSwitch) ||
      direct::serial_of(source.comm) != source.serial) {
    return false;
  }
  return source.peer != nullptr
             ? promise(source.plan, source.buf, source.count, source.bytes, source.account,
                       *source.peer, outgoing)
             : promise_pieces(*source.plan, source.buf, source.count, source.bytes, source.account,
                              source.far, false, outgoing);
}

bool make_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   bool blocking, Incoming* incoming) noexcept {
  if (source == MPI_PROC_NULL) return false;
  Decision decision;
  if (!begin_incoming(buf, count, datatype, source, comm, blocking, incoming, &decision)) {
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
  bool pays = begin_incoming(buf, count, datatype, source, comm, true, incoming, &decision);
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
