// SPDX-License-Identifier: BSD-3-Clause
//
// The pieces of a pipelined message: sending and receiving.
#ifndef LACUNA_INTERPOSE_DIRECT_PIPELINE_PIECES_HPP_
#define LACUNA_INTERPOSE_DIRECT_PIPELINE_PIECES_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "interpose/direct/arena/region.hpp"
#include "interpose/memory/staging.hpp"
#include "mpi/header.hpp"
#include "plan/plan.hpp"

namespace lacuna::direct {

struct SentPieces;

// A message to another node. What the library has not sent when this object is destroyed is kept
// until it has.
class Pieces {
 public:
  Pieces() = default;
  Pieces(Pieces&& other) noexcept : sent_(std::exchange(other.sent_, nullptr)) {}
  Pieces& operator=(Pieces&&) = delete;
  ~Pieces() {
    if (sent_ != nullptr) end();
  }
  explicit operator bool() const noexcept { return sent_ != nullptr; }

  // Takes a number for a message of `bytes` to this rank of MPI_COMM_WORLD, and writes its token.
  // False: too much is on its way to it, or out of memory.
  bool prepare(int to, int64_t bytes, const Plan& plan, int64_t count, Token* token) noexcept;
  // Packs and sends the pieces. `waits`: until the library has sent all of them.
  void send(const Plan& plan, const void* buf, int64_t count, bool waits) noexcept;
  // The token has not been sent.
  void give_up() noexcept;

 private:
  void end() noexcept;

  SentPieces* sent_ = nullptr;
};

// How many messages this process has sent in pieces.
int64_t messages_in_pieces() noexcept;

// Waits until all pieces have been sent. Call before MPI_Finalize.
void end_sent_pieces() noexcept;

// Whether a token, which has the secret, is of a message to this rank that has not been received.
bool is_expected(const Token& token) noexcept;

// Receives the pieces of an expected message, in order, some of them posted ahead.
class ArrivingPieces {
 public:
  // `where`: all data are received there, at their offsets. Null: into a ring of lacuna's own.
  ArrivingPieces(const Token& token, std::byte* where) noexcept;
  ArrivingPieces(const ArrivingPieces&) = delete;
  ArrivingPieces& operator=(const ArrivingPieces&) = delete;
  // Receives and drops what has not been received, and sends the sender a note.
  ~ArrivingPieces();

  // The next piece: bytes [*begin, *end) of the message. Valid until the next call. `waits`: until
  // it has come. Null: it has not come; or is_over().
  const std::byte* next(bool waits, int64_t* begin, int64_t* end) noexcept;
  // Whether all pieces have been given out, or no more can be: the library failed, or out of
  // memory.
  bool is_over() const noexcept { return is_over_; }

 private:
  static constexpr int64_t kAhead = 16;
  static constexpr int64_t kFewAhead = 2;  // fit into the memory that is kept for such cases

  int64_t end_of(int64_t piece) const noexcept;
  std::byte* place_of(int64_t piece) const noexcept;
  bool post() noexcept;

  const Token token_;
  std::byte* const where_;
  const int64_t pieces_;
  int64_t ahead_ = kAhead;  // 0: no memory
  Staging ring_;
  int64_t posted_ = 0;
  int64_t received_ = 0;
  bool is_over_ = false;
  MPI_Request requests_[kAhead];
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_PIPELINE_PIECES_HPP_
