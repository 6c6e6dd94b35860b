// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/node/peers.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/library/next.hpp"

namespace lacuna::direct {
namespace {

constinit Secret g_secret = {};
constinit uint32_t g_index = 0;
constinit bool g_peers_read = false;
constinit bool g_peers_have_threads = false;
constinit std::vector<Peer>* g_peers = nullptr;
constinit MPI_Request g_idle = {};  // an incomplete generalized request, for let_library_work()
constinit bool g_started = false;

int query_nothing(void*, MPI_Status*) noexcept { return MPI_SUCCESS; }
int free_nothing(void*) noexcept { return MPI_SUCCESS; }
int cancel_nothing(void*, int) noexcept { return MPI_SUCCESS; }

}  // namespace

bool start_peers(const Node& node) noexcept {
  g_peers = node.peers;
  g_index = node.index;
  g_secret = node.secret;
  g_peers_have_threads = node.threads;
  g_started = next_functions().MPI_Grequest_start(&query_nothing, &free_nothing, &cancel_nothing,
                                                  nullptr, &g_idle) == MPI_SUCCESS;
  return g_started;
}

void read_peers() noexcept { g_peers_read = true; }

void forget_peers() noexcept {
  stop_peers();
  g_peers = nullptr;
}

void stop_peers() noexcept {
  if (!g_started) return;
  g_started = false;
  next_functions().MPI_Grequest_complete(g_idle);
  next_functions().MPI_Request_free(&g_idle);
}

// Tests a generalized request, which has no communicator: it cannot match the program's messages,
// and no failed process makes it an error. Several threads may do so at once.
void let_library_work() noexcept {
  int flag = 0;
  next_functions().MPI_Request_get_status(g_idle, &flag, MPI_STATUS_IGNORE);
}

const Secret& secret() noexcept { return g_secret; }

void change_secret(const Secret& secret) noexcept { g_secret = secret; }

uint32_t own_index() noexcept { return g_index; }

std::span<const Peer> peers() noexcept { return *g_peers; }

bool is_peer(int32_t rank) noexcept {
  return std::ranges::any_of(*g_peers, [&](const Peer& peer) { return peer.rank == rank; });
}

const Peer& own_peer() noexcept { return (*g_peers)[g_index]; }

int32_t own_pid() noexcept { return own_peer().pid; }

bool peers_have_threads() noexcept { return g_peers_have_threads; }

bool peers_read() noexcept { return g_peers_read; }

const Peer* peer_at(uint32_t index) noexcept {
  if (g_peers == nullptr || index >= g_peers->size()) return nullptr;
  const Peer& peer = (*g_peers)[index];
  return peer.arena.begin != nullptr ? &peer : nullptr;
}

}  // namespace lacuna::direct
