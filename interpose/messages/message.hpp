// SPDX-License-Identifier: BSD-3-Clause
//
// The two halves of a message with gaps, shared by blocking and nonblocking calls: packed data that
// go out, and packed data that come in and are unpacked by what the status says.
#ifndef LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_
#define LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_

#include "interpose/direct/messages/probe.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/region.hpp"
#include "interpose/library/bodies.hpp"
#include "interpose/library/staging.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/types/received_type.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

namespace direct {
struct Watch;
}

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
// Where the library is to write, and where data go afterwards. Owns what it needs, as the type may
// be freed meanwhile.
struct Incoming {
  // Whether lacuna has had any part in it so far.
  bool is_only_watched() const noexcept { return watched && landed < 0; }
  // The message was held for a probe.
  void lead(const direct::Detour& detour) noexcept;
  // Where the library is to write, and as what.
  void* place() const noexcept;
  Wire form() const noexcept;
  // Without staging, as the program has asked for it.
  void receive_in_place(MPI_Datatype datatype) noexcept;

  void* data = nullptr;  // of the staging; without one, of the program, where the direct path may
                         // find a token in it
  Wire wire;
  ReceivedType type;  // where it is `watched`
  Staging staging;
  Staging whole;  // for a message that was held, and is longer than what there is room for
  PlanPtr plan;   // null: contiguous, if not `by_library`
  void* buf = nullptr;
  MPI_Count count = 0;
  int64_t bytes = 0;     // at most so many; -1: not asked yet (a predefined type)
  int64_t lb = 0;        // contiguous: of the first byte
  bool watched = false;  // the library's, but for a token
  bool led = false;      // by a detour (direct/messages/probe.hpp): the status is about these
  int source = 0;
  int tag = 0;
  int64_t landed = -1;       // what the status says of a payload that has been fetched
  int failed = MPI_SUCCESS;  // how that went, which each call that tells of it says
  bool by_content = false;   // the status will not say how much has come
  bool by_library = false;   // nobody but the library can write there
  bool matched = false;      // by a probe: nobody knows on which communicator
  MPI_Comm comm;             // whose error handler hears of what goes wrong later
  Account account;
  Untold untold;
};

// What a persistent send packs at each start.
struct SendSource {
  PlanPtr plan;
  const void* buf = nullptr;
  MPI_Count count = 0;
  int64_t bytes = 0;
  Account account;
  // A token instead, as long as the communicator lives that had this life (direct/node/peers.hpp).
  // 0: never.
  uint64_t life = 0;
  const direct::Peer* peer = nullptr;
  SendMode mode = SendMode::kStandard;
  int dest = 0;
  int tag = 0;
  MPI_Comm comm;
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

// A receive that is the library's but for a token that it may bring. False: it cannot bring one.
bool watch_receive(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   Incoming* incoming) noexcept;

// The same for a receive that has been posted, into a predefined type.
bool watch_plain(const direct::Watch& watch, Incoming* incoming) noexcept;

// Begins the receive that a started detour has changed, or not. No request: it has failed.
int begin_receive(direct::Detour* detour, int source, int tag, MPI_Comm comm, Incoming* incoming,
                  MPI_Request* started);

// The message that a detour leads to, received into what was made for the call.
int receive_held(MPI_Message* message, const Incoming& incoming, MPI_Status* status,
                 direct::Detour* detour);

// Whether there is a message to receive: neither MPI_MESSAGE_NULL nor MPI_MESSAGE_NO_PROC.
bool is_message(const MPI_Message* message) noexcept;

// The status of a blocking receive: ours while the library works, so that it can be told whether it
// was written (a code of MPI_SUCCESS does not tell: an error that the program's own handler has
// seen may end so), then the caller's.
class OwnStatus {
 public:
  explicit OwnStatus(MPI_Status* callers) noexcept : callers_(callers) {
    if (callers_ != MPI_STATUS_IGNORE)
      own_ = *callers_;  // its MPI_ERROR is not the library's to change
    own_.MPI_SOURCE = kUnwritten;
  }
  MPI_Status* get() noexcept { return &own_; }
  bool is_written() const noexcept { return own_.MPI_SOURCE != kUnwritten; }
  // After the library's answer: delivers what came; what the call returns.
  int finish(Incoming& incoming, int code);
  // The same where nothing is left to deliver.
  void tell() const noexcept {
    if (callers_ != MPI_STATUS_IGNORE) *callers_ = own_;
  }

 private:
  static constexpr int kUnwritten = -123456789;  // no rank and no constant of any ABI
  MPI_Status* callers_;
  MPI_Status own_{};
};

// Unpacks what a successful receive has brought: all of it, a part that may end inside an element,
// or nothing if it was cancelled. A token's payload is fetched, and the status is then about that.
// The error class, MPI_SUCCESS but for the direct path.
int deliver(Incoming& incoming, MPI_Status* status) noexcept;

// What MPI_Comm_get_errhandler or its kin gave is given back. Whether the program made it: one of
// MPI's own returns what it hears, or ends the job.
bool let_go(MPI_Errhandler* handler) noexcept;

// The error handler of the call's communicator hears of it; what the call returns.
int raise_error(MPI_Comm comm, int error_class);
// The same out of a call that completes several requests, of which one has failed, on `comm`, and
// which returns `told`.
int raise_error_of_many(MPI_Comm comm, int error_class, int told);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MESSAGES_MESSAGE_HPP_
