// SPDX-License-Identifier: BSD-3-Clause
//
// Arena: the shared memory of a rank, in which it places what it sends. It has no name, so nothing
// is left behind however a job ends; the other ranks of the node open it by /proc/<pid>/fd. Its
// size is fixed (LACUNA_ARENA_MB); pages are the system's until they are used first, and
// short messages use the first ones only, so that those in use stay warm.
#ifndef LACUNA_INTERPOSE_DIRECT_ARENA_HPP_
#define LACUNA_INTERPOSE_DIRECT_ARENA_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/direct/region.hpp"
#include "interpose/next.hpp"

namespace lacuna::direct {

// Makes this process's arena. False: no shared memory, or not as much.
bool make_arena(int64_t bytes) noexcept;
// Its first byte: the seats (room.hpp), a page for the word below, then regions.
std::byte* own_arena() noexcept;
inline constexpr int64_t kSeatBytes = int64_t{4} << 10;
inline constexpr int64_t kFrontBytes = 2 * kSeatBytes;

// Not 0: some peer sends tokens, perhaps to this process. Set in all arenas before a peer's first
// token goes out, so whoever has received one sees it.
struct alignas(kSeatBytes) TokenPage {
  std::atomic<uint32_t> word;
};
inline TokenPage& token_page(std::byte* arena) noexcept {
  return *reinterpret_cast<TokenPage*>(arena + kSeatBytes);
}
// That of this process's arena, at a place that needs no pointer.
LACUNA_HIDDEN extern TokenPage g_token_page;
inline bool may_have_tokens() noexcept {
#if defined(__x86_64__)
  bool found;  // compilers take three instructions to load it, test it and jump
  asm volatile("cmpl $0, %1" : "=@ccne"(found) : "m"(g_token_page.word) : "memory");
  return found;
#else
  return g_token_page.word.load(std::memory_order_acquire) != 0;
#endif
}
// How others open it: /proc/<pid>/fd/<descriptor>.
int arena_descriptor() noexcept;

// Another process's arena, to read payloads from and to mark them done. Null: it cannot be opened
// (another PID namespace, another user, not enough address space).
std::byte* open_arena(int32_t pid, int descriptor, int64_t bytes) noexcept;

// A region of another process's arena is about to be read, the first one that ends behind
// `entered`: its pages, and those that others will soon be in, are entered in this process's tables
// at once. What has been entered then.
int64_t enter_arena(std::byte* arena, int64_t arena_bytes, int64_t entered, int64_t begin,
                    int64_t end) noexcept;

// Room for a payload, to be given back by the receiver's mark or by release(). Null: none, or too
// many are out. Any thread.
Region* reserve(int64_t payload_bytes) noexcept;
void release(Region* region) noexcept;
int64_t offset_of(const Region* region) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ARENA_HPP_
