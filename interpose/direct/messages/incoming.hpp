// SPDX-License-Identifier: BSD-3-Clause
//
// A receive: where the library writes, and what is done with what has come.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_INCOMING_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_INCOMING_HPP_

#include <memory>

#include "interpose/direct/messages/probe.hpp"
#include "interpose/memory/staging.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/types/received_type.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

namespace direct {

// A receive into a predefined type that may bring a token: only what is needed to find one when the
// receive completes. There are many such receives, and tokens are rare.
struct Watch {
  MPI_Request request;  // empty if the first 8 bytes are 0 (is_empty() in table.hpp)
  MPI_Comm comm;
  MPI_Datatype datatype;
  int count;
  void* buf;
  const void* caller;  // the return address: receives that the library posts itself bring no tokens
};

class ArrivingMessage;
struct EndArriving {
  void operator()(ArrivingMessage* message) const noexcept;
};

}  // namespace direct

// Where the library writes, and where the data go afterwards. Keeps what it needs, as the program
// may free the type in the meantime.
struct Incoming {
  // The library has received it as without lacuna, and it has not brought a token.
  bool is_only_watched() const noexcept { return watched && payload_bytes < 0; }
  // Prepares to receive a message that was held for a probe.
  void redirect(const direct::HeldReceive& held_receive) noexcept;
  // The buffer, count and type for the library's receive.
  void* library_buffer() const noexcept;
  Wire library_type() const noexcept;
  // Lets the library receive into the program's buffer.
  void receive_in_place(MPI_Datatype datatype) noexcept;

  void* data = nullptr;  // the staging; without one, the program's buffer
  Wire wire;
  ReceivedType type;  // if `watched`
  Staging staging;
  Staging whole;  // room for a whole token, if the receive has less (lead())
  PlanPtr plan;   // null: contiguous, unless `by_library`
  void* buf = nullptr;
  MPI_Count count = 0;
  int64_t bytes = 0;        // size of the buffer; -1: not asked for yet (predefined types)
  int64_t lb = 0;           // contiguous: offset of the first byte
  bool watched = false;     // received as without lacuna, unless it brings a token
  bool redirected = false;  // by a HeldReceive (probe.hpp): the status gets this source and tag
  int source = 0;
  int tag = 0;
  // A pipelined message, some pieces of which have not been unpacked (arriving_message.hpp).
  std::unique_ptr<direct::ArrivingMessage, direct::EndArriving> arriving;
  bool in_pieces = false;      // its token is of a pipelined message
  int64_t payload_bytes = -1;  // size of a payload that was fetched, for the status; -1: none
  int failed = MPI_SUCCESS;    // error class of deliver(), for later calls that report it
  bool by_content = false;     // the status will not say how much has come (MPI_Isendrecv)
  // The CPU must not write to the buffer, or cannot: the library does it (an unknown type, some
  // memory of devices), or a device (account.on_device).
  bool by_library = false;
  bool on_host = false;  // packed data of a device must not lie in its memory
  bool matched = false;  // received by MPI_Mrecv or MPI_Imrecv: the communicator is unknown
  MPI_Comm comm;         // errors are raised on it
  Account account;
  DeferredLog deferred_log;
};

// The status of a blocking receive. The library writes to lacuna's own, so that lacuna can tell
// whether it was written: after an error that the program's handler has seen, the code may be
// MPI_SUCCESS. It is then copied to the caller's.
class OwnStatus {
 public:
  explicit OwnStatus(MPI_Status* callers) noexcept : callers_(callers) {
    if (callers_ != MPI_STATUS_IGNORE) own_ = *callers_;  // receives must not change its MPI_ERROR
    own_.MPI_SOURCE = kUnwritten;
  }
  MPI_Status* get() noexcept { return &own_; }
  bool is_written() const noexcept { return own_.MPI_SOURCE != kUnwritten; }
  // Call after the library's receive: delivers what has come. Returns what the program's call
  // returns.
  int finish(Incoming& incoming, int code);
  // Copies the status to the caller's, where nothing is left to deliver.
  void copy_to_caller() const noexcept {
    if (callers_ != MPI_STATUS_IGNORE) *callers_ = own_;
  }

 private:
  static constexpr int kUnwritten = -123456789;  // no rank and no constant of any ABI
  MPI_Status* callers_;
  MPI_Status own_{};
};

// Prepares the receiving half of an MPI_Isendrecv that the library does, for the case that it
// brings a token. False: it cannot bring one.
bool watch_receive(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   Incoming* incoming) noexcept;

// The library receives as it would without lacuna, and what has come is examined afterwards. False:
// the call is left to the library.
bool make_watched(void* buf, MPI_Count count, MPI_Datatype datatype, bool blocking,
                  Incoming* incoming) noexcept;

// The same for a watch of a posted receive. False: it cannot bring a token.
bool watch_plain(const direct::Watch& watch, Incoming* incoming) noexcept;

// Unpacks what a successful receive has brought: all of it, a part that may end inside an element,
// or nothing if it was cancelled. If it is a token, fetches the payload and sets the status to
// that. Returns an error class; only the direct path can fail.
int deliver(Incoming& incoming, MPI_Status* status) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_INCOMING_HPP_
