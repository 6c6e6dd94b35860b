// SPDX-License-Identifier: BSD-3-Clause
//
// The two halves of a message with gaps, shared by blocking and nonblocking calls: packed data that
// go out, and packed data that come in and are unpacked by what the status says.
#ifndef LACUNA_INTERPOSE_TRANSFER_HPP_
#define LACUNA_INTERPOSE_TRANSFER_HPP_

#include "interpose/bodies.hpp"
#include "interpose/staging.hpp"
#include "interpose/types.hpp"

namespace lacuna {

// Packed data ready to be sent: what to hand to MPI instead of buffer, count and type.
struct Outgoing {
  Staging staging;
  Wire wire;
};
// Room for packed data, and where they go afterwards. Owns what it needs, as the type may be freed
// meanwhile.
struct Incoming {
  Staging staging;
  Wire wire;
  PlanPtr plan;
  void* buf = nullptr;
  MPI_Count count = 0;
  int64_t bytes = 0;
  Account account;
};

// What a persistent send packs at each start.
struct SendSource {
  PlanPtr plan;
  const void* buf = nullptr;
  MPI_Count count = 0;
  Account account;
};

// False: decline, and nothing has happened. `blocking` as in borrow_staging.
bool make_outgoing(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, bool blocking,
                   Outgoing* outgoing) noexcept;
bool make_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, bool blocking,
                   Incoming* incoming) noexcept;

// Both halves of a blocking call that sends and receives in the same memory. The library would pack
// for the sending half, too; so what the receiving half may win decides.
bool make_replacement(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int source,
                      Staging* outgoing, Incoming* incoming) noexcept;

// Room for what a persistent send packs later.
bool make_source(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 Staging* staging, Wire* wire, SendSource* source) noexcept;

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
  void give() noexcept {
    if (callers_ != MPI_STATUS_IGNORE && is_written()) *callers_ = own_;
  }

 private:
  static constexpr int kUnwritten = -123456789;  // no rank and no constant of any ABI
  MPI_Status* callers_;
  MPI_Status own_{};
};

// Unpacks what a successful receive has brought: all of it, a part that may end inside an element,
// or nothing if it was cancelled.
void deliver(const Incoming& incoming, const MPI_Status& status) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TRANSFER_HPP_
