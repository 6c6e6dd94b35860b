// SPDX-License-Identifier: BSD-3-Clause
//
// Probing. A probe must tell the size of a payload, which stands in its token: so it takes messages
// out of the library's queue, by matched probe, and holds them here: all that come before the one
// it looks for from the same sender, so that their order is kept whatever the next receive asks
// for. A token is received at once; the receive that matches it is led to a private communicator,
// on which this rank sends the token to itself. What is no token is held as the library's message,
// and the receive that matches it becomes a receive of that.
//
// So a receive looks here first: what is held came before what is not.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_PROBE_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_PROBE_HPP_

#include "interpose/library/gate.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

// Whether anything is held at all.
inline bool any_held() noexcept { return g_gate.held_back.load(std::memory_order_acquire) != 0; }

// Whether a receive with these arguments is none that the library raises an error for.
bool can_match(int source, int tag, MPI_Comm comm);

// Where threads may probe and receive at once: nothing is taken out of the library's queue between
// the look at what is held and the moment when the library knows of the receive. Else a message
// that goes by in between would be missed for ever. Several threads may hold it at once. It is held
// around a call that cannot wait.
//
// Nor must it be held where the library finds a mistake: the program's error handler may call MPI,
// or jump out of the call.
//
// A callback of the library's may call MPI while its own thread holds this, or while another one
// does that cannot go on before the callback returns (library/locks.hpp). It does not wait then,
// and does without: a message that the other one takes out at that moment would be missed.
class Posting {
 public:
  Posting() noexcept;
  // Where these are mistaken, nothing is posted.
  Posting(int source, int tag, MPI_Comm comm);
  ~Posting();
  Posting(const Posting&) = delete;
  Posting& operator=(const Posting&) = delete;

 private:
  explicit Posting(bool locks) noexcept;

  bool locked_ = false;
};
// Whether this thread holds it.
bool is_posting() noexcept;

// A receive that is led elsewhere. Between start() and finish() the library's call is made with the
// changed arguments, or for message(); its status is then corrected by source and tag.
class Detour {
 public:
  // Changes the arguments where a held message matches them.
  void start(int* source, int* tag, MPI_Comm* comm) noexcept;
  // Where the message is what a probe has made of a held one.
  void start(const MPI_Message& message) noexcept;
  // After the library has been told of the receive.
  void finish() noexcept;

  bool taken() const noexcept { return taken_; }
  // Null: an ordinary receive.
  MPI_Message* message() noexcept { return is_message_ ? &message_ : nullptr; }
  // It is of lacuna's making: as many bytes as a token has.
  bool is_own() const noexcept { return is_own_; }
  int source() const noexcept { return source_; }
  int tag() const noexcept { return tag_; }
  // The program's; that of a matched message may be gone by now, then it is MPI_COMM_WORLD.
  MPI_Comm comm() const noexcept;

 private:
  bool taken_ = false;
  bool is_message_ = false;
  bool is_own_ = false;
  int source_ = 0;
  int tag_ = 0;
  MPI_Message message_{};
  struct Held* held_ = nullptr;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_PROBE_HPP_
