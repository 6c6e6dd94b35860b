// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/windows.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "interpose/device/context.hpp"
#include "interpose/device/driver.hpp"
#include "interpose/direct/arena/arena.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna::device {
namespace {

using direct::WindowPage;

// Mapped memory of a window, of this rank's or of a peer's.
struct Mapping {
  uint32_t peer = 0;
  uint64_t window = 0;
  Context* user = nullptr;
  uint64_t handle = 0;
  uintptr_t begin = 0;  // 0: it was refused
  int64_t bytes = 0;
  int descriptor = -1;  // of this rank's own window

  bool has(uintptr_t address) const noexcept {
    return begin != 0 && address - begin < static_cast<uintptr_t>(bytes);
  }
};

// The window's first bytes, by which a peer knows that it has mapped what it wanted.
struct Proof {
  direct::Secret secret;
  uint64_t window;
  uint64_t owner;
  bool operator==(const Proof&) const = default;
};
static_assert(sizeof(Proof) <= direct::kFrontBytes);

constinit std::mutex g_windows_mutex;
constinit Mapping g_own;
constinit uint64_t g_last_number = direct::kWanted;

std::vector<Mapping>& mappings() noexcept {  // of peers' windows
  static ForEver<std::vector<Mapping>> all;
  return all.value;
}

// Gives everything back that a mapping has. After a reset of the device the driver may have done so
// before: then it refuses, and nothing is lost.
void unmap(Mapping* mapping) noexcept {
  const SharedMemory& memory = *shared_memory();
  const auto bytes = static_cast<size_t>(mapping->bytes);
  if (mapping->begin != 0) {
    memory.unmap(mapping->begin, bytes);
    memory.unreserve(mapping->begin, bytes);
  }
  if (mapping->handle != 0) memory.release(mapping->handle);
  if (mapping->descriptor >= 0) close(mapping->descriptor);
  mapping->begin = 0;
  mapping->handle = 0;
  mapping->descriptor = -1;
}

// Maps the memory of a handle for the device of a mapping's user.
bool map(Mapping* mapping) noexcept {
  const SharedMemory& memory = *shared_memory();
  const auto bytes = static_cast<size_t>(mapping->bytes);
  const Access access{.location = {.ordinal = mapping->user->ordinal()}};
  uintptr_t begin = 0;
  if (memory.reserve(&begin, bytes, 0, 0, 0) != 0) return false;
  if (memory.map(begin, bytes, 0, mapping->handle, 0) != 0) {
    memory.unreserve(begin, bytes);
    return false;
  }
  mapping->begin = begin;
  return memory.allow(begin, bytes, &access, 1) == 0;
}

Proof proof_of(const Mapping& window) noexcept {
  return {direct::secret(), window.window, window.peer};
}

// As large as the part of the arena that keeps its pages.
bool create(Mapping* own) noexcept {
  const SharedMemory& memory = *shared_memory();
  constexpr int kRecommended = 1;
  const MemoryKind kind{.location = {.ordinal = own->user->ordinal()}};
  size_t unit = 0;
  if (memory.granularity(&unit, &kind, kRecommended) != 0 || unit == 0) return false;
  const auto wanted = static_cast<size_t>(std::min(direct::arena_bytes(), direct::kKeptPagesBytes));
  own->bytes = static_cast<int64_t>((wanted + unit - 1) / unit * unit);
  if (memory.create(&own->handle, static_cast<size_t>(own->bytes), &kind, 0) != 0) return false;
  if (!map(own) || memory.to_descriptor(&own->descriptor, own->handle, kind.handles, 0) != 0)
    return false;
  fcntl(own->descriptor, F_SETFD, FD_CLOEXEC);
  const Proof proof = proof_of(*own);
  return own->user->copy(reinterpret_cast<void*>(own->begin), &proof, sizeof(proof));
}

// What was refused is not tried again in this context.
void make_own_window(Context* user) noexcept {
  WindowPage& page = direct::window_page(direct::own_arena());
  page.number.store(0, std::memory_order_release);
  unmap(&g_own);
  g_own = {.peer = direct::own_index(), .window = ++g_last_number, .user = user};
  const Scope scope(user->handle());
  if (!scope.is_in() || !create(&g_own)) {
    unmap(&g_own);
    return;
  }
  page.bytes = g_own.bytes;
  page.descriptor = g_own.descriptor;
  page.number.store(g_own.window, std::memory_order_release);
}

// A descriptor of another process. Below 0: the system does not allow it.
int take_descriptor(int32_t pid, int descriptor) noexcept {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
  const long process = syscall(SYS_pidfd_open, pid, 0);
  if (process < 0) return -1;
  const long found = syscall(SYS_pidfd_getfd, static_cast<int>(process), descriptor, 0);
  const int error = errno;
  close(static_cast<int>(process));
  errno = error;
  return static_cast<int>(found);
#else
  errno = ENOSYS;
  return -1;
#endif
}

// Whether descriptors of a peer's can be taken: without, it need not make a window. Tried with a
// number that no process has.
bool may_take_descriptors(const direct::Peer& peer) noexcept {
  constexpr int kNone = 0x7FFFFFFF;
  return take_descriptor(peer.pid, kNone) >= 0 || errno == EBADF;
}

// False: this rank cannot map it.
bool import(const direct::Peer& peer, const WindowPage& page, Mapping* mapping) noexcept {
  mapping->bytes = page.bytes;
  const int descriptor = take_descriptor(peer.pid, page.descriptor);
  if (descriptor < 0) return false;
  constexpr int kPosixDescriptor = 1;
  const bool is_there =
      shared_memory()->from_descriptor(&mapping->handle,
                                       reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                       kPosixDescriptor) == 0;
  close(descriptor);
  if (!is_there || !map(mapping)) return false;
  Proof found{};
  return mapping->user->copy(&found, reinterpret_cast<const void*>(mapping->begin),
                             sizeof(found)) &&
         found == proof_of(*mapping);
}

// Logged once.
void log_mapped(bool is_mapped, int32_t rank) noexcept try {
  static constinit std::atomic<bool> is_told[2] = {false, false};
  if (!is_watched(kLogged) || is_told[is_mapped ? 1 : 0].exchange(true)) return;
  const std::string of_rank = "device memory of rank " + std::to_string(rank);
  log_line(is_mapped ? of_rank + " is mapped: data of devices come through it"
                     : of_rank + " cannot be mapped: data of devices come through the host");
} catch (...) {
}

// Tells the peer, too. A refusal is kept like a mapping. Null: no memory.
Mapping* map_peer(uint32_t index, uint64_t window, Context* user) noexcept try {
  const direct::Peer& peer = *direct::peer_at(index);
  const WindowPage& page = direct::window_page(peer.arena.begin);
  std::atomic<uint64_t>& mapped = direct::window_page(direct::own_arena()).mapped[index];
  mappings().push_back({.peer = index, .window = window, .user = user});
  Mapping& mapping = mappings().back();
  const Scope scope(user->handle());
  const bool is_mapped = scope.is_in() && import(peer, page, &mapping);
  if (!is_mapped) unmap(&mapping);
  if (is_mapped && page.number.load(std::memory_order_acquire) == window)
    mapped.store(window, std::memory_order_release);
  else if (mapped.load(std::memory_order_relaxed) == window)
    mapped.store(direct::kWanted, std::memory_order_release);
  log_mapped(is_mapped, peer.rank);
  return &mapping;
} catch (...) {
  return nullptr;
}

// The mapping of a peer's window for a context. Null: there is none. One of a former context with
// the same handle is gone with it.
Mapping* find(uint32_t peer, uint64_t window, const Context* user) noexcept {
  for (Mapping& mapping : mappings()) {
    if (mapping.peer != peer || mapping.window != window) continue;
    if (mapping.user == user) return &mapping;
    if (!user->replaces(*mapping.user)) continue;
    unmap(&mapping);
    mappings().erase(mappings().begin() + (&mapping - mappings().data()));
    return nullptr;
  }
  return nullptr;
}

bool is_mapped_at_all(uint32_t peer, uint64_t window) noexcept {
  return std::ranges::any_of(mappings(), [&](const Mapping& mapping) {
    return mapping.peer == peer && mapping.window == window;
  });
}

uintptr_t address_in(const Mapping* mapping, int64_t offset, int64_t bytes) noexcept {
  return mapping != nullptr && mapping->begin != 0 && offset <= mapping->bytes - bytes
             ? mapping->begin + static_cast<uintptr_t>(offset)
             : 0;
}

}  // namespace

