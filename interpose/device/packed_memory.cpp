// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/packed_memory.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "interpose/device/context.hpp"
#include "interpose/device/driver.hpp"
#include "interpose/memory/staging.hpp"

namespace lacuna::device {
namespace {

constexpr int64_t kMostIdle = int64_t{64} << 20;  // of pinned memory
constexpr int64_t kMostOnDevices = int64_t{128} << 20;
constexpr int64_t kLeast = int64_t{128} << 10;  // buffers from here on have pages of their own
constexpr unsigned kPortableAndMapped = 3;      // CU_MEMHOSTREGISTER_PORTABLE | _DEVICEMAP

constinit std::mutex g_mutex;
constinit uint64_t g_clock = 0;
constinit int64_t g_on_devices = 0;  // bytes

std::vector<PackedMemory*>& all() noexcept {
  static ForEver<std::vector<PackedMemory*>> memory;
  return memory.value;
}

bool is_idle(const PackedMemory& memory) { return !memory.is_lent.load(std::memory_order_acquire); }

// The smallest idle one that is large enough and not much larger. Null: none.
PackedMemory* find_idle(int64_t bytes, Lies where, const Context* owner) {
  PackedMemory* best = nullptr;
  for (PackedMemory* one : all()) {
    if (one->owner != owner || one->is_on_device() != (where == Lies::kOnDevice) || !is_idle(*one))
      continue;
    const int64_t capacity = one->buffer.capacity;
    if (capacity < bytes || capacity / 4 > bytes + kLeast) continue;
    if (best == nullptr || capacity < best->buffer.capacity) best = one;
  }
  return best;
}

void unpin(PackedMemory* pinned) {
  // Memory of a context that is gone is no longer pinned: then this fails, and nothing is lost.
  driver()->unpin(pinned->buffer.data);
  release_buffer(pinned->memory, most_staging_bytes());
  delete pinned;
}

// Gives idle pinned buffers back, those first that were used longest ago, until at most so many
// bytes are left.
void drop_idle(int64_t most) {
  std::vector<PackedMemory*> idle;
  int64_t bytes = 0;
  for (PackedMemory* one : all()) {
    if (one->is_on_device() || !is_idle(*one)) continue;
    idle.push_back(one);
    bytes += one->buffer.capacity;
  }
  std::sort(idle.begin(), idle.end(), [](auto* a, auto* b) { return a->used < b->used; });
  for (size_t i = 0; i < idle.size() && bytes > most; ++i) {
    bytes -= idle[i]->buffer.capacity;
    std::erase(all(), idle[i]);
    unpin(idle[i]);
  }
}

PackedMemory* pin(int64_t bytes, Context* owner) {
  all().reserve(all().size() + 1);
  Buffer* memory = acquire_buffer(bytes, most_staging_bytes());
  if (memory == nullptr) {
    drop_idle(0);
    memory = acquire_buffer(bytes, most_staging_bytes());
  }
  if (memory == nullptr) return nullptr;
  auto* const pinned = new (std::nothrow) PackedMemory;
  uintptr_t there = 0;
  const bool is_pinned =
      pinned != nullptr &&
      driver()->pin(memory->data, static_cast<size_t>(memory->capacity), kPortableAndMapped) == 0;
  if (is_pinned && driver()->device_address(&there, memory->data, 0) == 0 &&
      there == reinterpret_cast<uintptr_t>(memory->data)) {
    pinned->buffer = {memory->data, memory->capacity, 0, nullptr, &pinned->is_lent};
    pinned->memory = memory;
    pinned->owner = owner;
    all().push_back(pinned);
    return pinned;
  }
  if (is_pinned) driver()->unpin(memory->data);
  release_buffer(memory, most_staging_bytes());
  delete pinned;
  return nullptr;
}

// What a former context of the same handle had is gone with it. What is still lent stays known, so
// that nobody takes it for the host's.
void forget_former(const Context& owner) {
  std::erase_if(all(), [&](const PackedMemory* one) {
    if (!one->is_on_device() || !is_idle(*one) || !owner.replaces(*one->owner)) return false;
    g_on_devices -= one->buffer.capacity;
    delete one;
    return true;
  });
}

// Powers of two, so that few sizes are kept.
PackedMemory* allocate_on_device(int64_t bytes, Context* owner) {
  forget_former(*owner);
  if (bytes > kMostOnDevices) return nullptr;
  const auto capacity = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)));
  if (g_on_devices + capacity > kMostOnDevices) return nullptr;
  all().reserve(all().size() + 1);
  uintptr_t begin = 0;
  if (driver()->allocate(&begin, static_cast<size_t>(capacity)) != 0) return nullptr;
  auto* const made = new (std::nothrow) PackedMemory;
  if (made == nullptr) return nullptr;
  made->buffer = {reinterpret_cast<std::byte*>(begin), capacity, 0, nullptr, &made->is_lent};
  made->owner = owner;
  g_on_devices += capacity;
  all().push_back(made);
  return made;
}

}  // namespace

PackedMemory* lend_packed_memory(int64_t bytes, Lies where, Context* owner) noexcept try {
  const int64_t wanted = std::max(bytes, kLeast);
  const std::lock_guard<std::mutex> lock(g_mutex);
  PackedMemory* found = find_idle(wanted, where, owner);
  if (found == nullptr && where == Lies::kOnDevice) {
    found = allocate_on_device(wanted, owner);
  } else if (found == nullptr) {
    drop_idle(kMostIdle);
    found = pin(wanted, owner);
  }
  if (found == nullptr) return nullptr;
  found->is_lent.store(true, std::memory_order_relaxed);
  found->used = ++g_clock;
  return found;
} catch (...) {
  return nullptr;
}

const PackedMemory* packed_memory_at(const std::byte* address) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (const PackedMemory* one : all()) {
    if (is_idle(*one)) continue;  // after a reset the program may have memory there
    if (at - reinterpret_cast<uintptr_t>(one->buffer.data) <
        static_cast<uintptr_t>(one->buffer.capacity))
      return one;
  }
  return nullptr;
}

}  // namespace lacuna::device
