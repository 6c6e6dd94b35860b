// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/unit/fake_peers.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/node/peers.hpp"
#include "tests/interpose/unit/fake_next.hpp"

namespace lacuna::test {

bool have_arena() {
  return direct::own_arena() != nullptr || direct::make_arena(int64_t{72} << 20);
}

bool have_peers(uint32_t ranks, bool threads) {
  if (!have_arena()) return false;
  Next& next = fake_next();
  next.MPI_Grequest_start = [](MPI_Grequest_query_function*, MPI_Grequest_free_function*,
                               MPI_Grequest_cancel_function*, void*, MPI_Request* request) {
    *request = 1;
    return MPI_SUCCESS;
  };
  next.MPI_Grequest_complete = [](MPI_Request) { return MPI_SUCCESS; };
  next.MPI_Request_free = [](MPI_Request*) { return MPI_SUCCESS; };
  next.MPI_Request_get_status = [](MPI_Request, int* flag, MPI_Status*) {
    *flag = 0;
    return MPI_SUCCESS;
  };
  static std::vector<direct::Peer>* peers = nullptr;
  direct::forget_peers();
  if (peers != nullptr) {
    for (size_t i = 1; i < peers->size(); ++i) std::free((*peers)[i].arena.begin);
    delete peers;
  }
  peers = new std::vector<direct::Peer>(ranks);
  std::memset(direct::own_arena(), 0, static_cast<size_t>(direct::kFrontBytes));
  for (uint32_t i = 0; i < ranks; ++i) {
    direct::Peer& peer = (*peers)[i];
    peer.pid = getpid();
    peer.rank = static_cast<int32_t>(i);
    peer.arena.bytes = direct::kFrontBytes;
    if (i == 0) {
      peer.arena.begin = direct::own_arena();
      continue;
    }
    void* const memory = std::aligned_alloc(4096, static_cast<size_t>(direct::kFrontBytes));
    if (memory == nullptr) return false;
    peer.arena.begin =
        static_cast<std::byte*>(std::memset(memory, 0, static_cast<size_t>(direct::kFrontBytes)));
  }
  return direct::start_peers({.peers = peers, .threads = threads});
}

std::byte* arena_of(uint32_t peer) { return direct::peer_at(peer)->arena.begin; }

}  // namespace lacuna::test
