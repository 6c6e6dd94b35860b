// SPDX-License-Identifier: BSD-3-Clause
//
// The end of a receive: unpacks what has come, or fetches the payload of a token, and raises
// errors.
#include "interpose/direct/messages/arriving_message.hpp"
#include "interpose/direct/messages/incoming.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/pipeline/far_rank.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {

// The library would report a too long message on lacuna's private communicator, so it gets a buffer
// for a whole token; deliver() raises the error.
void Incoming::redirect(const direct::HeldReceive& held_receive) noexcept {
  redirected = held_receive.redirected();
  source = held_receive.source();
  tag = held_receive.tag();
  if (!held_receive.is_own() || (bytes < 0 && !direct::measure(this)) ||
      bytes >= direct::kTokenBytes)
    return;
  whole = borrow_staging(direct::kTokenBytes, false);
}

void* Incoming::library_buffer() const noexcept { return whole ? whole.data() : data; }

Wire Incoming::library_type() const noexcept {
  return whole ? Wire{runtime().packed, direct::kTokenBytes} : wire;
}

void Incoming::receive_in_place(MPI_Datatype datatype) noexcept {
  staging = Staging();
  data = buf;
  wire = {datatype, count};
}

namespace {

int bring(Incoming& incoming, MPI_Status* status) noexcept {
  int code = MPI_SUCCESS;
  if (incoming.arriving != nullptr) direct::advance_arriving(&incoming, true);
  if (incoming.redirected) {
    status->MPI_SOURCE = incoming.source;
    status->MPI_TAG = incoming.tag;
  }
  if (incoming.payload_bytes >= 0) {
    direct::set_bytes(status, incoming.payload_bytes);
    return incoming.failed;
  }
  if (incoming.whole) {
    direct::Token token;
    if (direct::read_token(incoming, &token) &&
        direct::move_payload(token, incoming, status, &code))
      return code;
    direct::deliver_truncated(incoming, status);
    return MPI_ERR_TRUNCATE;
  }
  const Next& next = next_functions();
  const bool staged = static_cast<bool>(incoming.staging);
  if (!staged && !incoming.by_content && direct::bytes_of(*status) != direct::kTokenBytes)
    return MPI_SUCCESS;
  int cancelled = 0;
  if (!incoming.by_content &&
      (next.MPI_Test_cancelled(status, &cancelled) != MPI_SUCCESS || cancelled != 0)) {
    return MPI_SUCCESS;
  }
  const int64_t received = incoming.by_content ? direct::kTokenBytes : direct::bytes_of(*status);
  // MPICH returns MPI_SUCCESS if an error handler of the program has seen MPI_ERR_TRUNCATE. Its
  // status then has the length of the whole message.
  if (staged && received > incoming.bytes) return MPI_SUCCESS;
  if (received <= 0) return MPI_SUCCESS;
  if (received == direct::kTokenBytes && is_open(kDirectSwitch)) {
    direct::Token token;
    if (direct::read_token(incoming, &token)) {
      incoming.in_pieces = direct::is_pipelined(token);
      const Stopwatch watch(incoming.account, Way::kUnpack);
      if (direct::move_payload(token, incoming, status, &code)) return code;
    }
  }
  if (staged && incoming.by_library) {
    return direct::unpack_by_library(incoming.staging.data(), received, incoming);
  }
  if (staged) {
    unpack_for(incoming.account, *incoming.plan, incoming.staging.data(), received, incoming.count,
               incoming.buf);
  }
  return MPI_SUCCESS;
}

}  // namespace

int deliver(Incoming& incoming, MPI_Status* status) noexcept {
  const int error_class = incoming.failed = bring(incoming, status);
  if (direct::has_pipeline() && incoming.payload_bytes < 0 && incoming.bytes >= kLeastPipelined)
    direct::receive_notes_now_and_then();
  incoming.deferred_log.log(incoming.payload_bytes < 0 ? Outcome::kHandled
                            : incoming.in_pieces       ? Outcome::kPipelined
                                                       : Outcome::kDirect);
  return error_class;
}

int OwnStatus::finish(Incoming& incoming, int code) {
  if (!is_written()) return code;
  const int error_class = code == MPI_SUCCESS ? deliver(incoming, &own_) : MPI_SUCCESS;
  copy_to_caller();
  return error_class == MPI_SUCCESS ? code : raise_error(incoming.comm, error_class);
}

}  // namespace lacuna
