// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/between_nodes/communicator.hpp"

#include <algorithm>
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
constexpr uint64_t kLongestInterval = 1 << 16;

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

struct Range {
  Wish least;
  Wish most;
};

// Collective: the range of what the ranks wish. Nothing: the library has failed.
std::optional<Range> gather(MPI_Comm comm, size_t size, Wish wish, const char* what) noexcept {
  uint8_t wishes[kMostRanks];
  const auto own = static_cast<uint8_t>(wish);
  const ListedWait note(what);
  if (next_functions().MPI_Allgather(&own, 1, runtime().byte, wishes, 1, runtime().byte, comm) !=
      MPI_SUCCESS) {
    return {};
  }
  const auto [least, most] = std::minmax_element(wishes, wishes + size);
  return Range{Wish{*least}, Wish{*most}};
}

// Collective. Whether all ranks say so.
bool all_have(MPI_Comm comm, bool mine, size_t size) noexcept {
  const auto found = gather(comm, size, mine ? Wish::kIndifferent : Wish::kNo,
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

bool vote(MPI_Comm comm, NodesComm* nodes, Kind kind, Wish wish) noexcept {
  const auto found = gather(comm, nodes->world.size(), wish,
                            "collective call: until all ranks have voted on pieces between nodes");
  if (!found) return false;
  const bool is_agreed = found->least != Wish::kNo && found->most == Wish::kYes;
  NodesComm::BackOff& back_off = nodes->back_offs[static_cast<size_t>(kind)];
  if (is_agreed) {
    back_off.interval = 1;
  } else {
    back_off.no_vote_until = back_off.calls + back_off.interval;
    back_off.interval = std::min(2 * back_off.interval, kLongestInterval);
  }
  return is_agreed;
}

}  // namespace lacuna::direct
