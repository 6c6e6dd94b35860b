// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/pipeline/far_rank.hpp"

#include <cstddef>
#include <new>
#include <unordered_map>

#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna::direct {
namespace {

constexpr int kNotesInWindow = 32;

// Never destroyed: MPI_Finalize may come after the destructors of static objects. An empty map
// needs no memory of its own.
std::unordered_map<int, FarRank>& far_ranks() noexcept {
  using Ranks = std::unordered_map<int, FarRank>;
  alignas(Ranks) static std::byte place[sizeof(Ranks)];
  static auto* const all = new (place) Ranks;
  return *all;
}

}  // namespace

void ReceivedNumbers::add(uint64_t number) {
  if (number != all_to_ + 1) {
    later_.insert(number);
    return;
  }
  all_to_ = number;
  while (!later_.empty() && *later_.begin() == all_to_ + 1) {
    later_.erase(later_.begin());
    ++all_to_;
  }
}

FarRank& far_rank(int rank) { return far_ranks()[rank]; }

FarRank* find_far_rank(int rank) noexcept {
  const auto found = far_ranks().find(rank);
  return found != far_ranks().end() ? &found->second : nullptr;
}

// Tells the sender how much has been received, so that its window opens. A note has totals, so a
// later one covers those that were not sent.
void note_received(int rank, FarRank* from, int64_t bytes) noexcept {
  const Next& next = next_functions();
  from->received_bytes += bytes;
  const uint64_t all_to = from->received.all_to();
  if (from->received_bytes - from->note.bytes < pipeline().window / kNotesInWindow &&
      all_to - from->note.all_to < kMessageTags / kNotesInWindow) {
    return;
  }
  const ReentryGuard outermost(&from->is_noting);
  if (!outermost) return;
  next.MPI_Wait(&from->sent_note, MPI_STATUS_IGNORE);  // the library sends it eagerly
  from->note = {from->received_bytes, from->received.all_to()};
  next.MPI_Isend(&from->note, sizeof(from->note), runtime().byte, rank, kNoteTag, pipeline().comm,
                 &from->sent_note);
}

void receive_notes() noexcept {
  static constinit bool is_receiving = false;
  const ReentryGuard outermost(&is_receiving);
  if (!outermost) return;
  const Next& next = next_functions();
  for (;;) {
    int flag = 0;
    MPI_Status status;
    Note note;
    if (next.MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, pipeline().comm, &flag, &status) != MPI_SUCCESS ||
        flag == 0 ||
        next.MPI_Recv(&note, sizeof(note), runtime().byte, status.MPI_SOURCE, kNoteTag,
                      pipeline().comm, &status) != MPI_SUCCESS) {
      return;
    }
    if (FarRank* from = find_far_rank(status.MPI_SOURCE)) from->known = note;
  }
}

void await_sent_notes() noexcept {
  for (auto& [rank, far] : far_ranks())
    next_functions().MPI_Wait(&far.sent_note, MPI_STATUS_IGNORE);
}

}  // namespace lacuna::direct
