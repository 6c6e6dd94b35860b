// SPDX-License-Identifier: BSD-3-Clause
//
// What this process knows of the ranks with which it has exchanged pipelined messages. Notes tell
// senders how much has been received.
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

// What a receiver tells a sender: how much it has received from it, and up to which number all.
struct Note {
  int64_t bytes = 0;
  uint64_t all_to = 0;
};

struct FarRank {
  uint64_t numbers = 0;  // of messages sent to it
  int64_t sent_bytes = 0;
  Note known;           // of these, as its last note says
  bool closed = false;  // nothing more is pipelined to it: pieces were sent whose token was not

  ReceivedNumbers received;
  int64_t received_bytes = 0;
  Note note;  // the send buffer of the last note
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

// Counts a message of `bytes` that has been received, and tells its sender now and then.
void note_received(int rank, FarRank* from, int64_t bytes) noexcept;
// Receives the notes that have come.
void receive_notes() noexcept;
// Waits until all notes have been sent. Call before MPI_Finalize.
void await_sent_notes() noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_PIPELINE_FAR_RANK_HPP_
