// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/pinned.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "interpose/device/driver.hpp"
#include "interpose/memory/staging.hpp"

namespace lacuna::device {
namespace {

constexpr int64_t kMostIdle = int64_t{64} << 20;
constexpr int64_t kLeast = int64_t{128} << 10;  // buffers from here on have pages of their own
constexpr unsigned kPortableAndMapped = 3;      // CU_MEMHOSTREGISTER_PORTABLE | _DEVICEMAP

constinit std::mutex g_mutex;
constinit uint64_t g_clock = 0;

std::vector<Pinned*>& all() {
  static auto* const pinned = new std::vector<Pinned*>;  // as long as the process
  return *pinned;
}

bool is_idle(const Pinned& pinned) { return !pinned.is_lent.load(std::memory_order_acquire); }

// The smallest idle one that is large enough and not much larger. Null: none.
Pinned* find_idle(int64_t bytes, const Context* owner) {
  Pinned* best = nullptr;
  for (Pinned* one : all()) {
    if (one->owner != owner || !is_idle(*one)) continue;
    const int64_t capacity = one->buffer.capacity;
    if (capacity < bytes || capacity / 4 > bytes + kLeast) continue;
    if (best == nullptr || capacity < best->buffer.capacity) best = one;
  }
  return best;
}

void unpin(Pinned* pinned) {
  // Memory of a context that is gone is no longer pinned: then this fails, and nothing is lost.
  driver()->unpin(pinned->buffer.data);
  release_buffer(pinned->memory, most_staging_bytes());
  delete pinned;
}

// Gives idle buffers back, those first that were used longest ago, until at most so many bytes are
// left.
void drop_idle(int64_t most) {
  std::vector<Pinned*> idle;
  int64_t bytes = 0;
  for (Pinned* one : all()) {
    if (!is_idle(*one)) continue;
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

Pinned* pin(int64_t bytes, Context* owner) {
  all().reserve(all().size() + 1);
  Buffer* memory = acquire_buffer(bytes, most_staging_bytes());
  if (memory == nullptr) {
    drop_idle(0);
    memory = acquire_buffer(bytes, most_staging_bytes());
  }
  if (memory == nullptr) return nullptr;
  auto* const pinned = new (std::nothrow) Pinned;
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

}  // namespace

Pinned* lend_pinned(int64_t bytes, Context* owner) noexcept try {
  const int64_t wanted = std::max(bytes, kLeast);
  const std::lock_guard<std::mutex> lock(g_mutex);
  Pinned* found = find_idle(wanted, owner);
  if (found == nullptr) {
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

const Pinned* pinned_at(const std::byte* address) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (const Pinned* one : all()) {
    if (at - reinterpret_cast<uintptr_t>(one->buffer.data) <
        static_cast<uintptr_t>(one->buffer.capacity))
      return one;
  }
  return nullptr;
}

}  // namespace lacuna::device
