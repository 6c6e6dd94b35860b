// SPDX-License-Identifier: BSD-3-Clause
//
// Peers: the ranks of this node that run the same lacuna, as all of them have agreed in MPI_Init,
// and who of them a rank of some communicator is.
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_PEERS_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_PEERS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "interpose/direct/node/arena.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

struct Peer {
  OpenArena arena;
  int32_t pid = 0;
  int32_t rank = 0;                         // in MPI_COMM_WORLD
  mutable std::atomic<uint64_t> landed{0};  // of its tokens, here
};

enum class Agreement : uint8_t {
  kReached,     // all ranks of this node are willing, of one build, and have each other's arenas
  kAlone,       // no other rank of the job is on this node
  kUnknownJob,  // the launcher does not tell which ranks are
  kNotMet,      // not all have come within LACUNA_DIRECT_WAIT
  kRefused,     // one is unwilling, or of another build, or has no access to another's arena
};
// Waits for the other ranks of this node, by no call of the library's (meeting.hpp): so the ranks
// of other nodes, and ranks without lacuna, need not know. The answer is the same on all.
Agreement agree(bool willing) noexcept;

// What a rank knows of its node when the cards of all are on the table.
struct Node {
  std::vector<Peer>* peers = nullptr;  // this process too; as long as the process
  uint32_t index = 0;                  // of this process
  Secret secret = {};
  bool threads = false;  // some peer has several
};
// By the agreement: what is needed of the library, none of it collective. False: it refuses.
bool start_peers(const Node& node) noexcept;
void read_peers() noexcept;    // they may read each other's memory
void forget_peers() noexcept;  // there is no agreement after all
void stop_peers() noexcept;

// While this process waits for a peer: what others want from it may be what that one waits for.
void let_library_work() noexcept;

// To be called before a token goes out to this peer: its id.
uint64_t announce_token(const Peer& peer) noexcept;
// Whether all that this peer has sent here have been landed.
bool has_landed_all(const Peer& peer) noexcept;
// Whether all tokens that were sent here have been landed: then receives need not be asked what
// they bring before the next one. Not where there are threads.
bool settle_tokens() noexcept;
// Whether that can ever be known: else receives are always asked.
bool may_settle() noexcept;

const Secret& secret() noexcept;
std::span<const Peer> peers() noexcept;
uint32_t own_index() noexcept;  // in peers()
int32_t own_pid() noexcept;
const Peer& own_peer() noexcept;
// Whether some peer, perhaps this one, has several threads: all peers say the same.
bool peers_have_threads() noexcept;
// Whether all of them may read each other's memory.
bool peers_read() noexcept;
// Whether a peer is gone, also where its parent has not yet asked how it ended, which may take as
// long as the job. A call of the system or three.
bool has_ended(int32_t pid) noexcept;
// Null: no such peer.
const Peer* peer_at(uint32_t index) noexcept;

// This rank of `comm` (of its remote group, for an intercommunicator), where it is another process
// of the node; else null.
const Peer* peer_of(MPI_Comm comm, int rank) noexcept;

// Whether what has come from this rank of `comm` may be a token: one has been sent to this process
// from there, and not been landed. True in doubt.
bool may_send_token(MPI_Comm comm, int rank) noexcept;

// Tells apart communicators that have had the same handle, one after the other. 0: `comm` is gone,
// or has not been asked about lately.
uint64_t life_of(MPI_Comm comm) noexcept;

// The peers that the ranks of `comm` are, this process too. Null: some are elsewhere, or it is an
// intercommunicator. Found out once for a communicator, on which it hangs until that is freed; all
// ranks get the same answer.
struct Room* room_on(MPI_Comm comm) noexcept;
// The same without a question to the library: false where it has not been asked of lately.
bool known_room(MPI_Comm comm, struct Room** room) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_PEERS_HPP_
