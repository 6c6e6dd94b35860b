// SPDX-License-Identifier: BSD-3-Clause
//
// What two ranks of a node have in common: a region of the sender's arena, and the token that names
// it. The token travels as the message, by the library and in the message's place; the payload goes
// through the region.
//
// The sender writes the payload in pieces and says after each how far it is (`published`); the
// receiver follows and says at the end that the region is free again (`done`). Neither waits for
// the other but for the receiver, for pieces that the sender is just packing.
//
// A large payload goes through the first `ring` bytes over and over while the receiver follows
// closely, and says so (`consumed`): bytes before `ring_end` have their places there, round after
// round, and those behind it places of their own, as if there was no ring.
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_REGION_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_REGION_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lacuna::direct {

// Random, agreed upon by the ranks of a node at MPI_Init: the one assumption of the direct path is
// that no message of a program begins with these 16 bytes (chance 2^-128).
struct Secret {
  uint64_t word[2];
  bool operator==(const Secret&) const = default;
};

// A whole number of every basic element that a receive may take it apart into (16 bytes at most),
// and a size that messages seldom have.
struct Token {
  Secret secret;
  uint32_t sender;  // among the ranks of the node
  uint32_t unused;
  int64_t offset;  // of the region in the sender's arena
  int64_t bytes;   // of payload
  uint64_t id;     // no two of a sender's have one; the receiver in its upper bits
  int64_t zero[4];
};
inline constexpr int kReceiverShift = 48;
inline constexpr int64_t kTokenBytes = sizeof(Token);
static_assert(kTokenBytes == 80 && kTokenBytes % 16 == 0);

inline constexpr int64_t kLine = 64;

struct Region {
  alignas(kLine) std::atomic<int64_t> published;  // bytes of payload that are there
  std::atomic<int64_t> ring_end;                  // to be read behind that; 0: no ring
  int64_t ring;                                   // whole pieces
  int64_t bytes;                                  // behind this
  // Of it, whole pages that go back to the system before it is marked: from here, and how many
  // bytes (arena.hpp).
  int64_t idle_from;
  int64_t idle_bytes;
  alignas(kLine) std::atomic<uint32_t> done;  // not 0: the receiver needs it no more
  std::atomic<int64_t> consumed;              // of what is before the ring's end
  std::atomic<uint64_t> id;                   // of the token that is out; 0: none yet
  alignas(kLine) Token token;                 // where the library sends it from
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

inline std::byte* payload(Region* region) noexcept {
  return reinterpret_cast<std::byte*>(region) + sizeof(Region);
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_REGION_HPP_
