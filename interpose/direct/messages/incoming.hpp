// SPDX-License-Identifier: BSD-3-Clause
//
// A receive: where the library writes, and what becomes of what has come.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_INCOMING_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_INCOMING_HPP_

#include "interpose/direct/messages/probe.hpp"
#include "interpose/library/staging.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/types/received_type.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

namespace direct {

// A receive into a predefined type that may bring a token: what it takes to look for one when it
// completes, and nothing more, as there are many and seldom is there a token.
struct Watch {
  MPI_Request request;  // with what follows it in the first 8 bytes all 0: nothing is watched here
  MPI_Comm comm;
  MPI_Datatype datatype;
  int count;
  void* buf;
  const void* caller;  // who has posted it: the library's own receives bring no tokens
};

}  // namespace direct

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

// A receive that is the library's but for a token that it may bring. False: it cannot bring one.
bool watch_receive(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   Incoming* incoming) noexcept;

// The library receives as it would without lacuna, but what it brings is looked at. False: the call
// is the library's.
bool make_watched(void* buf, MPI_Count count, MPI_Datatype datatype, bool blocking,
                  Incoming* incoming) noexcept;

// A receive into a predefined type that has been posted. False: it cannot bring a token.
bool watch_plain(const direct::Watch& watch, Incoming* incoming) noexcept;

// Unpacks what a successful receive has brought: all of it, a part that may end inside an element,
// or nothing if it was cancelled. A token's payload is fetched, and the status is then about that.
// The error class, MPI_SUCCESS but for the direct path.
int deliver(Incoming& incoming, MPI_Status* status) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_INCOMING_HPP_
