// SPDX-License-Identifier: BSD-3-Clause
//
// The two halves of a message with gaps, shared by blocking and nonblocking calls: packed data that
// go out, and packed data that come in and are unpacked by what the status says.
#ifndef LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_
#define LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_

#include "interpose/direct/messages/incoming.hpp"
#include "interpose/direct/messages/probe.hpp"
#include "interpose/direct/messages/send.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/region.hpp"
#include "interpose/library/bodies.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/staging.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

struct SendSource;  // requests/table.hpp

// What to hand to MPI instead of buffer, count and type: packed data, or, by the direct path
// (direct/node/region.hpp), the token of a region that is filled by fill().
struct Outgoing {
  const void* data = nullptr;
  Wire wire;
  Staging staging;
  direct::Region* region = nullptr;
  const Plan* plan = nullptr;  // of the type in the call, for fill()
  PlanPtr kept;                // the same
  const void* buf = nullptr;
  MPI_Count count = 0;
  Account account;
  SendMode mode = SendMode::kStandard;

  // Packs what a token has promised; before the call where it may wait for the peer, else after it,
  // so that the receiver unpacks while this packs. Nothing to do for packed data.
  void fill(bool is_out = false) noexcept;
  // The token has not gone out: nobody will come for the region.
  void give_up() noexcept;
};

// Room for packed data, and how they travel: as they are, or as a guarded type (guard.hpp). False:
// decline. `blocking` as in borrow_staging.
bool prepare(const Job& job, bool blocking, bool is_guarded, Staging* staging, Wire* wire) noexcept;

// False: decline, and nothing has happened.
bool make_outgoing(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
                   bool blocking, Outgoing* outgoing) noexcept;
bool make_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   bool blocking, Incoming* incoming) noexcept;

// Both halves of a blocking call that sends and receives in the same memory. The library would pack
// for the sending half, too; so what the receiving half may win decides.
bool make_replacement(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int source,
                      MPI_Comm comm, Staging* outgoing, Incoming* incoming) noexcept;

// Data that the library shall pack: out of the way of what comes in, and of the program. False:
// they are too many, or there is no memory.
bool pack_aside(const void* buf, MPI_Count count, MPI_Datatype datatype,
                Outgoing* outgoing) noexcept;

// What a persistent send starts later; of `source`, mode, dest, tag and comm are given. No staging:
// the library packs what does not go as a token.
bool make_source(const void* buf, MPI_Count count, MPI_Datatype datatype, Staging* staging,
                 Wire* wire, SendSource* source) noexcept;
// The token of one start. False: there is no room, or the communicator is gone.
bool make_token(const SendSource& source, Outgoing* outgoing) noexcept;

// Begins the receive that a started detour has changed, or not. No request: it has failed.
int begin_receive(direct::Detour* detour, int source, int tag, MPI_Comm comm, Incoming* incoming,
                  MPI_Request* started);

// The message that a detour leads to, received into what was made for the call.
int receive_held(MPI_Message* message, const Incoming& incoming, MPI_Status* status,
                 direct::Detour* detour);

// Whether there is a message to receive: neither MPI_MESSAGE_NULL nor MPI_MESSAGE_NO_PROC.
bool is_message(const MPI_Message* message) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_
