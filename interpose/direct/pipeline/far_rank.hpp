// SPDX-License-Identifier: BSD-3-Clause
//
// What this process knows of the ranks with which it exchanges pipelined messages, and the notes by
// which they tell each other what has been received and how much more may be sent. The model is
// tests/model/shares.pml.
#ifndef LACUNA_INTERPOSE_DIRECT_PIPELINE_FAR_RANK_HPP_
#define LACUNA_INTERPOSE_DIRECT_PIPELINE_FAR_RANK_HPP_

#include <cstdint>
#include <set>

#include "interpose/library/runtime.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

// The messages of one sender that have been received, by number. They arrive in any order, as
// receives with other tags or communicators may come first.
class ReceivedNumbers {
 public:
  bool has(uint64_t number) const { return number <= all_to_ || later_.count(number) != 0; }
  void add(uint64_t number);
  // The number up to which all have been received.
  uint64_t all_to() const { return all_to_; }

 private:
  uint64_t all_to_ = 0;  // numbers begin at 1
  std::set<uint64_t> later_;
};

// What one rank tells another: totals, so that a later note covers earlier ones.
struct Note {
  // Of the messages that it has received from it: bytes, and the number up to which all have come.
  int64_t received_bytes = 0;
  uint64_t all_to = 0;
  int64_t granted = 0;  // bytes, on top of the first share
  // Of those that it sends to it.
  int64_t wanted = 0;    // the whole share that it would need
  int64_t returned = 0;  // of what was granted to it
};

struct FarRank {
  // Of the messages to it.
  uint64_t numbers = 0;
  int64_t sent_bytes = 0;
  int64_t wanted = 0;
  int64_t returned = 0;
  uint64_t last_turn = 0;  // when the last one was sent
  bool closed = false;     // nothing more is pipelined to it: pieces were sent whose token was not

  // Of the messages from it.
  ReceivedNumbers received;
  int64_t received_bytes = 0;
  int64_t granted = 0;

  Note heard;  // the last note from it
  Note told;   // the last note to it: the send buffer
  MPI_Request sent_note = runtime().request_null;
  bool is_noting = false;
};

// Guards a function against being entered again. Its MPI calls may run callbacks of the program,
// which may call MPI. False: an outer call of the function is under way.
class ReentryGuard {
 public:
  explicit ReentryGuard(bool* entered) noexcept : entered_(*entered ? nullptr : entered) {
    *entered = true;
  }
  ~ReentryGuard() {
    if (entered_ != nullptr) *entered_ = false;
  }
  ReentryGuard(const ReentryGuard&) = delete;
  ReentryGuard& operator=(const ReentryGuard&) = delete;
  explicit operator bool() const noexcept { return entered_ != nullptr; }

 private:
  bool* entered_;
};

// Throws std::bad_alloc.
FarRank& far_rank(int rank);
// Null: nothing is known of it.
FarRank* find_far_rank(int rank) noexcept;

// Begins a message of `bytes` to this rank. False: there is no room for it at its receiver, which
// is asked for more.
bool has_room(int rank, FarRank* to, int64_t bytes) noexcept;
// Counts a message of `bytes` that has been received, and tells its sender now and then.
void note_received(int rank, FarRank* from, int64_t bytes) noexcept;
// Receives the notes that have come, and grants what they ask for.
void receive_notes() noexcept;
// The same if the last time is a while ago. For receives that a pipelined message might have come
// to: its sender may have asked for room.
void receive_notes_now_and_then() noexcept;
// Waits until all notes have been sent. Call before MPI_Finalize.
void await_sent_notes() noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_PIPELINE_FAR_RANK_HPP_
