// SPDX-License-Identifier: BSD-3-Clause
//
// Probing. A probe must report the size of a payload, which only its token tells. So lacuna takes
// messages out of the library's queue by matched probe, and holds them here: all that precede the
// wanted one from the same sender, to keep their order. A message that may be a token is received
// at once; this rank later sends it to itself on a private communicator, and the matching receive
// is redirected there. Any other message is held as MPI_Message, and the matching receive becomes a
// matched receive of it.
//
// So a receive looks here first: held messages precede those in the library's queue.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_PROBE_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_PROBE_HPP_

#include "interpose/library/gate.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

// Whether any message is held.
inline bool any_held() noexcept { return g_gate.held_back.load(std::memory_order_acquire) != 0; }

// Whether these arguments are valid, so that the library raises no error for a receive with them.
bool can_match(int source, int tag, MPI_Comm comm);
// The same for a send, not to MPI_PROC_NULL.
bool can_send(int dest, int tag, MPI_Comm comm);
bool is_tag_of_send(int tag) noexcept;

// A shared lock for MPI_THREAD_MULTIPLE. While it is held, no thread takes messages out of the
// library's queue: a receive looks at the held messages, then posts to the library, and would miss
// a message that was taken out in between. Hold it only around calls that cannot wait.
//
// Do not hold it where the library finds an error: the program's error handler may call MPI, or
// jump out of the call.
//
// A callback of the library may call MPI while its own thread holds this lock, or while the thread
// that holds it waits for the callback (library/locks.hpp). It then goes on without the lock, and
// may miss a message that another thread takes out at that moment.
class PostingLock {
 public:
  PostingLock() noexcept;
  // Takes no lock if these arguments are invalid.
  PostingLock(int source, int tag, MPI_Comm comm);
  ~PostingLock();
  PostingLock(const PostingLock&) = delete;
  PostingLock& operator=(const PostingLock&) = delete;

 private:
  explicit PostingLock(bool locks) noexcept;

  bool locked_ = false;
};
// Whether this thread holds that lock.
bool holds_posting_lock() noexcept;

// A receive that is redirected to a held message. Between start() and finish() the library's call
// is made with the changed arguments, or for message(). Its status is then corrected to source()
// and tag().
class HeldReceive {
 public:
  // Changes the arguments if they match a held message.
  void start(int* source, int* tag, MPI_Comm* comm) noexcept;
  // For a matched receive of a message that as_message() made from a held one.
  void start(const MPI_Message& message) noexcept;
  // Call after the receive has been posted to the library.
  void finish() noexcept;

  bool redirected() const noexcept { return redirected_; }
  // Null: use an ordinary receive.
  MPI_Message* message() noexcept { return is_message_ ? &message_ : nullptr; }
  // The message is a token-sized one that this rank sends to itself.
  bool is_own() const noexcept { return is_own_; }
  int source() const noexcept { return source_; }
  int tag() const noexcept { return tag_; }
  // The program's communicator; MPI_COMM_WORLD if that has been freed since.
  MPI_Comm comm() const noexcept;

 private:
  bool redirected_ = false;
  bool is_message_ = false;
  bool is_own_ = false;
  int source_ = 0;
  int tag_ = 0;
  MPI_Message message_{};
  struct Held* held_ = nullptr;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_PROBE_HPP_
