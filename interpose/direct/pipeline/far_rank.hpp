// SPDX-License-Identifier: BSD-3-Clause
//
// What this process knows of the ranks with which it has exchanged pipelined messages. Notes tell
// senders how much has been received.
#ifndef LACUNA_INTERPOSE_DIRECT_PIPELINE_FAR_RANK_HPP_
#define LACUNA_INTERPOSE_DIRECT_PIPELINE_FAR_RANK_HPP_

#include <cstdint>
#include <set>

#include "mpi/header.hpp"

namespace lacuna::direct {

// The messages of one sender that have been received, by number. They arrive in any order, as
// receives with other tags or communicators may come first.
class ReceivedNumbers {
 public:
  bool has(uint64_t number) const { return number <= all_to_ || later_.count(number) != 0; }
  void add(uint64_t number);

 private:
  uint64_t all_to_ = 0;  // numbers begin at 1
  std::set<uint64_t> later_;
};

struct FarRank {
  uint64_t numbers = 0;  // of messages sent to it
  int64_t sent_bytes = 0;
  int64_t known_bytes = 0;  // of these, received as its last note says
  bool closed = false;      // pieces were sent whose token was not

  ReceivedNumbers received;
  int64_t received_bytes = 0;
  int64_t note = 0;  // the send buffer of the last note
  MPI_Request sent_note;
  bool has_sent_note = false;
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
void send_last_notes() noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_PIPELINE_FAR_RANK_HPP_
