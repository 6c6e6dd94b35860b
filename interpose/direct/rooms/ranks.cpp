// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/ranks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/direct/rooms/repeat_decline.hpp"
#include "interpose/direct/rooms/room.hpp"
#include "interpose/library/locks.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/memory/staging.hpp"

namespace lacuna::direct {
namespace {

// A rank of a communicator that is a peer, and the index of that peer.
struct NodeRank {
  int rank;
  uint32_t peer;
  bool operator<(const NodeRank& other) const noexcept { return rank < other.rank; }
};

// The ranks of a communicator that are peers, ascending. An attribute of the communicator. Memory
// is never returned, only reused, as a stale pointer may be read (types/record.hpp).
struct Ranks {
  std::atomic<uintptr_t> handle{0};
  std::atomic<uint64_t> serial{0};
  std::vector<NodeRank> peers;
  Room room;
  Ranks* next_free = nullptr;
};

// Scratch memory for look_up(), allocated at the start: a rank that is out of memory must still do
// the collective calls that the others wait for. `there` is guarded by g_discovering.
struct Lookup {
  std::vector<int> here;   // the peers' ranks in MPI_COMM_WORLD
  std::vector<int> there;  // those in the communicator, or MPI_UNDEFINED
};
constinit Lookup* g_lookup = nullptr;
constinit MPI_Group g_world = {};
constinit int g_keyval = 0;
constinit bool g_started = false;

constexpr unsigned kCacheBits = 6;
constinit std::atomic<Ranks*> g_cache[1U << kCacheBits] = {};
constinit std::timed_mutex g_discovering;  // held during library calls
constinit std::mutex g_ranks_mutex;  // no library call while it is held: forget_comm() takes it
constinit Ranks* g_free = nullptr;
constinit Ranks* g_closing = nullptr;  // of freed communicators whose votes peers may still read
constinit std::atomic<uint64_t> g_serials{0};
constinit char g_no_room = 0;  // attribute value: this rank had no memory for a room

size_t slot_of(uintptr_t handle) { return hash_slot(handle, kCacheBits); }

thread_local bool t_attaches = false;
thread_local Ranks* t_before = nullptr;  // the attribute that attach() has replaced

int forget_comm(MPI_Comm, int, void* value, void*) noexcept {
  if (value == &g_no_room) return MPI_SUCCESS;
  auto* ranks = static_cast<Ranks*>(value);
  if (t_attaches) {
    t_before = ranks;
    return MPI_SUCCESS;
  }
  close_room(&ranks->room);
  const std::lock_guard<std::mutex> lock(g_ranks_mutex);
  ranks->handle.store(0, std::memory_order_release);
  Ranks** list = give_up_if_left(&ranks->room) ? &g_free : &g_closing;
  ranks->next_free = *list;
  *list = ranks;
  return MPI_SUCCESS;
}

void sweep_closing() noexcept {
  for (Ranks** link = &g_closing; *link != nullptr;) {
    Ranks* const ranks = *link;
    if (!give_up_if_left(&ranks->room)) {
      link = &ranks->next_free;
      continue;
    }
    *link = ranks->next_free;
    ranks->next_free = g_free;
    g_free = ranks;
  }
}

Ranks* new_ranks() {
  {
    const std::lock_guard<std::mutex> lock(g_ranks_mutex);
    sweep_closing();
    if (Ranks* ranks = g_free) {
      g_free = ranks->next_free;
      return ranks;
    }
  }
  return new Ranks;
}

// Which ranks of `comm` the peers are. `whole`: all its ranks are peers, so it has a room.
bool look_up(MPI_Comm comm, std::vector<int>& there, bool* whole) noexcept {
  const Next& next = next_functions();
  std::fill(there.begin(), there.end(), MPI_UNDEFINED);
  *whole = false;
  if (!has_plain_ranks(comm)) return true;
  int inter = 0;
  MPI_Group group;
  if (!group_of_peers(comm, &group, &inter)) return false;
  const auto n = static_cast<int>(there.size());
  const bool ok = next.MPI_Group_translate_ranks(g_world, n, g_lookup->here.data(), group,
                                                 there.data()) == MPI_SUCCESS;
  int size = 0;
  next.MPI_Group_size(group, &size);
  next.MPI_Group_free(&group);
  *whole = ok && inter == 0 && n - std::count(there.begin(), there.end(), MPI_UNDEFINED) == size;
  return ok;
}

// Null: out of memory.
Ranks* make_ranks(const std::vector<int>& there, bool whole) noexcept try {
  std::vector<NodeRank> found;
  for (uint32_t i = 0; i < there.size(); ++i) {
    if (there[i] != MPI_UNDEFINED && i != own_index()) found.push_back({there[i], i});
  }
  std::sort(found.begin(), found.end());
  Room room;
  room.members.resize(whole ? found.size() + 1 : 0);
  room.slot_uses.resize(room.members.size());
  for (uint32_t i = 0; whole && i < there.size(); ++i) {
    if (there[i] == MPI_UNDEFINED) continue;
    room.members[static_cast<size_t>(there[i])].peer = i;
    if (i == own_index()) room.rank = static_cast<size_t>(there[i]);
  }
  Ranks* const ranks = new_ranks();
  ranks->peers = std::move(found);
  ranks->room = std::move(room);
  return ranks;
} catch (const std::bad_alloc&) {
  return nullptr;
}

// For a rank that has no memory for a room: informs the others (refuse_room()). The library may
// forward received data from the buffer, so each thread needs its own; the others wait for this
// rank, so it waits until it gets one.
void refuse_room_on(MPI_Comm comm) noexcept {
  const auto bytes = static_cast<int64_t>(peers().size() * sizeof(SlotUse));
  Staging slot_uses;
  while (!(slot_uses = need_staging(bytes, true)))
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  refuse_room(comm, reinterpret_cast<SlotUse*>(slot_uses.data()));
}

// Sets the attribute. Returns what the communicator then has: `ranks`, or what a callback attached
// in the meantime. Null: the library refused.
Ranks* attach(MPI_Comm comm, Ranks* ranks) noexcept {
  const Next& next = next_functions();
  t_attaches = true;
  const int code = next.MPI_Comm_set_attr(comm, g_keyval, ranks);
  t_attaches = false;
  if (code != MPI_SUCCESS) {
    forget_comm(comm, g_keyval, ranks, nullptr);
    return nullptr;
  }
  if (t_before == nullptr) {
    ranks->serial.store(++g_serials, std::memory_order_relaxed);
    ranks->handle.store(handle_bits(comm), std::memory_order_release);
    return ranks;
  }
  Ranks* const before = std::exchange(t_before, nullptr);
  next.MPI_Comm_set_attr(comm, g_keyval, before);
  return before;
}

// One thread at a time: with two at once, the second one's attribute would replace the first one's,
// whose room would then be closed while in use. `waits`: for a collective, which must have the
// answer as other ranks wait for it; in a callback it goes on without the lock. A message does
// without the answer instead of waiting, as the library may have called back with locks held.
Ranks* discover(MPI_Comm comm, bool waits) noexcept try {
  auto lock = std::unique_lock(g_discovering, std::defer_lock);
  const bool is_beside = g_gate.threads && waits && !lock_outside_callbacks(&lock);
  if (g_gate.threads && !waits && !lock.try_lock()) return nullptr;
  std::vector<int> own(is_beside ? g_lookup->here.size() : 0);
  std::vector<int>& there = is_beside ? own : g_lookup->there;
  const Next& next = next_functions();
  void* value = nullptr;
  int found = -1;
  if (!is_communicator(comm) ||
      next.MPI_Comm_get_attr(comm, g_keyval, &value, &found) != MPI_SUCCESS || found < 0) {
    return nullptr;
  }
  auto* ranks = static_cast<Ranks*>(value);
  if (found == 0 || value == &g_no_room) {
    bool whole = false;
    if (!look_up(comm, there, &whole)) return nullptr;
    ranks = make_ranks(there, whole);
    if (ranks == nullptr) {
      if (found != 0 || !whole || !waits) return nullptr;
      next.MPI_Comm_set_attr(comm, g_keyval, &g_no_room);
      // Released first: threads of other ranks may need it before they take part.
      if (lock.owns_lock()) lock.unlock();
      refuse_room_on(comm);
      return nullptr;
    }
    if (found != 0) ranks->room.number = Room::kRefused;
    ranks = attach(comm, ranks);
    if (ranks == nullptr) return nullptr;
  }
  g_cache[slot_of(handle_bits(comm))].store(ranks, std::memory_order_release);
  return ranks;
} catch (const std::bad_alloc&) {
  return nullptr;
}

Ranks* known_ranks(MPI_Comm comm) noexcept {
  const uintptr_t handle = handle_bits(comm);
  Ranks* ranks = g_cache[slot_of(handle)].load(std::memory_order_acquire);
  return ranks != nullptr && ranks->handle.load(std::memory_order_acquire) == handle ? ranks
                                                                                     : nullptr;
}

Ranks* ranks_of(MPI_Comm comm, bool waits) noexcept {
  Ranks* ranks = known_ranks(comm);
  return ranks != nullptr ? ranks : discover(comm, waits);
}

const Peer* find_peer(const Ranks& ranks, int rank) noexcept {
  const auto& here = ranks.peers;
  const auto found = std::lower_bound(here.begin(), here.end(), NodeRank{rank, 0});
  return found != here.end() && found->rank == rank ? &peers()[found->peer] : nullptr;
}

Room* room_of(Ranks* ranks) noexcept {
  return ranks != nullptr && !ranks->room.members.empty() ? &ranks->room : nullptr;
}

// Which of `ranks` are absent; empty: none.
std::vector<char> absent(const std::vector<int>& ranks) {
  const auto is_absent = [](int rank) { return rank == MPI_PROC_NULL; };
  std::vector<char> found;
  if (std::none_of(ranks.begin(), ranks.end(), is_absent)) return found;
  for (const int rank : ranks) found.push_back(is_absent(rank) ? 1 : 0);
  return found;
}

bool recall(const Room& room, Neighbors* neighbors) noexcept try {
  neighbors->sources = static_cast<int>(room.sources.size());
  neighbors->targets = static_cast<int>(room.targets.size());
  neighbors->absent_sources = absent(room.sources);
  neighbors->absent_targets = absent(room.targets);
  neighbors->is_known = true;
  return true;
} catch (...) {
  *neighbors = Neighbors{};
  return false;
}

}  // namespace

bool start_ranks() noexcept try {
  const Next& next = next_functions();
  const std::span<const Peer> all = peers();
  if (g_lookup == nullptr) g_lookup = new Lookup;
  g_lookup->here.clear();
  for (const Peer& peer : all) g_lookup->here.push_back(peer.rank);
  g_lookup->there.resize(all.size());
  if (next.MPI_Comm_group(MPI_COMM_WORLD, &g_world) != MPI_SUCCESS) return false;
  g_started = next.MPI_Comm_create_keyval(&do_not_copy_attribute, &forget_comm, &g_keyval,
                                          nullptr) == MPI_SUCCESS;
  if (!g_started) next.MPI_Group_free(&g_world);
  return g_started;
} catch (const std::bad_alloc&) {
  return false;
}

void stop_ranks() noexcept {
  if (!g_started) return;
  g_started = false;
  for (LastRoom& last : g_last_rooms) last.room = nullptr;
  next_functions().MPI_Comm_free_keyval(&g_keyval);
  next_functions().MPI_Group_free(&g_world);
  for (auto& entry : g_cache) entry.store(nullptr, std::memory_order_release);
}

Room* room_on(MPI_Comm comm) noexcept {
  return comm != MPI_COMM_NULL ? room_of(ranks_of(comm, true)) : nullptr;
}

bool known_room(MPI_Comm comm, Room** room) noexcept {
  Ranks* ranks = known_ranks(comm);
  *room = room_of(ranks);
  return ranks != nullptr;
}

uint64_t serial_of(MPI_Comm comm) noexcept {
  const Ranks* ranks = known_ranks(comm);
  return ranks != nullptr ? ranks->serial.load(std::memory_order_relaxed) : 0;
}

const Peer* peer_of(MPI_Comm comm, int rank) noexcept {
  if (rank < 0 || comm == MPI_COMM_NULL) return nullptr;
  const Ranks* ranks = ranks_of(comm, false);
  return ranks != nullptr ? find_peer(*ranks, rank) : nullptr;
}

bool may_send_token(MPI_Comm comm, int rank) noexcept {
  if (has_pipeline()) return true;
  const Ranks* ranks = ranks_of(comm, false);
  if (ranks == nullptr) return true;
  const Peer* peer = find_peer(*ranks, rank);
  return peer != nullptr && (peers().size() > kMostCountedPeers || !all_tokens_arrived(*peer));
}

bool comm_info_of(MPI_Comm comm, CommInfo* group, int* code) {
  Room* room = nullptr;
  if (!receives_direct() || !known_room(comm, &room) || room == nullptr)
    return query_comm(comm, group, code);
  *group = {false, static_cast<int>(room->rank), static_cast<int>(room->members.size())};
  return true;
}

bool neighbors_of(MPI_Comm comm, Neighbors* neighbors, int* code) {
  Room* room = nullptr;
  if (receives_direct() && known_room(comm, &room) && room != nullptr &&
      room->neighborhood != Neighborhood::kUnknown && recall(*room, neighbors)) {
    return true;
  }
  return query_neighbors(comm, neighbors, code);
}

}  // namespace lacuna::direct
