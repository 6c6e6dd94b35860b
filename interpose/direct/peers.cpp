// SPDX-License-Identifier: BSD-3-Clause
//
// The agreement is on private communicators, so that nothing of it meets the program's messages.
// Whatever fails on one rank of a node fails on all of them: each step ends with a vote.
#include "interpose/direct/peers.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "base/options.hpp"
#include "interpose/direct/arena.hpp"
#include "interpose/direct/card.hpp"
#include "interpose/direct/passing.hpp"
#include "interpose/direct/reading.hpp"
#include "interpose/direct/room.hpp"
#include "interpose/group.hpp"
#include "interpose/limits.hpp"
#include "interpose/next.hpp"
#include "interpose/runtime.hpp"

namespace lacuna::direct {
namespace {

constinit Secret g_secret = {};
// What others read of this process in the agreement.
struct Sample {
  Secret secret;
  std::byte rest[kSampleBytes - static_cast<int64_t>(sizeof(Secret))];
};
alignas(4096) constinit Sample g_sample = {};
constinit uint32_t g_index = 0;
constinit int32_t g_pid = 0;
constinit bool g_peers_read = false;
constinit std::vector<Peer>* g_peers = nullptr;
constinit MPI_Group g_node = {};
constinit MPI_Comm g_idle = {};  // of the same ranks; no message is ever sent there
constinit bool g_started = false;
constinit int g_keyval = 0;

// One of a communicator's ranks that are peers, and which of those it is.
struct NodeRank {
  int rank;
  uint32_t peer;
  bool operator<(const NodeRank& other) const noexcept { return rank < other.rank; }
};

// The ranks of a communicator that are peers, ascending; hangs on it as an attribute. Never
// returned to the system, only reused (types.hpp says why).
struct Ranks {
  std::atomic<uintptr_t> handle{0};
  std::atomic<uint64_t> life{0};
  std::vector<NodeRank> peers;
  Room room;
  Ranks* next_free = nullptr;
};

constexpr unsigned kCacheBits = 6;
constinit std::atomic<Ranks*> g_cache[1U << kCacheBits] = {};
constinit std::mutex g_learning;  // held while the library is asked
constinit std::mutex g_mutex;     // a leaf, as the library may call forget_comm() with locks held
constinit Ranks* g_free = nullptr;
constinit Ranks* g_closing = nullptr;  // of freed communicators, whose rooms are still read
constinit std::atomic<uint64_t> g_lives{0};

size_t slot_of(uintptr_t handle) {
  return static_cast<size_t>((handle * 0x9E3779B97F4A7C15U) >> (64 - kCacheBits));
}

int forget_comm(MPI_Comm, int, void* value, void*) noexcept {
  auto* ranks = static_cast<Ranks*>(value);
  close_room(&ranks->room);
  const std::lock_guard<std::mutex> lock(g_mutex);
  ranks->handle.store(0, std::memory_order_release);
  Ranks** list = give_up_if_left(&ranks->room) ? &g_free : &g_closing;
  ranks->next_free = *list;
  *list = ranks;
  return MPI_SUCCESS;
}

// A duplicate of a communicator learns for itself.
int no_copy(MPI_Comm, int, void*, void*, void*, int* flag) noexcept {
  *flag = 0;
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
    const std::lock_guard<std::mutex> lock(g_mutex);
    sweep_closing();
    if (Ranks* ranks = g_free) {
      g_free = ranks->next_free;
      return ranks;
    }
  }
  return new Ranks;
}

// Which ranks of `comm` are on this node, but for this one, and, where they all are, who they are.
bool find_ranks(MPI_Comm comm, std::vector<NodeRank>* found, Room* room) {
  const Next& next = next_functions();
  int inter = 0;
  MPI_Group group;
  if (next.MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return false;
  if ((inter != 0 ? next.MPI_Comm_remote_group(comm, &group) : next.MPI_Comm_group(comm, &group)) !=
      MPI_SUCCESS) {
    return false;
  }
  const int n = static_cast<int>(g_peers->size());
  std::vector<int> here(g_peers->size());
  for (int i = 0; i < n; ++i) here[static_cast<size_t>(i)] = i;
  std::vector<int> there(g_peers->size(), MPI_UNDEFINED);
  const bool ok =
      next.MPI_Group_translate_ranks(g_node, n, here.data(), group, there.data()) == MPI_SUCCESS;
  int size = 0;
  next.MPI_Group_size(group, &size);
  next.MPI_Group_free(&group);
  found->clear();
  *room = Room{};
  for (int i = 0; ok && i < n; ++i) {
    const int rank = there[static_cast<size_t>(i)];
    if (rank != MPI_UNDEFINED && i != static_cast<int>(g_index))
      found->push_back({rank, static_cast<uint32_t>(i)});
  }
  std::sort(found->begin(), found->end());
  if (!ok || inter != 0 || found->size() + 1 != static_cast<size_t>(size)) return ok;
  room->members.resize(found->size() + 1);
  room->offers.resize(room->members.size());
  for (int i = 0; i < n; ++i) {
    const int rank = there[static_cast<size_t>(i)];
    if (rank == MPI_UNDEFINED) continue;
    room->members[static_cast<size_t>(rank)].peer = static_cast<uint32_t>(i);
    if (i == static_cast<int>(g_index)) room->rank = static_cast<size_t>(rank);
  }
  return ok;
}

// One thread at a time: of two that meet a communicator first, the second one's ranks would take
// the place of those that the first one has, whose room then ends under it. A message can do
// without (`waits` is false), and rather does, as the library may have called back with locks held;
// a collective cannot, as others wait for it.
Ranks* learn(MPI_Comm comm, bool waits) try {
  auto lock = std::unique_lock(g_learning, std::defer_lock);
  if (g_gate.threads && waits) lock.lock();
  if (g_gate.threads && !waits && !lock.try_lock()) return nullptr;
  const Next& next = next_functions();
  Ranks* ranks = nullptr;
  int found = -1;
  if (!is_communicator(comm) ||
      next.MPI_Comm_get_attr(comm, g_keyval, &ranks, &found) != MPI_SUCCESS || found < 0) {
    return nullptr;
  }
  if (found == 0) {
    ranks = new_ranks();
    if (!find_ranks(comm, &ranks->peers, &ranks->room)) return nullptr;
    if (next.MPI_Comm_set_attr(comm, g_keyval, ranks) != MPI_SUCCESS) return nullptr;
    ranks->life.store(++g_lives, std::memory_order_relaxed);
    ranks->handle.store(handle_bits(comm), std::memory_order_release);
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
  return ranks != nullptr ? ranks : learn(comm, waits);
}

Room* room_of(Ranks* ranks) noexcept {
  return ranks != nullptr && !ranks->room.members.empty() ? &ranks->room : nullptr;
}

// The bits that all ranks of `comm` have.
int common_to_all(MPI_Comm comm, int size, int mine) {
  OfAll<int> votes(size);
  if (next_functions().MPI_Allgather(&mine, 1, MPI_INT, votes.data(), 1, MPI_INT, comm) !=
      MPI_SUCCESS) {
    return 0;
  }
  for (const int vote : votes.all()) mine &= vote;
  return mine;
}

// The cards are complete and the same on all ranks: so is the answer, but for memory and for what
// open_arena says.
bool open_all(std::span<const Card> cards, int own) noexcept try {
  auto* peers = new std::vector<Peer>(cards.size());
  g_peers = peers;
  g_index = static_cast<uint32_t>(own);
  g_secret = cards[0].secret;
  int64_t left = most_shared_bytes();
  bool ok = true;
  for (size_t i = 0; ok && i < cards.size(); ++i) {
    const Card& card = cards[i];
    Peer& peer = (*peers)[i];
    left -= card.arena_bytes;
    peer.pid = card.pid;
    peer.arena_bytes = card.arena_bytes;
    if (static_cast<int>(i) == own) continue;
    if (left >= 0)
      peer.arena = open_arena(card.pid, card.descriptor, card.arena_bytes, card.secret);
    ok = peer.arena != nullptr;
  }
  return ok;
} catch (const std::bad_alloc&) {
  return false;
}

// Nobody has used any of it: addresses and handles are the program's again.
void close_all() noexcept {
  if (g_peers != nullptr) {
    for (Peer& peer : *g_peers) {
      if (peer.arena != nullptr) munmap(peer.arena, static_cast<size_t>(peer.arena_bytes));
    }
    delete g_peers;
    g_peers = nullptr;
  }
  drop_arena();
}

// What a process may read of another is the system's to say (ptrace(2)), and how fast it is
// differs: so it is tried.
bool reads_all(std::span<const Card> cards, int own) noexcept {
  bool ok = true;
  for (size_t i = 0; ok && i < cards.size(); ++i) {
    const Card& card = cards[i];
    ok = static_cast<int>(i) == own ||
         can_read(card.pid, card.sample_there, &card.secret, sizeof(card.secret));
  }
  if (!ok || runtime().always) return ok;
  const size_t next = (static_cast<size_t>(own) + 1) % cards.size();
  const auto* same = reinterpret_cast<const std::byte*>(&g_sample);
  return is_fast_to_read(cards[next].pid, cards[next].sample_there, same);
}

bool agree_on_node(MPI_Comm node, bool willing) {
  const Next& next = next_functions();
  int size = 0;
  int own = 0;
  next.MPI_Comm_size(node, &size);
  next.MPI_Comm_rank(node, &own);
  Card card{};
  card.build = build_id();
  card.tools = tools_below();
  card.arena_bytes = most_arena_bytes(option_integer(OptionId::kArenaMb) << 20, size);
  card.pid = g_pid = getpid();
  card.willing = willing && size > 1 && make_arena(card.arena_bytes) &&
                 getrandom(&card.secret, sizeof(card.secret), 0) == sizeof(card.secret);
  card.descriptor = arena_descriptor();
  std::memset(g_sample.rest, 1, sizeof(g_sample.rest));
  g_sample.secret = card.secret;
  if (own_arena() != nullptr) token_page(own_arena()).owner = card.secret;
  card.sample_there = reinterpret_cast<uint64_t>(&g_sample);
  OfAll<Card> told(size);
  const int bytes = static_cast<int>(sizeof(Card));
  bool ok =
      next.MPI_Allgather(&card, bytes, MPI_BYTE, told.data(), bytes, MPI_BYTE, node) == MPI_SUCCESS;
  const std::span<const Card> cards = told.all();
  for (const Card& other : cards) ok = ok && is_same(cards[0], other);
  ok = ok && open_all(cards, own) && next.MPI_Comm_group(node, &g_node) == MPI_SUCCESS &&
       next.MPI_Comm_create_keyval(&no_copy, &forget_comm, &g_keyval, nullptr) == MPI_SUCCESS;
  constexpr int kTakesPart = 1;
  constexpr int kReads = 2;
  const bool reads = ok && option_flag(OptionId::kReadPeers) && reads_all(cards, own);
  const int common = common_to_all(node, size, (ok ? kTakesPart : 0) | (reads ? kReads : 0));
  close_arena();
  g_peers_read = (common & kReads) != 0;
  const bool agreed = (common & kTakesPart) != 0;
  if (ok && !agreed) {
    next.MPI_Group_free(&g_node);
    next.MPI_Comm_free_keyval(&g_keyval);
  }
  return agreed;
}

}  // namespace

bool agree(bool willing) noexcept try {
  const Next& next = next_functions();
  MPI_Comm world;
  MPI_Comm node;
  if (next.MPI_Comm_dup(MPI_COMM_WORLD, &world) != MPI_SUCCESS) return false;
  g_started = false;
  if (next.MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) ==
      MPI_SUCCESS) {
    g_started = agree_on_node(node, willing);
    if (g_started)
      g_idle = node;
    else
      next.MPI_Comm_free(&node);
  }
  next.MPI_Comm_free(&world);
  if (!g_started) close_all();
  return g_started;
} catch (const std::bad_alloc&) {
  close_all();
  return false;
}

void stop_peers() noexcept {
  if (!g_started) return;
  g_started = false;
  for (LastRoom& last : g_last_rooms) last.room = nullptr;
  next_functions().MPI_Comm_free_keyval(&g_keyval);
  next_functions().MPI_Group_free(&g_node);
  next_functions().MPI_Comm_free(&g_idle);
  for (auto& entry : g_cache) entry.store(nullptr, std::memory_order_release);
}

// Of a communicator of this process alone, MPICH 5 would only look at its own messages.
void let_library_work() noexcept {
  int flag = 0;
  next_functions().MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, g_idle, &flag, MPI_STATUS_IGNORE);
}

