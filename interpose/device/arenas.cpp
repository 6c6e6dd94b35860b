// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/arenas.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <string>

#include "interpose/device/context.hpp"
#include "interpose/device/driver.hpp"
#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna::device {
namespace {

// A pinned range cannot grow, and a copy must not leave it. So the front of an arena is one range,
// which is pinned again in the next size when more is needed.
constexpr int64_t kSizes[] = {int64_t{4} << 20, int64_t{16} << 20, direct::kKeptPagesBytes};
constexpr int64_t kNothing = std::numeric_limits<int64_t>::max();

struct Arena {
  std::byte* begin = nullptr;
  int64_t bytes = 0;
  const direct::OpenArena* peers = nullptr;  // null: this rank's own
  std::shared_mutex mutex;                   // shared while a device uses the arena
  int64_t pinned = 0;                        // bytes from the beginning
  int64_t refused = kNothing;                // so many bytes were refused
  Context* owner = nullptr;                  // for which they are pinned, or were refused
};

struct Arenas {
  Arena* first = nullptr;
  size_t count = 0;
};

Arenas list_arenas() noexcept {
  const std::span<const direct::Peer> peers = direct::peers();
  auto* const all = new (std::nothrow) Arena[peers.size()];
  if (all == nullptr) return {};
  for (size_t i = 0; i < peers.size(); ++i) {
    const bool is_own = i == direct::own_index();
    all[i].begin = is_own ? direct::own_arena() : peers[i].arena.begin;
    all[i].bytes = is_own ? direct::arena_bytes() : peers[i].arena.bytes;
    all[i].peers = is_own ? nullptr : &peers[i].arena;
  }
  return {all, peers.size()};
}

constinit std::atomic<bool> g_any_pinned{false};

// As long as the process, like the mappings.
std::span<Arena> arenas() noexcept {
  if (direct::own_arena() == nullptr) return {};
  static const Arenas all = list_arenas();
  return {all.first, all.count};
}

Arena* arena_at(const std::byte* memory) noexcept {
  for (Arena& arena : arenas()) {
    if (reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(arena.begin) <
        static_cast<uintptr_t>(arena.bytes))
      return &arena;
  }
  return nullptr;
}

// The smallest size that has the first `end` bytes. 0: none.
int64_t size_for(int64_t end, const Arena& arena) noexcept {
  for (const int64_t size : kSizes) {
    if (end <= std::min(size, arena.bytes)) return std::min(size, arena.bytes);
  }
  return 0;
}

// Logged once. Other refusals have the same effect.
void log_refusal(int64_t bytes) noexcept {
  static constinit std::atomic<bool> is_told{false};
  if (!is_watched(kLogged) || is_told.exchange(true)) return;
  try {
    log_line("the driver or the system refuses to pin " + std::to_string(bytes >> 20) +
             " MiB of shared memory: data on devices do not go through shared memory there");
  } catch (...) {
  }
}

bool pin_front(Arena* arena, int64_t bytes) noexcept {
  constexpr unsigned kPortableAndMapped = 3;  // CU_MEMHOSTREGISTER_PORTABLE | _DEVICEMAP
  const bool is_there = arena->peers != nullptr ? direct::populate(*arena->peers, bytes)
                                                : direct::populate_own(bytes);
  if (!is_there || driver()->pin(arena->begin, static_cast<size_t>(bytes), kPortableAndMapped) != 0)
    return false;
  uintptr_t there = 0;
  if (driver()->device_address(&there, arena->begin, 0) == 0 &&
      there == reinterpret_cast<uintptr_t>(arena->begin)) {
    arena->pinned = bytes;
    g_any_pinned.store(true, std::memory_order_relaxed);
    return true;
  }
  driver()->unpin(arena->begin);
  return false;
}

// Ends what a former context of the same handle has left: the driver may have ended it before.
bool take_over(Arena* arena, Context* context) noexcept {
  if (arena->owner == context) return true;
  if (arena->owner != nullptr) {
    if (!context->replaces(*arena->owner)) return false;
    if (arena->pinned > 0) driver()->unpin(arena->begin);
  }
  arena->owner = context;
  arena->pinned = 0;
  arena->refused = kNothing;
  return true;
}

bool pin(Arena* arena, int64_t end, Context* context) noexcept {
  const std::unique_lock<std::shared_mutex> lock(arena->mutex);
  if (!take_over(arena, context)) return false;
  if (arena->pinned >= end) return true;
  const int64_t size = size_for(end, *arena);
  if (size == 0 || size >= arena->refused) return false;
  const int64_t before = arena->pinned;
  if (before > 0) driver()->unpin(arena->begin);
  arena->pinned = 0;
  if (pin_front(arena, size)) return true;
  arena->refused = size;
  log_refusal(size);
  if (before > 0 && !pin_front(arena, before)) arena->refused = 0;
  return false;
}

}  // namespace

bool is_in_arena(const std::byte* memory) noexcept { return arena_at(memory) != nullptr; }

ArenaUse use_arena(const std::byte* memory, int64_t bytes, Context* context) noexcept {
  Arena* const arena = arena_at(memory);
  if (arena == nullptr) return ArenaUse();
  const int64_t end = memory - arena->begin + bytes;
  const auto use = [&] {
    std::shared_lock<std::shared_mutex> lock(arena->mutex);
    return arena->owner == context && arena->pinned >= end
               ? ArenaUse(std::move(lock), arena->begin, arena->bytes, arena->pinned)
               : ArenaUse();
  };
  ArenaUse used = use();
  return used || !pin(arena, end, context) ? std::move(used) : use();
}

// In the program's current context, if it has one: whether lacuna's still exists is not known. What
// the driver refuses here stays pinned, and the arenas stay mapped, until the process ends.
void unpin_arenas() noexcept {
  if (!g_any_pinned.exchange(false, std::memory_order_relaxed)) return;
  for (Arena& arena : arenas()) {
    const std::unique_lock<std::shared_mutex> lock(arena.mutex);
    if (arena.pinned > 0) driver()->unpin(arena.begin);
    arena.pinned = 0;
    arena.owner = nullptr;
  }
}

}  // namespace lacuna::device
