// SPDX-License-Identifier: BSD-3-Clause
//
// Arena: the shared memory of a rank, in which it places what it sends. It has no name, so nothing
// is left behind however a job ends; the other ranks of the node open it by /proc/<pid>/fd. Its
// size is fixed (LACUNA_ARENA_MB); pages are the system's until they are used first, and
// short messages use the first ones only, so that those in use stay warm. Of the others most go
// back when their region does.
//
// What has not been used yet is mapped without access, by its owner and by the others: a program
// that locks its memory (mlockall) would have all pages of what it may access. Nor is any of it in
// core dumps.
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_ARENA_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_ARENA_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/direct/node/distance.hpp"
#include "interpose/direct/node/region.hpp"
#include "interpose/library/next.hpp"

namespace lacuna::direct {

// Makes this process's arena. False: no shared memory, or not as much.
bool make_arena(int64_t bytes) noexcept;
// Of so many, those that the process may make where `ranks` do so, each of which maps them all: a
// file of more than RLIMIT_FSIZE, in memory, too, would be a signal, and of the address space most
// is the program's (interpose/library/limits.hpp).
int64_t most_arena_bytes(int64_t wanted, int ranks) noexcept;
// Its first byte: the seats (room.hpp), a page for the word below, then regions.
std::byte* own_arena() noexcept;
int64_t arena_bytes() noexcept;  // of it
inline constexpr int64_t kSeatBytes = int64_t{4} << 10;
inline constexpr int64_t kFrontBytes = 2 * kSeatBytes;

// Who sends a token counts it in its own arena and then writes a word in the receiver's that was
// never there before; only then does the token go out. So whoever has received one sees another
// word than before, and can see later how many there were (settle_tokens(), peers.hpp).
inline constexpr size_t kMostTold = 504;  // peers
struct alignas(kSeatBytes) TokenPage {
  std::atomic<uint64_t> word;                            // by whoever has sent a token here last
  Secret owner;                                          // by which others know whose arena it is
  std::atomic<uint32_t> left_rooms;                      // this rank takes part in none any more
  alignas(kLine) std::atomic<uint64_t> sent[kMostTold];  // from here to each peer
};
static_assert(sizeof(TokenPage) == kSeatBytes);
inline TokenPage& token_page(std::byte* arena) noexcept {
  return *reinterpret_cast<TokenPage*>(arena + kSeatBytes);
}
// That of this process's arena, at a place that needs no pointer: to be read only.
LACUNA_HIDDEN extern TokenPage g_token_page;
// False where pages are larger: then what is at that place says nothing.
bool shows_token_page() noexcept;
// The word when all tokens that had been sent here had been landed.
LACUNA_HIDDEN extern uint64_t g_settled_word;
// Whether a token may have come that has not been landed. Not where there are threads.
inline bool may_have_tokens() noexcept {
  return g_token_page.word.load(std::memory_order_acquire) != g_settled_word;
}
// How others open it: /proc/<pid>/fd/<descriptor>.
int arena_descriptor() noexcept;
// Once all others have: programs count their descriptors, and some close all that they do not know.
void close_arena() noexcept;
// Where nobody will send anything through it after all.
void drop_arena() noexcept;

// Another process's arena, to read payloads from and to mark them done. Null: it cannot be opened
// (another user, not enough address space), or is not that of `owner`: in another PID namespace the
// number means another process, or this one.
std::byte* open_arena(int32_t pid, int descriptor, int64_t bytes, const Secret& owner) noexcept;

// Another process's arena, as far as this process has access to it.
struct OpenArena {
  std::byte* begin = nullptr;
  int64_t bytes = 0;
  // Up to here; of threads that come at once, either is right.
  mutable std::atomic<int64_t> entered{0};
};
// Its region at `offset`, with so many bytes behind it, to which this process has access then; the
// pages, and those that others will soon be in, are entered in its tables at once. Null: the system
// refuses.
Region* enter_region(const OpenArena& arena, int64_t offset, int64_t bytes) noexcept;

// Room for a payload, to be given back by the receiver's mark or by release(). Null: none, or too
// many are out. Any thread.
Region* reserve(int64_t payload_bytes) noexcept;
// The mark, by whoever uses it last, in whatever process: the pages that are not kept go first.
void release(Region* region, uint32_t mark = kDone) noexcept;
int64_t offset_of(const Region* region) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_ARENA_HPP_
