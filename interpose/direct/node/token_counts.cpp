// SPDX-License-Identifier: BSD-3-Clause
//
// How many tokens each peer has sent here, and how many have arrived: where these are equal, no
// message is a token.
#include <atomic>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/readable.hpp"
#include "interpose/library/gate.hpp"

namespace lacuna::direct {
namespace {

// The word may be overwritten by another peer. A reader of the second value must also see the count
// that precedes the first. x86-64 stores are seen by all in one order; others (POWER) need a fence
// on either side.
void order_counts_and_words() noexcept {
#if !defined(__x86_64__)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

constinit bool g_are_counted = true;  // all tokens

}  // namespace

void stop_counting_tokens() noexcept {
  g_are_counted = false;
  g_settled_word = ~uint64_t{0};  // no count is that
}

uint64_t announce_token(const Peer& peer) noexcept {
  const auto index = static_cast<uint64_t>(&peer - peers().data());
  std::atomic<uint64_t>& sent = token_page(own_arena()).sent[index % kMostCountedPeers];
  uint64_t count = 0;
  if (g_gate.threads) {
    count = sent.fetch_add(1, std::memory_order_release) + 1;
  } else {
    count = sent.load(std::memory_order_relaxed) + 1;
    sent.store(count, std::memory_order_release);
  }
  order_counts_and_words();
  token_page(peer.arena.begin)
      .word.store((uint64_t{own_index()} + 1) << kReceiverShift | count, std::memory_order_release);
  return index << kReceiverShift | count;
}

bool all_tokens_arrived(const Peer& peer) noexcept {
  const auto& sent = token_page(peer.arena.begin).sent[own_index()];
  return sent.load(std::memory_order_acquire) == peer.arrived.load(std::memory_order_relaxed);
}

bool may_settle() noexcept {
  return g_are_counted && shows_token_page() && peers().size() <= kMostCountedPeers &&
         can_check_readable();
}

// The word is read first. Each sender counts before it writes, so every count that precedes a write
// of the word is seen, also if another peer has overwritten it.
bool settle_tokens() noexcept {
  if (!may_settle()) return false;
  const uint64_t word = g_token_page.word.load(std::memory_order_acquire);
  order_counts_and_words();
  for (const Peer& peer : peers()) {
    if (peer.arena.begin != nullptr && !all_tokens_arrived(peer)) return false;
  }
  g_settled_word = word;
  return true;
}

}  // namespace lacuna::direct