uint64_t announce_token(const Peer& peer) noexcept {
  const auto index = static_cast<uint64_t>(&peer - g_peers->data());
  std::atomic<uint64_t>& sent = token_page(own_arena()).sent[index % kMostTold];
  uint64_t count = 0;
  if (g_gate.threads) {
    count = sent.fetch_add(1, std::memory_order_release) + 1;
  } else {
    count = sent.load(std::memory_order_relaxed) + 1;
    sent.store(count, std::memory_order_release);
  }
  token_page(peer.arena)
      .word.store((uint64_t{g_index} + 1) << kReceiverShift | count, std::memory_order_release);
  return index << kReceiverShift | count;
}

// The word is read first: what has been counted when it was written is seen then, also if another
// peer has overwritten it, as each counts before it writes.
bool settle_tokens() noexcept {
  if (!shows_token_page() || g_peers->size() > kMostTold) return false;
  const uint64_t word = g_token_page.word.load(std::memory_order_acquire);
  for (const Peer& peer : *g_peers) {
    if (peer.arena == nullptr) continue;
    const auto& sent = token_page(peer.arena).sent[g_index];
    if (sent.load(std::memory_order_acquire) != peer.landed.load(std::memory_order_relaxed))
      return false;
  }
  g_settled_word = word;
  return true;
}

