// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/windows.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "interpose/device/context.hpp"
#include "interpose/device/descriptor.hpp"
#include "interpose/device/driver.hpp"
#include "interpose/direct/arena/arena.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna::device {
namespace {

using direct::WindowPage;

// Mapped memory of a window, of this rank's or of a peer's. The descriptor stays, so that it can be
// mapped again for another context when its user is gone.
struct Mapping {
  uint32_t peer = 0;
  uint64_t window = 0;
  Context* user = nullptr;
  uintptr_t begin = 0;  // 0: it was refused
  int64_t bytes = 0;
  Descriptor descriptor{};

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
constinit int g_inside = 0;  // threads that are moving payloads of windows

std::vector<Mapping>& mappings() noexcept {  // of peers' windows
  static ForEver<std::vector<Mapping>> all;
  return all.value;
}

// After a reset of the device the driver may have done so before: then it refuses, and nothing is
// lost.
void unmap(Mapping* mapping) noexcept {
  if (mapping->begin == 0) return;
  const auto bytes = static_cast<size_t>(mapping->bytes);
  shared_memory()->unmap(mapping->begin, bytes);
  shared_memory()->unreserve(mapping->begin, bytes);
  mapping->begin = 0;
}

void give_back(Mapping* mapping) noexcept {
  unmap(mapping);
  mapping->descriptor.drop();
}

// Maps memory for the device of a mapping's user. Ends with the handle: the mapping keeps the
// memory.
bool map(Mapping* mapping, uint64_t handle) noexcept {
  const SharedMemory& memory = *shared_memory();
  const auto bytes = static_cast<size_t>(mapping->bytes);
  const Access access{.location = {.ordinal = mapping->user->ordinal()}};
  uintptr_t begin = 0;
  bool is_mapped = memory.reserve(&begin, bytes, 0, 0, 0) == 0;
  if (is_mapped && memory.map(begin, bytes, 0, handle, 0) != 0) {
    memory.unreserve(begin, bytes);
    is_mapped = false;
  }
  memory.release(handle);
  if (is_mapped) mapping->begin = begin;
  return is_mapped && memory.allow(begin, bytes, &access, 1) == 0;
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
  uint64_t handle = 0;
  if (memory.create(&handle, static_cast<size_t>(own->bytes), &kind, 0) != 0) return false;
  int descriptor = -1;
  if (memory.to_descriptor(&descriptor, handle, kind.handles, 0) == 0)
    own->descriptor.take(descriptor);
  if (!map(own, handle) || !own->descriptor) return false;
  const Proof proof = proof_of(*own);
  return own->user->copy(reinterpret_cast<void*>(own->begin), &proof, sizeof(proof));
}

// What was refused is not tried again in this context.
void make_own_window(Context* user) noexcept {
  WindowPage& page = direct::window_page(direct::own_arena());
  page.number.store(0, std::memory_order_release);
  const Scope scope(*user);
  give_back(&g_own);
  g_own = {.peer = direct::own_index(), .window = ++g_last_number, .user = user};
  if (!scope.is_in() || !create(&g_own)) {
    give_back(&g_own);
    return;
  }
  page.bytes = g_own.bytes;
  page.descriptor = g_own.descriptor.number();
  page.device.store(user->device(), std::memory_order_relaxed);
  page.number.store(g_own.window, std::memory_order_release);
}

// False: this rank cannot map it.
bool map_by_descriptor(Mapping* mapping) noexcept {
  const auto number = static_cast<intptr_t>(mapping->descriptor.number());
  constexpr int kPosixDescriptor = 1;
  uint64_t handle = 0;
  const Scope scope(*mapping->user);
  Proof found{};
  return scope.is_in() && mapping->descriptor &&
         shared_memory()->from_descriptor(&handle, reinterpret_cast<void*>(number),
                                          kPosixDescriptor) == 0 &&
         map(mapping, handle) &&
         mapping->user->copy(&found, reinterpret_cast<const void*>(mapping->begin),
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

// Whether the peer may use its window for this rank.
void tell_peer(const Mapping& mapping, bool is_mapped) noexcept {
  const direct::Peer& peer = *direct::peer_at(mapping.peer);
  std::atomic<uint64_t>& mapped = direct::window_page(direct::own_arena()).mapped[mapping.peer];
  const uint64_t now = direct::window_page(peer.arena.begin).number.load(std::memory_order_acquire);
  if (is_mapped && now == mapping.window)
    mapped.store(mapping.window, std::memory_order_release);
  else if (!is_mapped && mapped.load(std::memory_order_relaxed) == mapping.window)
    mapped.store(direct::kWanted, std::memory_order_release);
  log_mapped(is_mapped, peer.rank);
}

// A refusal is kept like a mapping. Null: no memory.
Mapping* map_peer(uint32_t index, uint64_t window, Context* user) noexcept try {
  const direct::Peer& peer = *direct::peer_at(index);
  const WindowPage& page = direct::window_page(peer.arena.begin);
  mappings().push_back({.peer = index, .window = window, .user = user});
  Mapping& mapping = mappings().back();
  mapping.bytes = page.bytes;
  mapping.descriptor.take_from(peer.pid, page.descriptor);
  const bool is_mapped = map_by_descriptor(&mapping);
  if (!is_mapped) give_back(&mapping);
  tell_peer(mapping, is_mapped);
  return &mapping;
} catch (...) {
  return nullptr;
}

// For another context, as the former user is gone, or could not map it.
void map_again(Mapping* mapping, Context* user) noexcept {
  {
    const Scope scope(*user);
    unmap(mapping);
  }
  mapping->user = user;
  const bool is_mapped = map_by_descriptor(mapping);
  if (!is_mapped) unmap(mapping);
  tell_peer(*mapping, is_mapped);
}

Mapping* find(uint32_t peer, uint64_t window) noexcept {
  for (Mapping& mapping : mappings())
    if (mapping.peer == peer && mapping.window == window) return &mapping;
  return nullptr;
}

// The mapping of a peer's window, made if there is none. Its user is this context, or another one
// that still exists. Null: no memory.
Mapping* need(uint32_t peer, uint64_t window, Context* user) noexcept {
  Mapping* const found = find(peer, window);
  if (found == nullptr) return map_peer(peer, window, user);
  if (found->user == user || found->user->is_alive()) return found;
  if (found->descriptor) {
    map_again(found, user);
    return found;
  }
  mappings().erase(mappings().begin() + (found - mappings().data()));
  return map_peer(peer, window, user);
}

uintptr_t address_in(const Mapping* mapping, int64_t offset, int64_t bytes) noexcept {
  return mapping != nullptr && mapping->begin != 0 && offset <= mapping->bytes - bytes
             ? mapping->begin + static_cast<uintptr_t>(offset)
             : 0;
}

// Contexts that windows are read by where the program has none. They stay until nobody is moving
// payloads: else each piece of a collective would make one.
std::vector<std::unique_ptr<SomeContext>>& borrowed_contexts() noexcept {
  static ForEver<std::vector<std::unique_ptr<SomeContext>>> all;
  return all.value;
}

// Null: there is none.
Context* borrow_context(int ordinal) noexcept try {
  borrowed_contexts().push_back(std::make_unique<SomeContext>(ordinal));
  return borrowed_contexts().back()->get();
} catch (...) {
  return nullptr;
}

// Between ranks of one device, or all of them.
enum class Between : uint8_t { kNone, kOneDevice, kDevices };

Between between() noexcept {
  static const Between wanted = [] {
    bool flag = false;
    if (!detail::read_flag(option_text(OptionId::kGpuIpc), &flag)) return Between::kOneDevice;
    return flag ? Between::kDevices : Between::kNone;
  }();
  return wanted;
}

// Where the kernels of two ranks take turns on a device, a copy between the host and the device
// needs no turn. So data without gaps go through the host there
// (docs/experiments/2026-11-29-gpu-windows.md).
bool is_faster(const Context& context, uint64_t other_device, bool is_run) noexcept {
  const bool is_shared = context.device() != 0 && context.device() == other_device;
  return is_shared ? !is_run || context.runs_several() : between() == Between::kDevices;
}

}  // namespace

bool are_windows_on() noexcept { return between() != Between::kNone && shared_memory() != nullptr; }

WindowPlace place_in_own_window(const std::byte* in_arena, int64_t bytes, const direct::Peer& to,
                                Context* context, bool is_run) noexcept {
  if (direct::own_index() >= direct::kMostCountedPeers) return {};
  const WindowPage& theirs = direct::window_page(to.arena.begin);
  const uint64_t mapped = theirs.mapped[direct::own_index()].load(std::memory_order_acquire);
  const uint64_t device = theirs.device.load(std::memory_order_relaxed);
  if (mapped == 0 || !is_faster(*context, device, is_run)) return {};
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  if (g_own.user != context) {
    if (g_own.user == nullptr || !g_own.user->is_alive()) make_own_window(context);
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
  const WindowPage& theirs = direct::window_page(owner.arena.begin);
  const uint64_t number = theirs.number.load(std::memory_order_acquire);
  const uint64_t device = theirs.device.load(std::memory_order_relaxed);
  WindowPage& mine = direct::window_page(direct::own_arena());
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  mine.device.store(context->device(), std::memory_order_relaxed);
  if (device != 0 && !is_faster(*context, device, false)) return;
  if (number != 0) {
    need(peer, number, context);
    return;
  }
  std::atomic<uint64_t>& mapped = mine.mapped[peer];
  if (mapped.load(std::memory_order_relaxed) == 0 && may_take_from(owner.pid))
    mapped.store(direct::kWanted, std::memory_order_release);
}

std::byte* place_in_window(uint32_t peer, uint64_t window, int64_t offset, int64_t bytes,
                           Context* context) noexcept {
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  const Mapping* const mapping = need(peer, window, context);
  if (mapping == nullptr || mapping->user != context) return nullptr;
  return reinterpret_cast<std::byte*>(address_in(mapping, offset, bytes));
}

bool copy_from_window(uint32_t peer, uint64_t window, int64_t offset, int64_t bytes,
                      std::byte* to) noexcept {
  uintptr_t from = 0;
  Context* user = nullptr;
  {
    const std::lock_guard<std::mutex> lock(g_windows_mutex);
    Mapping* const mapping = find(peer, window);
    if (mapping == nullptr) return false;
    if (mapping->begin == 0 || !mapping->user->is_alive()) {
      Context* const some = borrow_context(mapping->user->ordinal());
      if (some == nullptr) return false;
      map_again(mapping, some);
    }
    from = address_in(mapping, offset, bytes);
    user = mapping->user;
  }
  return from != 0 && user->copy_to_host(to, reinterpret_cast<const std::byte*>(from), bytes);
}

WindowUse::WindowUse() noexcept {
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  ++g_inside;
}

WindowUse::~WindowUse() {
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  if (--g_inside > 0) return;
  borrowed_contexts().clear();
  if (mappings().size() < 2) return;
  std::erase_if(mappings(), [](Mapping& mapping) {
    const direct::Peer& owner = *direct::peer_at(mapping.peer);
    const uint64_t now =
        direct::window_page(owner.arena.begin).number.load(std::memory_order_acquire);
    if (mapping.window == now || !direct::all_tokens_arrived(owner)) return false;
    give_back(&mapping);
    return true;
  });
}

void close_windows() noexcept {
  if (!are_windows_on()) return;
  const std::lock_guard<std::mutex> lock(g_windows_mutex);
  if (g_own.window != 0)
    direct::window_page(direct::own_arena()).number.store(0, std::memory_order_release);
  give_back(&g_own);
  for (Mapping& mapping : mappings()) give_back(&mapping);
  mappings().clear();
}

}  // namespace lacuna::device
