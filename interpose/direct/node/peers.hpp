// SPDX-License-Identifier: BSD-3-Clause
//
// Peers: the ranks of this node that take part in the direct path, as all of them agreed in
// MPI_Init.
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_PEERS_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_PEERS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "interpose/direct/arena/arena.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

struct Peer {
  OpenArena arena;
  int32_t pid = 0;
  int32_t rank = 0;                          // in MPI_COMM_WORLD
  mutable std::atomic<uint64_t> arrived{0};  // its tokens that have arrived here
};

// What a rank knows of its node once all have exchanged their cards (agreement/card.hpp).
struct Node {
  std::vector<Peer>* peers = nullptr;  // this process too; never freed after an agreement
  uint32_t index = 0;                  // of this process
  Secret secret = {};
  bool threads = false;    // some peer uses MPI_THREAD_MULTIPLE
  bool asks_nodes = true;  // all peers ask the other nodes of the job (OtherNodes::kAsked)
};
// Called by the agreement. Makes the MPI handle that let_library_work() needs. False: the library
// refused it.
bool start_peers(const Node& node) noexcept;
void read_peers() noexcept;    // the agreement found that peers can read each other's memory
void forget_peers() noexcept;  // undoes start_peers(), if the agreement failed
void stop_peers() noexcept;

// Lets the library make progress. Called while this process waits for a peer, which may be in a
// library call that needs this rank.
void let_library_work() noexcept;

// Counts a token that is about to be sent to this peer. Returns its id.
uint64_t announce_token(const Peer& peer) noexcept;
// Whether all tokens that this peer has sent here have arrived.
bool all_tokens_arrived(const Peer& peer) noexcept;
// Whether all tokens that were sent here have arrived. If so, receives need not look for tokens
// until the next one is sent. Only for programs of one thread.
bool settle_tokens() noexcept;
// Whether settle_tokens() can ever be true. If not, receives always look for tokens.
bool may_settle() noexcept;

// From now on receives always look for tokens, as ranks of other nodes send some, which are not
// counted, and all tokens have this secret instead of the node's (direct/pipeline/).
void stop_counting_tokens() noexcept;
void change_secret(const Secret& secret) noexcept;

const Secret& secret() noexcept;
std::span<const Peer> peers() noexcept;
uint32_t own_index() noexcept;  // in peers()
int32_t own_pid() noexcept;
const Peer& own_peer() noexcept;
// Whether some peer, perhaps this one, uses MPI_THREAD_MULTIPLE. All peers have the same answer.
bool peers_have_threads() noexcept;
// Whether all peers can read each other's memory (process_vm_readv).
bool peers_read() noexcept;
// Whether a process has ended, also if its parent has not reaped it yet (that may take until the
// job ends). One to three system calls.
bool has_ended(int32_t pid) noexcept;
// Whether a rank of MPI_COMM_WORLD is one of peers().
bool is_peer(int32_t rank) noexcept;
// Null: no such peer.
const Peer* peer_at(uint32_t index) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_PEERS_HPP_
