// SPDX-License-Identifier: BSD-3-Clause
//
// Pipelined messages between nodes (LACUNA_PIPELINE): the MPI library carries a token in place of
// the message, and the packed data follow as pieces on a communicator of lacuna's own. Each piece
// is on its way while the next one is packed, and is unpacked while the next one comes.
//
// Pieces are so short that the library sends them eagerly, without waiting for the receive: a send
// is complete without the receiver's part, so nothing new can wait for anything. What a receiver
// may have to keep of messages that it has not received yet is bounded: each sender has a share.
#ifndef LACUNA_INTERPOSE_DIRECT_PIPELINE_PIPELINE_HPP_
#define LACUNA_INTERPOSE_DIRECT_PIPELINE_PIPELINE_HPP_

#include <cstdint>

#include "interpose/direct/arena/region.hpp"
#include "interpose/library/next.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

// How many bytes the ranks of other nodes may send a rank in pieces that it has not received: each
// `first` from the beginning; then the rank grants up to `pool` bytes to those that ask, so that
// one of them has no more than `most`.
struct Shares {
  int64_t first = 0;
  int64_t pool = 0;
  int64_t most = 0;
};
// For a job of so many ranks, of which each keeps up to `bytes` in all.
Shares shares_of(int ranks, int64_t bytes) noexcept;

// What all ranks of the job have agreed on (start/pipelining.cpp).
struct Pipeline {
  MPI_Comm comm;            // all ranks, numbered as in MPI_COMM_WORLD; returns errors
  MPI_Group world;          // of MPI_COMM_WORLD
  int64_t piece_bytes = 0;  // the longest piece; 0: no pipelined messages
  Shares shares;
  bool within_nodes = false;  // between ranks of a node, too: for tests
};

void start_pipeline(const Pipeline& agreed) noexcept;
// For MPI_Finalize, collective: waits until all ranks have come there. The tokens that they have
// sent may be for receives that the program has freed: so calls `finish_receives` until they should
// have arrived.
void await_last_tokens(void (*finish_receives)()) noexcept;
// Completes what was sent. Collective.
void stop_pipeline() noexcept;
namespace detail {
LACUNA_HIDDEN extern Pipeline g_pipeline;
}  // namespace detail
inline const Pipeline& pipeline() noexcept { return detail::g_pipeline; }
inline bool has_pipeline() noexcept { return pipeline().piece_bytes > 0; }

// The rank in MPI_COMM_WORLD of a rank of `comm` (of its remote group, for an intercommunicator).
// -1: unknown, as it is not in MPI_COMM_WORLD, or this process itself. Three library calls or more.
int rank_in_world(MPI_Comm comm, int rank) noexcept;

// A pipelined token has an offset below 0, which no region has.
inline bool is_pipelined(const Token& token) noexcept { return token.offset < 0; }
inline int64_t offset_for(int receiver) noexcept { return -1 - int64_t{receiver}; }

// Tags on the communicator: for notes, and for the pieces of a message, by its number. Of messages
// that have not been received no two have the same (Pieces::prepare()).
inline constexpr int kNoteTag = 32767;
inline constexpr uint64_t kMessageTags = 16384;
// And for those of collective calls (direct/between_nodes/).
inline constexpr int kFirstCallTag = 16384;
inline constexpr int kCallTags = 16383;
inline int tag_of(uint64_t number) noexcept { return static_cast<int>(number % kMessageTags); }

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_PIPELINE_PIPELINE_HPP_
