// SPDX-License-Identifier: BSD-3-Clause
//
// The two halves of a message, shared by blocking and nonblocking calls: packed data or a token to
// send, and packed data to receive, which are unpacked as the status says.
#ifndef LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_
#define LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_

#include "interpose/direct/arena/region.hpp"
#include "interpose/direct/messages/incoming.hpp"
#include "interpose/direct/messages/probe.hpp"
#include "interpose/direct/messages/send.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/pipeline/pieces.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/memory/staging.hpp"
#include "interpose/requests/after_calls.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

struct SendSource;  // requests/table.hpp

// What to send instead of the program's buffer, count and type: packed data, or, on the direct
// path, the token of a region (direct/arena/region.hpp), whose payload fill() packs.
struct Outgoing {
  const void* data = nullptr;
  Wire wire;
  Staging staging;
  direct::Region* region = nullptr;
  direct::Pieces pieces;       // of a pipelined message, whose token is in `staging`
  const Plan* plan = nullptr;  // of the call's type, for fill(); null: a device has packed it all
  PlanPtr kept;                // keeps `plan` alive, if there are threads
  const void* buf = nullptr;
  MPI_Count count = 0;
  Account account;
  SendMode mode = SendMode::kStandard;
  // If it is invalid, no token is sent: the library reports the error, and may return MPI_SUCCESS
  // after the program's handler has seen it.
  int tag = 0;

  // Packs the payload of a token; does nothing for packed data. Call before a send that may wait
  // for the peer, else after it, so that the receiver unpacks meanwhile. `is_out`: the token has
  // been sent, and the call may wait.
  void fill(bool is_out = false) noexcept;
  // Frees the region: its token has not been sent.
  void give_up() noexcept;
};

// Sends and fills. `send` makes the library's call; false: nothing has been sent. Until a token's
// payload is packed, this rank must not wait for a payload of another's, whose token a freed
// receive may have got meanwhile (requests/after_calls.hpp): two ranks would wait for each other
// for ever.
template <typename Send>
void send_and_fill(Outgoing* outgoing, bool is_out, const Send& send) {
  const auto both = [&] {
    if (send())
      outgoing->fill(is_out);
    else
      outgoing->give_up();
  };
  if (!any_freed_requests()) return both();
  {
    const InLibrary inside;
    both();
  }
  if (!is_in_library()) finish_freed_requests();
}

// Borrows memory for packed data, and chooses the type they are sent as: their own form, or a
// guarded type (guard.hpp). False: decline. `blocking` as in borrow_staging(). `any_memory`: packed
// data of a device may lie in its memory.
bool prepare(const Decision& decision, bool blocking, bool is_guarded, bool any_memory,
             Staging* staging, Wire* wire) noexcept;

// False: decline, and nothing has happened; or a device has failed (without_packed_data()).
bool make_outgoing(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                   bool blocking, Outgoing* outgoing) noexcept;
bool make_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   bool blocking, Incoming* incoming) noexcept;

// What a call returns that has no packed data: it is declined, unless it was accepted and a device
// has failed since. Then the error is raised.
Answer without_packed_data(MPI_Comm comm);

// Both halves of MPI_Sendrecv_replace. The library would also pack the sending half, so the
// decision is the receiving half's.
bool make_replacement(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int source,
                      MPI_Comm comm, Staging* outgoing, Incoming* incoming) noexcept;

// Lets the library pack the data into a buffer of lacuna, so that a receive into the program's
// buffer cannot overwrite them, nor the program after it returns. False: too many data, or out of
// memory.
bool pack_aside(const void* buf, MPI_Count count, MPI_Datatype datatype,
                Outgoing* outgoing) noexcept;

// What a persistent send needs at each start. `source` comes with mode, dest, tag and comm set.
// Without staging, the library packs the starts that do not use a token.
bool make_source(const void* buf, MPI_Count count, MPI_Datatype datatype, Staging* staging,
                 Wire* wire, SendSource* source) noexcept;
// The token for one start. False: no free region, or the communicator is gone.
bool make_token(const SendSource& source, Outgoing* outgoing) noexcept;

// Posts a receive after held_receive->start(), redirected or not. No request: it has failed.
int begin_receive(direct::HeldReceive* held_receive, int source, int tag, MPI_Comm comm,
                  Incoming* incoming, MPI_Request* started);

// Receives the message that a HeldReceive redirects to.
int receive_held(MPI_Message* message, const Incoming& incoming, MPI_Status* status,
                 direct::HeldReceive* held_receive);

// Whether there is a message to receive: neither MPI_MESSAGE_NULL nor MPI_MESSAGE_NO_PROC.
bool is_message(const MPI_Message* message) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_