const Secret& secret() noexcept { return g_secret; }

uint32_t own_index() noexcept { return g_index; }

int32_t own_pid() noexcept { return g_pid; }

bool peers_read() noexcept { return g_peers_read; }

const Peer* peer_at(uint32_t index) noexcept {
  if (g_peers == nullptr || index >= g_peers->size()) return nullptr;
  const Peer& peer = (*g_peers)[index];
  return peer.arena != nullptr ? &peer : nullptr;
}

Room* room_on(MPI_Comm comm) noexcept {
  return comm != MPI_COMM_NULL ? room_of(ranks_of(comm, true)) : nullptr;
}

bool known_room(MPI_Comm comm, Room** room) noexcept {
  Ranks* ranks = known_ranks(comm);
  *room = room_of(ranks);
  return ranks != nullptr;
}

uint64_t life_of(MPI_Comm comm) noexcept {
  const Ranks* ranks = known_ranks(comm);
  return ranks != nullptr ? ranks->life.load(std::memory_order_relaxed) : 0;
}

const Peer* peer_of(MPI_Comm comm, int rank) noexcept {
  if (rank < 0 || comm == MPI_COMM_NULL) return nullptr;
  const Ranks* ranks = ranks_of(comm, false);
  if (ranks == nullptr) return nullptr;
  const auto& here = ranks->peers;
  const auto found = std::lower_bound(here.begin(), here.end(), NodeRank{rank, 0});
  return found != here.end() && found->rank == rank ? &(*g_peers)[found->peer] : nullptr;
}

}  // namespace lacuna::direct
