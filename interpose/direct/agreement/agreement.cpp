// SPDX-License-Identifier: BSD-3-Clause
//
// The agreement of a node's ranks in MPI_Init. It ends with a vote, so a failure in one rank is a
// failure in all.
#include "interpose/direct/agreement/agreement.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "base/options.hpp"
#include "interpose/direct/agreement/card.hpp"
#include "interpose/direct/agreement/launched.hpp"
#include "interpose/direct/agreement/launcher_notes.hpp"
#include "interpose/direct/agreement/meeting.hpp"
#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/waits.hpp"
#include "interpose/direct/rooms/peer_read.hpp"
#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/memory/limits.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/policy/policy.hpp"
#include "mpi/header.hpp"
#include "source_id.gen.hpp"

namespace lacuna::direct {
namespace {

// Other ranks read this memory in the agreement, to find out whether they can and how fast.
struct Sample {
  Secret secret;
  std::byte rest[kSampleBytes - static_cast<int64_t>(sizeof(Secret))];
};
alignas(4096) constinit Sample g_sample = {};

// The same for the same sources, whenever and wherever they were compiled.
uint64_t build_id() noexcept {
  // These sizes differ between binary interfaces (ABIs).
  constexpr uint64_t kSizes[] = {sizeof(Card), sizeof(Region), sizeof(MPI_Datatype),
                                 sizeof(MPI_Status), sizeof(void*)};
  uint64_t hash = kSourceId;
  for (const uint64_t size : kSizes) hash = (hash ^ size) * kFnvPrime;
  return hash;
}

// All ranks have the same cards, so they get the same answer, but for failed allocations and
// failures of open_arena().
bool open_all(std::span<const Card> cards, int own, Node* node) noexcept try {
  node->peers = new std::vector<Peer>(cards.size());
  node->index = static_cast<uint32_t>(own);
  node->secret = cards[0].secret;
  int64_t left = most_shared_bytes();
  bool ok = true;
  for (size_t i = 0; ok && i < cards.size(); ++i) {
    const Card& card = cards[i];
    Peer& peer = (*node->peers)[i];
    left -= card.arena_bytes;
    node->threads = node->threads || card.threads != 0;
    node->asks_nodes = node->asks_nodes && card.asks_nodes != 0;
    peer.pid = card.pid;
    peer.rank = card.rank;
    peer.arena.bytes = card.arena_bytes;
    if (static_cast<int>(i) == own) continue;
    if (left >= 0)
      peer.arena.begin = open_arena(card.pid, card.descriptor, card.arena_bytes, card.secret);
    ok = peer.arena.begin != nullptr;
  }
  return ok;
} catch (const std::bad_alloc&) {
  return false;
}

// Undoes open_all(). Nothing of it has been used yet.
void close_all(const Node& node) noexcept {
  stop_ranks();
  forget_peers();
  if (node.peers != nullptr) {
    for (Peer& peer : *node.peers) {
      if (peer.arena.begin != nullptr)
        munmap(peer.arena.begin, static_cast<size_t>(peer.arena.bytes));
    }
    delete node.peers;
  }
  drop_arena();
}

// Tries to read the memory of each other rank: whether that is permitted (ptrace(2)) and how fast
// it is depends on the system.
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

Card own_card(bool willing, OtherNodes others, int rank, int ranks) noexcept {
  Card card{};
  card.build = build_id();
  card.tools = tools_below();
  card.arena_bytes = most_arena_bytes(option_integer(OptionId::kArenaMb) << 20, ranks);
  card.pid = getpid();
  card.rank = rank;
  card.willing = willing && make_arena(card.arena_bytes) &&
                 getrandom(&card.secret, sizeof(card.secret), 0) == sizeof(card.secret);
  card.descriptor = arena_descriptor();
  std::memset(g_sample.rest, 1, sizeof(g_sample.rest));
  g_sample.secret = card.secret;
  if (own_arena() != nullptr) token_page(own_arena()).owner = card.secret;
  card.sample_there = reinterpret_cast<uint64_t>(&g_sample);
  card.threads = g_gate.threads ? 1 : 0;
  card.asks_nodes = others == OtherNodes::kAsked ? 1 : 0;
  return card;
}

// Two rounds: first what each rank has, then whether each can use what the others have.
bool agree_with(Meeting* others, const Card& card, int ranks, Node* node) {
  PerRank<Card> all(ranks);
  PerRank<int32_t> votes(ranks);
  if (!others->exchange(&card, all.data(), sizeof(card))) return false;
  const std::span<const Card> cards = all.all();
  bool ok = true;
  for (const Card& other : cards) ok = ok && is_same(cards[0], other);
  ok = ok && open_all(cards, others->index(), node) && start_peers(*node) && start_ranks();
  constexpr int32_t kTakesPart = 1;
  constexpr int32_t kReads = 2;
  const bool reads = ok && option_flag(OptionId::kReadPeers) && reads_all(cards, others->index());
  const int32_t vote = (ok ? kTakesPart : 0) | (reads ? kReads : 0);
  int32_t common = others->exchange(&vote, votes.data(), sizeof(vote)) ? vote : 0;
  for (const int32_t other : votes.all()) common &= other;
  if ((common & kReads) != 0) read_peers();
  return (common & kTakesPart) != 0;
}

// A rank that is alone on its node needs what is for its tokens to other nodes.
bool start_alone(const Card& card, Node* node) noexcept {
  const bool ok =
      card.willing != 0 && open_all({&card, 1}, 0, node) && start_peers(*node) && start_ranks();
  close_arena();
  return ok;
}

LauncherNotes& launcher_notes() noexcept {
  static LauncherNotes notes(job_of_all_nodes());
  return notes;
}

// Nodes whose ranks leave the library's MPI_Init together come within much less.
constexpr auto kNodesLimit = std::chrono::seconds(5);

// Called by one process of this node, which has these ranks.
AllNodes ask_nodes(bool willing, std::span<const int> ranks) noexcept {
  const ListedWait wait("MPI_Init: until all nodes have agreed on pipelined messages");
  const NodeNote own{willing, build_id(), this_machine(), ranks};
  int absent = -1;
  const AllNodes found =
      agree_across_nodes(own, {runtime().size, kNodesLimit}, &launcher_notes(), &absent);
  // One process says so.
  const bool speaks = ranks.front() == 0 || ranks.back() == runtime().size - 1;
  if (absent >= 0 && speaks) {
    char sentence[240];
    std::snprintf(sentence, sizeof(sentence),
                  "pipelined messages off: the node of rank %d did not answer in MPI_Init within "
                  "%d s; remedy: start all ranks with lacuna, or set LACUNA_PIPELINE=0 in all",
                  absent, static_cast<int>(kNodesLimit.count()));
    log_line(sentence);
  }
  return found;
}

AllNodes ask_as_node(Meeting* others, int ranks, bool willing) noexcept try {
  std::vector<int> all(static_cast<size_t>(ranks));
  for (int i = 0; i < ranks; ++i) all[static_cast<size_t>(i)] = others->rank_at(i);
  return ask_nodes(willing, all);
} catch (const std::bad_alloc&) {
  return AllNodes::kNoNotes;
}

Agreed agree_alone(bool willing, OtherNodes others, int rank) noexcept {
  Node node;
  Agreed agreed;
  const bool asks = others == OtherNodes::kAsked;
  const bool ok = start_alone(own_card(willing, others, rank, 1), &node);
  if (asks) agreed.nodes = ask_nodes(ok && !node.threads, {&rank, 1});
  if (ok && (!asks || agreed.nodes == AllNodes::kAgreed))
    agreed.node = Agreement::kReached;
  else
    close_all(node);
  return agreed;
}

}  // namespace

void take_back_notes() noexcept { launcher_notes().take_back(); }

Agreed agree(bool willing, OtherNodes others) noexcept try {
  const Next& next = next_functions();
  // Static: 8 KiB are too much for the stack, and an allocation could fail while the others wait.
  static constinit char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  int rank = 0;
  next.MPI_Get_library_version(version, &length);
  next.MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int ranks = ranks_on_node(flavour_of(version));
  if (others == OtherNodes::kAsked && runtime().size <= ranks) others = OtherNodes::kNothing;
  if (ranks == 1) {
    return others == OtherNodes::kNothing ? Agreed{} : agree_alone(willing, others, rank);
  }
  if (ranks == 0 || job_id() == 0) return {.node = Agreement::kUnknownJob};
  const auto limit = std::chrono::seconds(option_integer(OptionId::kDirectWait));
  Meeting meeting({job_id(), rank, ranks, limit, [](const char* sentence) { log_line(sentence); }});
  const ListedWait note("MPI_Init: until all ranks of this node have agreed on shared memory");
  if (!meeting.begin()) return {.node = Agreement::kNotMet};
  Node node;
  const bool agreed = agree_with(&meeting, own_card(willing, others, rank, ranks), ranks, &node);
  Agreed all{.node = agreed ? Agreement::kReached : Agreement::kRefused};
  if (others == OtherNodes::kAsked) {
    if (meeting.is_host())
      all.nodes = ask_as_node(&meeting, ranks, agreed && node.asks_nodes && !node.threads);
    if (agreed && !meeting.tell(&all.nodes, sizeof(all.nodes))) all.nodes = AllNodes::kNoNotes;
  }
  close_arena();
  if (!agreed) close_all(node);
  return all;
} catch (const std::bad_alloc&) {
  // Nothing has been exchanged yet, and the meeting is over: the others have noticed.
  drop_arena();
  return {.node = Agreement::kRefused};
}

}  // namespace lacuna::direct
