// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/waiter.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "base/options.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/waits.hpp"
#include "interpose/direct/rooms/room.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna::direct {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

const char* name_of(Kind kind) noexcept {
  constexpr const char* kNames[kKinds] = {
      "MPI_Bcast",
      "MPI_Gather",
      "MPI_Gatherv",
      "MPI_Scatter",
      "MPI_Scatterv",
      "MPI_Allgather",
      "MPI_Allgatherv",
      "MPI_Alltoall",
      "MPI_Alltoallv",
      "MPI_Alltoallw",
      "MPI_Neighbor_allgather",
      "MPI_Neighbor_allgatherv",
      "MPI_Neighbor_alltoall",
      "MPI_Neighbor_alltoallv",
      "MPI_Neighbor_alltoallw",
  };
  return kNames[static_cast<size_t>(kind)];
}

const char* words_of(Wait what) noexcept {
  switch (what) {
    case Wait::kVotes:
      return "until all ranks have entered the call";
    case Wait::kReaders:
      return "until all ranks have read the votes of an earlier collective";
    case Wait::kData:
      return "until all ranks have moved their data";
    default:
      return "until the sender has packed the rest of a message";
  }
}

}  // namespace

void Waiter::describe(char* text, int bytes) const noexcept {
  if (room_ == nullptr) {
    std::snprintf(text, static_cast<size_t>(bytes), "a receive: %s", words_of(what_));
  } else {
    std::snprintf(text, static_cast<size_t>(bytes), "%s, %zu ranks: %s", name_of(kind_),
                  room_->members.size(), words_of(what_));
  }
}

const Peer& Waiter::peer_of(size_t late) const noexcept {
  if (room_ == nullptr) return *peer_;
  const Peer* found = peer_at(room_->members[late].peer);
  return found != nullptr ? *found : own_peer();
}

bool Waiter::all_live(const Peer& late) const noexcept {
  if (room_ == nullptr || what_ == Wait::kData) return !has_ended(late.pid);
  return std::none_of(room_->members.begin(), room_->members.end(), [](const Member& member) {
    return member.peer != own_index() && has_ended(peer_at(member.peer)->pid);
  });
}

void Waiter::log(const Peer& late, int64_t ns) const noexcept {
  char what[sizeof(WaitRow::what)];
  char sentence[300];
  describe(what, sizeof(what));
  std::snprintf(sentence, sizeof(sentence),
                "waiting for %lld s for rank %d (process %d) in %s; `lacuna doctor %d` shows what "
                "that rank does",
                static_cast<long long>(ns / kSecond), late.rank, late.pid, what, late.pid);
  log_line(sentence);
}

bool Waiter::wait_longer(size_t late) noexcept {
  constexpr int64_t kBetweenAsks = kSecond / 2;
  // Sleeps now and then: sched_yield() does not let a process of lower real-time priority run,
  // which may be the one that is waited for.
  constexpr int64_t kBetweenSleeps = kSecond / 100;
  constexpr int64_t kNap = kSecond / 2000;
  if (room_ != nullptr) let_library_work();
  sched_yield();
  const int64_t now = monotonic_ns();
  if (since_ns_ == 0) {
    since_ns_ = checked_ns_ = slept_ns_ = now;
    char what[sizeof(WaitRow::what)];
    describe(what, sizeof(what));
    row_ = add_row(what, now);
  }
  const Peer& peer = peer_of(late);
  if (row_ != nullptr) {
    row_->rank.store(peer.rank, std::memory_order_relaxed);
    row_->process.store(peer.pid, std::memory_order_relaxed);
  }
  static const int64_t patience = option_integer(OptionId::kPatience) * kSecond;
  if (now - slept_ns_ >= kBetweenSleeps) {
    const timespec nap{0, kNap};
    nanosleep(&nap, nullptr);
    slept_ns_ = monotonic_ns();
  }
  const int64_t waited = now - since_ns_;
  if (patience > 0 && waited >= std::max(patience, 2 * logged_ns_)) {
    logged_ns_ = waited;
    log(peer, waited);
  }
  if (now - checked_ns_ < kBetweenAsks) return true;
  checked_ns_ = now;
  return all_live(peer);
}

void Waiter::end() noexcept {
  remove_row(row_);
  row_ = nullptr;
  since_ns_ = logged_ns_ = 0;
}

}  // namespace lacuna::direct
