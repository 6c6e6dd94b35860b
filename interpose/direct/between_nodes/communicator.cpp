// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/between_nodes/communicator.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/waits.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna::direct {
namespace {

constexpr int kMostRanks = 1024;  // so many votes are gathered in each call

constinit int g_key = 0;
constinit bool g_has_key = false;
constinit char g_unsuitable = 0;  // attribute value: the library does all calls

int forget(MPI_Comm, int, void* value, void*) noexcept {
  if (value == &g_unsuitable) return MPI_SUCCESS;
  delete static_cast<NodesComm*>(value);
  return MPI_SUCCESS;
}

// Whether all ranks are in MPI_COMM_WORLD and not all on this node. Needs no memory: the answer
// must be the same in all ranks.
bool is_suitable(MPI_Group group, int* size) noexcept {
  const Next& next = next_functions();
  if (next.MPI_Group_size(group, size) != MPI_SUCCESS || *size < 2 || *size > kMostRanks)
    return false;
  bool is_on_one_node = true;
  for (int rank = 0; rank < *size; ++rank) {
    int there = MPI_UNDEFINED;
    if (next.MPI_Group_translate_ranks(group, 1, &rank, pipeline().world, &there) != MPI_SUCCESS ||
        there == MPI_UNDEFINED) {
      return false;
    }
    is_on_one_node = is_on_one_node && is_peer(there);
  }
  return !is_on_one_node || pipeline().within_nodes;
}

// Null: out of memory, or the library refused.
std::unique_ptr<NodesComm> make(MPI_Comm comm, MPI_Group group, int ranks) noexcept try {
  const Next& next = next_functions();
  const auto size = static_cast<size_t>(ranks);
  auto nodes = std::make_unique<NodesComm>();
  nodes->world.resize(size);
  nodes->room.members.resize(size);
  std::vector<int> all(size);
  std::iota(all.begin(), all.end(), 0);
  int own = 0;
  if (next.MPI_Comm_rank(comm, &own) != MPI_SUCCESS ||
      next.MPI_Group_translate_ranks(group, ranks, all.data(), pipeline().world,
                                     nodes->world.data()) != MPI_SUCCESS) {
    return nullptr;
  }
  nodes->room.rank = static_cast<size_t>(own);
  return nodes;
} catch (const std::bad_alloc&) {
  return nullptr;
}

struct Ballot {
  Wish wish;
  uint8_t log_of_interval;  // until the next vote
};

struct Result {
  Wish least;
  Wish most;
  uint8_t log_of_interval;  // the shortest: ranks that came early have measured their waiting
};

// Collective. Nothing: the library has failed.
std::optional<Result> gather(MPI_Comm comm, size_t size, Ballot own, const char* what) noexcept {
  Ballot ballots[kMostRanks];
  constexpr int kBytes = sizeof(Ballot);
  const ListedWait note(what);
  if (next_functions().MPI_Allgather(&own, kBytes, runtime().byte, ballots, kBytes, runtime().byte,
                                     comm) != MPI_SUCCESS) {
    return {};
  }
  Result result{own.wish, own.wish, own.log_of_interval};
  for (size_t i = 0; i < size; ++i) {
    result.least = std::min(result.least, ballots[i].wish);
    result.most = std::max(result.most, ballots[i].wish);
    result.log_of_interval = std::min(result.log_of_interval, ballots[i].log_of_interval);
  }
  return result;
}

// Collective. Whether all ranks say so.
bool all_have(MPI_Comm comm, bool mine, size_t size) noexcept {
  const auto found = gather(comm, size, {mine ? Wish::kIndifferent : Wish::kNo, 0},
                            "until all ranks of a communicator have made what collectives need");
  return found && found->least != Wish::kNo;
}

NodesComm* discover(MPI_Comm comm) noexcept {
  const Next& next = next_functions();
  int inter = 0;
  int size = 0;
  MPI_Group group;
  NodesComm* nodes = nullptr;
  if (has_plain_ranks(comm) && group_of_peers(comm, &group, &inter)) {
    if (inter == 0 && is_suitable(group, &size)) {
      std::unique_ptr<NodesComm> made = make(comm, group, size);
      if (made != nullptr && next.MPI_Comm_set_attr(comm, g_key, made.get()) == MPI_SUCCESS)
        nodes = made.release();
      if (!all_have(comm, nodes != nullptr, static_cast<size_t>(size))) nodes = nullptr;
    }
    next.MPI_Group_free(&group);
  }
  // This deletes what was set before.
  if (nodes == nullptr) next.MPI_Comm_set_attr(comm, g_key, &g_unsuitable);
  return nodes;
}

}  // namespace

bool make_comm_key() noexcept {
  g_has_key = next_functions().MPI_Comm_create_keyval(&do_not_copy_attribute, &forget, &g_key,
                                                      nullptr) == MPI_SUCCESS;
  return g_has_key;
}

void free_comm_key() noexcept {
  if (std::exchange(g_has_key, false)) next_functions().MPI_Comm_free_keyval(&g_key);
}

NodesComm* comm_between_nodes(MPI_Comm comm) noexcept {
  if (!has_pipeline()) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (next_functions().MPI_Comm_get_attr(comm, g_key, &value, &found) != MPI_SUCCESS)
    return nullptr;
  if (found == 0) return discover(comm);
  return value != &g_unsuitable ? static_cast<NodesComm*>(value) : nullptr;
}

bool must_vote(NodesComm* nodes, Kind kind) noexcept {
  NodesComm::BackOff& back_off = nodes->back_offs[static_cast<size_t>(kind)];
  nodes->tag = kFirstCallTag + (nodes->tag + 1) % kCallTags;
  return ++back_off.calls > back_off.no_vote_until;
}

uint8_t log_of_interval(const NodesComm::BackOff& back_off,
                        std::chrono::steady_clock::time_point now) noexcept {
  constexpr int64_t kTimesVote = 128;  // votes take 1/128 of the time
  constexpr int64_t kLongest = 1 << 16;
  if (back_off.calls == back_off.calls_then) return 0;
  const int64_t calls = static_cast<int64_t>(back_off.calls - back_off.calls_then);
  // A process that goes on on another machine may find an earlier time there.
  const int64_t passed = std::max<int64_t>((now - back_off.last_vote).count(), 0);
  const int64_t call_time = passed / calls + 1;
  const int64_t interval = back_off.vote_time.count() * kTimesVote / call_time;
  return static_cast<uint8_t>(
      std::bit_width(static_cast<uint64_t>(std::clamp<int64_t>(interval, 1, kLongest))) - 1);
}

bool vote(MPI_Comm comm, NodesComm* nodes, Kind kind, Wish wish) noexcept {
  using Clock = std::chrono::steady_clock;
  NodesComm::BackOff& back_off = nodes->back_offs[static_cast<size_t>(kind)];
  const Clock::time_point begin = Clock::now();
  const auto found = gather(comm, nodes->world.size(), {wish, log_of_interval(back_off, begin)},
                            "collective call: until all ranks have voted on pieces between nodes");
  if (!found) return false;
  back_off.last_vote = Clock::now();
  back_off.vote_time = back_off.last_vote - begin;
  back_off.calls_then = back_off.calls;
  const bool is_agreed = found->least != Wish::kNo && found->most == Wish::kYes;
  if (!is_agreed)
    back_off.no_vote_until = back_off.calls + (uint64_t{1} << found->log_of_interval) - 1;
  return is_agreed;
}

}  // namespace lacuna::direct
