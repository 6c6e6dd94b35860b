// SPDX-License-Identifier: BSD-3-Clause
//
// Arena: the shared memory of a rank, in which it places what it sends. It is an anonymous memory
// file (memfd), so nothing is left behind however a job ends. The other ranks of the node open it
// by /proc/<pid>/fd. Its size is fixed (LACUNA_ARENA_MB); pages are allocated when they are first
// needed. Short messages reuse the first pages, so that these stay in a cache. Pages beyond the
// first 64 MiB are freed with their region.
//
// Pages that have not been used yet are mapped without access (PROT_NONE), by the owner and by the
// others: mlockall() would allocate every accessible page. The mapping is excluded from core dumps.
#ifndef LACUNA_INTERPOSE_DIRECT_ARENA_ARENA_HPP_
#define LACUNA_INTERPOSE_DIRECT_ARENA_ARENA_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/direct/arena/distance.hpp"
#include "interpose/direct/arena/region.hpp"
#include "interpose/library/next.hpp"

namespace lacuna::direct {

// A program that has closed its standard streams may still write to descriptors 0 to 2, and would
// write into what lacuna has there. So lacuna's descriptors get another number. Below 0: none.
int above_standard_streams(int descriptor) noexcept;
// Makes this process's arena. False: the system refused the shared memory, or that much of it.
bool make_arena(int64_t bytes) noexcept;
// The largest arena of at most `wanted` bytes that this process may make if all `ranks` of the node
// do the same and each maps all of them. Limits: RLIMIT_FSIZE, as making a larger file raises a
// signal (memory files, too), and a share of the address space (interpose/memory/limits.hpp).
int64_t most_arena_bytes(int64_t wanted, int ranks) noexcept;
// Its first byte. A page of vote slots (rooms/vote_slot.hpp) comes first, then a page with
// TokenPage, a page with WindowPage, and the regions.
std::byte* own_arena() noexcept;
int64_t arena_bytes() noexcept;
inline constexpr int64_t kVotePageBytes = int64_t{4} << 10;
inline constexpr int64_t kFrontBytes = 3 * kVotePageBytes;

// Before a token is sent, the sender counts it in its own arena and then writes a new value into
// `word` of the receiver's arena. So a receiver that has got a token finds another word than
// before, and can later compare counts to see whether all tokens have arrived (settle_tokens(),
// peers.hpp).
inline constexpr size_t kMostCountedPeers = 504;  // peers that are counted
struct alignas(kVotePageBytes) TokenPage {
  std::atomic<uint64_t> word;        // written by the rank that sent the last token here
  Secret owner;                      // identifies the arena's owner to others
  std::atomic<uint32_t> left_rooms;  // not 0: this rank votes no in every room
  alignas(kLine) std::atomic<uint64_t> sent[kMostCountedPeers];  // tokens from here to each peer
};
static_assert(sizeof(TokenPage) == kVotePageBytes);
inline TokenPage& token_page(std::byte* arena) noexcept {
  return *reinterpret_cast<TokenPage*>(arena + kVotePageBytes);
}
// Memory of the rank's device that peers may map (device/windows.hpp). Written by the rank alone.
struct alignas(kVotePageBytes) WindowPage {
  std::atomic<uint64_t> number;  // of the rank's window, which no other of its windows has; 0: none
  int64_t bytes;
  int32_t descriptor;            // by which a peer gets it
  std::atomic<uint64_t> device;  // that the rank has used last for messages; 0: none yet
  // Of each peer, the number of its window that this rank has mapped last. kWanted: none, but it
  // would like to.
  alignas(kLine) std::atomic<uint64_t> mapped[kMostCountedPeers];
};
inline constexpr uint64_t kWanted = 1;  // the first number is 2
static_assert(sizeof(WindowPage) == kVotePageBytes);
inline WindowPage& window_page(std::byte* arena) noexcept {
  return *reinterpret_cast<WindowPage*>(arena + 2 * kVotePageBytes);
}
// This process's TokenPage, mapped read-only at a fixed address, so that no pointer is loaded.
LACUNA_HIDDEN extern TokenPage g_token_page;
// False where pages are larger than 4 KiB: then g_token_page is not this process's TokenPage.
bool shows_token_page() noexcept;
// The word as it was when all tokens sent here so far had arrived.
LACUNA_HIDDEN extern uint64_t g_settled_word;
// Whether a token may have come that has not been received. Only for programs of one thread.
inline bool may_have_tokens() noexcept {
  return g_token_page.word.load(std::memory_order_acquire) != g_settled_word;
}
// For other processes, which open /proc/<pid>/fd/<descriptor>.
int arena_descriptor() noexcept;
// Closes the descriptor, once all others have opened the arena: programs count their descriptors,
// and some close all that they do not know.
void close_arena() noexcept;
// Unmaps the arena, if the agreement failed.
void drop_arena() noexcept;

// Maps another process's arena, to read payloads from it and to mark regions done. Null: it cannot
// be opened (another user, not enough address space), or `owner` does not match: in another PID
// namespace the same number means another process.
std::byte* open_arena(int32_t pid, int descriptor, int64_t bytes, const Secret& owner) noexcept;

// Another process's arena, mapped here.
struct OpenArena {
  std::byte* begin = nullptr;
  int64_t bytes = 0;
  // [0, entered) may be accessed. Of concurrent updates by threads, either is right.
  mutable std::atomic<int64_t> entered{0};
};
// The region at `offset`. Makes it and `bytes` behind it accessible, and fills the page tables for
// these pages and for the rest of their MiB at once. Null: the system refuses.
Region* enter_region(const OpenArena& arena, int64_t offset, int64_t bytes) noexcept;

// Makes the first `bytes` of an arena accessible and allocates their pages, for a device that is to
// use them. At most kKeptPagesBytes: behind them, pages are freed with their region. False: the
// system refuses.
inline constexpr int64_t kKeptPagesBytes = int64_t{64} << 20;
bool populate(const OpenArena& arena, int64_t bytes) noexcept;
bool populate_own(int64_t bytes) noexcept;

// Reserves a region for a payload. The receiver's mark or release() frees it. Null: no free space,
// or too many regions are reserved. Any thread.
Region* reserve(int64_t payload_bytes) noexcept;
// Frees a region: called by its last user, in whatever process. First returns its pages beyond the
// first 64 MiB to the system.
void release(Region* region, uint32_t mark = kDone) noexcept;
int64_t offset_of(const Region* region) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ARENA_ARENA_HPP_
