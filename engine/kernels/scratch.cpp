// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/scratch.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

#include "base/hash.hpp"

namespace lacuna {
namespace {

static_assert(kScratchBuffers == 64);  // one bit each

struct alignas(4096) Buffer {
  std::byte data[kScratchBytes];
};
constinit Buffer g_buffers[kScratchBuffers] = {};
constinit std::atomic<uint64_t> g_free{~uint64_t{0}};

// Threads' stacks are far from each other, so the address of a local variable tells threads apart.
int first_choice() noexcept {
  const char here = 0;
  return static_cast<int>(hash_slot(reinterpret_cast<uintptr_t>(&here) >> 16, 6));
}

}  // namespace

Scratch::Scratch() noexcept {
  const int first = first_choice();
  uint64_t free = g_free.load(std::memory_order_relaxed);
  while (free != 0) {
    const int index = (std::countr_zero(std::rotr(free, first)) + first) % kScratchBuffers;
    const uint64_t bit = uint64_t{1} << index;
    if (!g_free.compare_exchange_weak(free, free & ~bit, std::memory_order_acquire,
                                      std::memory_order_relaxed))
      continue;
    index_ = index;
    data_ = g_buffers[index].data;
    return;
  }
}

Scratch::~Scratch() {
  if (index_ >= 0) g_free.fetch_or(uint64_t{1} << index_, std::memory_order_release);
}

}  // namespace lacuna