bool are_windows_on() noexcept {
  static const bool is_wanted = option_flag(OptionId::kGpuIpc);
  return is_wanted && shared_memory() != nullptr;
}

WindowPlace place_in_own_window(const std::byte* in_arena, int64_t bytes, const direct::Peer& to,
                                Context* context) noexcept {
  if (direct::own_index() >= direct::kMostCountedPeers) return {};
  const uint64_t mapped = direct::window_page(to.arena.begin)
                              .mapped[direct::own_index()]
                              .load(std::memory_order_acquire);
  if (mapped == 0) return {};
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  if (g_own.user != context) {
    if (g_own.user == nullptr || context->replaces(*g_own.user)) make_own_window(context);
    return {};
  }
  if (mapped != g_own.window) return {};
  const uintptr_t begin = address_in(&g_own, in_arena - direct::own_arena(), bytes);
  if (begin == 0) return {};
  return {reinterpret_cast<std::byte*>(begin), g_own.window};
}

const Context* user_of_window(const std::byte* address) noexcept {
  if (!are_windows_on()) return nullptr;
  const auto at = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  if (g_own.has(at)) return g_own.user;
  for (const Mapping& mapping : mappings())
    if (mapping.has(at)) return mapping.user;
  return nullptr;
}

void meet_window(uint32_t peer, Context* context) noexcept {
  if (peer >= direct::kMostCountedPeers) return;
  const direct::Peer& owner = *direct::peer_at(peer);
  const uint64_t number =
      direct::window_page(owner.arena.begin).number.load(std::memory_order_acquire);
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  if (number != 0) {
    if (find(peer, number, context) == nullptr && !is_mapped_at_all(peer, number))
      map_peer(peer, number, context);
    return;
  }
  std::atomic<uint64_t>& mapped = direct::window_page(direct::own_arena()).mapped[peer];
  if (mapped.load(std::memory_order_relaxed) == 0 && may_take_descriptors(owner))
    mapped.store(direct::kWanted, std::memory_order_release);
}

std::byte* place_in_window(uint32_t peer, uint64_t window, int64_t offset, int64_t bytes,
                           Context* context) noexcept {
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  const Mapping* mapping = find(peer, window, context);
  // After a reset of this rank's device.
  if (mapping == nullptr && !is_mapped_at_all(peer, window))
    mapping = map_peer(peer, window, context);
  return reinterpret_cast<std::byte*>(address_in(mapping, offset, bytes));
}

bool copy_from_window(uint32_t peer, uint64_t window, int64_t offset, int64_t bytes,
                      std::byte* to) noexcept {
  uintptr_t from = 0;
  Context* user = nullptr;
  {
    const std::lock_guard<std::mutex> lock(g_windows_mutex);
    for (const Mapping& mapping : mappings()) {
      if (mapping.peer != peer || mapping.window != window || from != 0) continue;
      from = address_in(&mapping, offset, bytes);
      user = mapping.user;
    }
  }
  return from != 0 && user->copy_to_host(to, reinterpret_cast<const std::byte*>(from), bytes);
}

void close_windows() noexcept {
  if (!are_windows_on()) return;
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  unmap(&g_own);
  for (Mapping& mapping : mappings()) unmap(&mapping);
  mappings().clear();
}

}  // namespace lacuna::device
