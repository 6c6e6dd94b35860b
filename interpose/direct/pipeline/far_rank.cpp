// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/pipeline/far_rank.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <new>

#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna::direct {
namespace {

constexpr int kNotesInShare = 32;

constinit int64_t g_granted = 0;  // bytes, to all ranks together, less what they have returned

// Never destroyed: MPI_Finalize may come after the destructors of static objects. An empty map
// needs no memory of its own.
std::map<int, FarRank>& far_ranks() noexcept {
  using Ranks = std::map<int, FarRank>;
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

namespace {

// What this rank still has to grant.
int64_t left_to_grant() noexcept { return pipeline().shares.pool - g_granted; }

int64_t share_of(const FarRank& from) noexcept {
  return pipeline().shares.first + from.granted - from.heard.returned;
}
int64_t share_at(const FarRank& to) noexcept {
  return pipeline().shares.first + to.heard.granted - to.returned;
}
int64_t unheard_bytes(const FarRank& to) noexcept {
  return to.sent_bytes - to.heard.received_bytes;
}

void tell(int rank, FarRank* far) noexcept {
  const Next& next = next_functions();
  const ReentryGuard outermost(&far->is_noting);
  if (!outermost) return;
  next.MPI_Wait(&far->sent_note, MPI_STATUS_IGNORE);  // the library sends it eagerly
  far->told = {far->received_bytes, far->received.all_to(), far->granted, far->wanted,
               far->returned};
  next.MPI_Isend(&far->told, sizeof(far->told), runtime().byte, rank, kNoteTag, pipeline().comm,
                 &far->sent_note);
}

void grant(int rank, FarRank* from) noexcept {
  const int64_t more = std::min(from->heard.wanted - share_of(*from), left_to_grant());
  if (more <= 0) return;
  g_granted += more;
  from->granted += more;
  tell(rank, from);
}

// Also tells a rank that asks or returns what has been received from it: it can neither use nor
// return the part of its share that it takes to be on its way.
void take_note(int rank, const Note& note) noexcept try {
  FarRank& far = far_rank(rank);
  const int64_t returned = note.returned - far.heard.returned;
  const bool is_of_share = returned != 0 || note.wanted != far.heard.wanted;
  g_granted -= returned;
  far.heard = note;
  if (returned == 0) {
    grant(rank, &far);
  } else {
    for (auto& [waiting, each] : far_ranks()) grant(waiting, &each);
  }
  const bool has_ended = pipeline().shares.pool == 0;  // nobody would receive it (stop_pipeline())
  if (is_of_share && !has_ended && far.told.received_bytes != far.received_bytes) tell(rank, &far);
} catch (const std::bad_alloc&) {
  // From a rank of which nothing was known: its wish is not granted.
}

// Looks at one rank, the next each time: if nothing has been sent to it for long, returns what it
// has granted, except for what it may not have received yet.
void return_unused(uint64_t turn) noexcept {
  constexpr uint64_t kLong = 4096;  // messages to other ranks
  static constinit int last = -1;
  auto found = far_ranks().upper_bound(last);
  if (found == far_ranks().end()) found = far_ranks().begin();
  last = found->first;
  FarRank& to = found->second;
  if (turn - to.last_turn < kLong) return;
  const int64_t unused = std::min(to.heard.granted - to.returned, share_at(to) - unheard_bytes(to));
  if (unused == 0 && to.wanted == 0) return;
  to.returned += unused;
  to.wanted = 0;
  tell(last, &to);
}

}  // namespace

bool has_room(int rank, FarRank* to, int64_t bytes) noexcept {
  static constinit uint64_t turn = 0;
  return_unused(++turn);
  const int64_t needed = unheard_bytes(*to) + bytes;
  if (needed <= share_at(*to)) {
    to->last_turn = turn;
    return true;
  }
  const int64_t most = pipeline().shares.most;
  if (needed > to->wanted && to->wanted < most && bytes <= most) {
    to->wanted = std::min(needed, most);
    tell(rank, to);
  }
  return false;
}

void note_received(int rank, FarRank* from, int64_t bytes) noexcept {
  from->received_bytes += bytes;
  if (from->received_bytes - from->told.received_bytes >= share_of(*from) / kNotesInShare ||
      from->received.all_to() - from->told.all_to >= kMessageTags / kNotesInShare) {
    tell(rank, from);
  }
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
    take_note(status.MPI_SOURCE, note);
  }
}

void receive_notes_now_and_then() noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr auto kWhile = std::chrono::microseconds(100);
  static constinit Clock::time_point last;
  const auto now = Clock::now();
  if (now - last < kWhile) return;
  receive_notes();
  last = Clock::now();
}

void await_sent_notes() noexcept {
  for (auto& [rank, far] : far_ranks())
    next_functions().MPI_Wait(&far.sent_note, MPI_STATUS_IGNORE);
}

}  // namespace lacuna::direct
