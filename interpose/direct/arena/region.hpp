// SPDX-License-Identifier: BSD-3-Clause
//
// A region of the sender's arena, and the token that names it. The MPI library carries the token in
// place of the message; the payload goes through the region.
//
// The sender writes the payload in pieces and publishes after each how far it is (`published`). The
// receiver unpacks behind it, and marks the region free at the end (`done`). The sender never
// blocks on the receiver; the receiver waits only for pieces that the sender is packing.
//
// A large payload goes through the first `ring` bytes again and again while the receiver keeps up
// (`consumed`). Payload bytes before `ring_end` lie in the ring, at their offset modulo `ring`.
// Bytes behind `ring_end` lie at their own offset, as if there was no ring.
//
// A payload of a device may lie in the sender's window instead (device/windows.hpp), at the offset
// that it would have in the arena.
#ifndef LACUNA_INTERPOSE_DIRECT_ARENA_REGION_HPP_
#define LACUNA_INTERPOSE_DIRECT_ARENA_REGION_HPP_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lacuna::direct {

// Random, agreed upon by the ranks of a node, or of the job, in MPI_Init. The one assumption of the
// direct path is that no message of a program begins with these 16 bytes (probability 2^-128).
struct Secret {
  uint64_t word[2];
  bool operator==(const Secret&) const = default;
};

// 80 bytes: a multiple of the size of every basic element (16 bytes at most), as a receive may take
// the token as elements; and a size that messages seldom have.
struct Token {
  Secret secret;
  // In brackets: of a pipelined message between nodes (direct/pipeline/).
  uint32_t sender;  // index among the ranks of the node (rank in MPI_COMM_WORLD)
  uint32_t unused;
  int64_t offset;  // of the region in the sender's arena (below 0, says for which receiver)
  int64_t bytes;   // of payload
  uint64_t id;     // unique for each sender; upper bits: the receiver (number of the message)
  int64_t piece;   // 0 (bytes of each piece but the last)
  int64_t zero[3];
};
inline constexpr int kReceiverShift = 48;
inline constexpr int64_t kTokenBytes = sizeof(Token);
static_assert(kTokenBytes == 80 && kTokenBytes % 16 == 0);

inline constexpr int64_t kLine = 64;

struct Region {
  alignas(kLine) std::atomic<int64_t> published;  // bytes of payload that have been packed
  std::atomic<int64_t> ring_end;                  // read after `published`; 0: no ring
  int64_t ring;                                   // bytes; a whole number of pieces
  int64_t bytes;                                  // of this region, after this header
  // Whole pages that are returned to the system when the region is freed (arena.hpp): where they
  // begin, from the start of the region, and how many bytes.
  int64_t idle_from;
  int64_t idle_bytes;
  uint64_t window;  // the number of the window that has the payload; 0: it is here
  alignas(kLine) std::atomic<uint32_t> done;  // not 0: the receiver has finished with it
  std::atomic<int64_t> consumed;              // bytes of the ring's part that were unpacked
  std::atomic<uint64_t> id;                   // of the token that was sent; 0: none yet
  alignas(kLine) Token token;                 // the send buffer of the token
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

// How many bytes of a payload are packed and published at a time: an eighth of it. With many pieces
// the receiver stays close behind; but each piece costs a transfer of the line with `published`. A
// piece should fit in a cache (docs/experiments/2026-11-27-direct-message-pieces.md).
inline int64_t piece_of(int64_t payload_bytes) noexcept {
  return std::clamp<int64_t>(payload_bytes / 8, 2 << 10, 64 << 10);
}
// `bytes`, rounded up to a multiple of `granule`: there packing can resume without a search.
inline int64_t whole_granules(int64_t bytes, int64_t granule) noexcept {
  return (bytes + granule - 1) / granule * granule;
}

inline std::byte* payload(Region* region) noexcept {
  return reinterpret_cast<std::byte*>(region) + sizeof(Region);
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ARENA_REGION_HPP_
