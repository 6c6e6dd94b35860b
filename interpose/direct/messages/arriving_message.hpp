// SPDX-License-Identifier: BSD-3-Clause
//
// The receiving end of a pipelined message (direct/pipeline/): unpacks each piece while the next
// one comes.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_ARRIVING_MESSAGE_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_ARRIVING_MESSAGE_HPP_

#include "interpose/direct/messages/incoming.hpp"
#include "interpose/direct/pipeline/pieces.hpp"

namespace lacuna::direct {

// All functions get the same receive.
class ArrivingMessage {
 public:
  // Posts receives of the first pieces.
  ArrivingMessage(const Token& token, const Incoming& incoming) noexcept;
  // Unpacks the pieces that have come; if it `waits`, all. True: there are no more.
  bool advance(const Incoming& incoming, bool waits) noexcept;
  // After that: ends it. Returns an error class.
  int finish(const Incoming& incoming) const noexcept;

  int64_t bytes() const noexcept { return bytes_; }

 private:
  int64_t room(const Incoming& incoming) const noexcept;

  const int64_t bytes_;
  const bool is_in_place_;  // the library receives the pieces where the data belong
  const Staging whole_;     // for the library, which unpacks at once
  int64_t received_ = 0;
  ArrivingPieces pieces_;
};

// Receives a message of which an expected token has come. Returns an error class.
int receive_pieces(const Token& token, const Incoming& incoming) noexcept;

// The same step by step, in `incoming->arriving`, for calls that do not wait. `status`: of the
// library's receive, which is complete; null: not known. False: it has not brought a pipelined
// message; or out of memory.
bool begin_arriving(Incoming* incoming, const MPI_Status* status) noexcept;
// True: it has arrived. Sets `payload_bytes` and `failed`.
bool advance_arriving(Incoming* incoming, bool waits) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_ARRIVING_MESSAGE_HPP_
