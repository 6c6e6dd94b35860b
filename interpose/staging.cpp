// SPDX-License-Identifier: BSD-3-Clause
//
// The pool: one list of free blocks for each size class, four classes to a doubling. Blocks of 2
// MiB and more are aligned to huge pages and ask for them (on most systems transparent huge pages
// come by request only).
#include "interpose/staging.hpp"

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/options.hpp"

namespace lacuna {
namespace detail {

struct Block {
  std::byte* data = nullptr;
  int64_t capacity = 0;
  int size_class = 0;
  Block* next = nullptr;  // in a free list
  std::atomic<bool>* borrowed =
      nullptr;  // the flag of the thread that owns the block, or nullptr for the pool's
};

}  // namespace detail

namespace {

using detail::Block;

constexpr int64_t kLeast = 4096;
constexpr int64_t kMapped = int64_t{128} << 10;  // from here on blocks come from mmap
constexpr int64_t kHuge = int64_t{2} << 20;
constexpr int64_t kLocal = int64_t{64} << 10;  // what a thread keeps for itself
constexpr int kSteps = 4;                      // classes to a doubling
constexpr int kClasses = 40 * kSteps;

// The least class whose blocks hold `bytes`.
int class_of(int64_t bytes) {
  if (bytes <= kLeast) return 0;
  const int doublings = 63 - std::countl_zero(static_cast<uint64_t>((bytes - 1) / kLeast));
  const int64_t base = kLeast << doublings;
  const int64_t step = base / kSteps;
  return doublings * kSteps + static_cast<int>((bytes - base + step - 1) / step);
}

int64_t capacity_of(int size_class) {
  const int64_t base = kLeast << (size_class / kSteps);
  return base + base / kSteps * (size_class % kSteps);
}

std::byte* map_pages(int64_t bytes) {
  const size_t slack = bytes >= kHuge ? static_cast<size_t>(kHuge) : 0;
  const size_t length = static_cast<size_t>(bytes) + slack;
  void* mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  if (slack == 0) return begin;
  const size_t before = (slack - reinterpret_cast<uintptr_t>(begin) % slack) % slack;
  if (before > 0) munmap(begin, before);
  if (slack - before > 0) munmap(begin + before + bytes, slack - before);
  madvise(begin + before, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return begin + before;
}

std::byte* get_memory(int64_t bytes) {
  if (bytes >= kMapped) return map_pages(bytes);
  return static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(bytes)));
}

void drop_memory(std::byte* data, int64_t bytes) {
  if (bytes >= kMapped) {
    munmap(data, static_cast<size_t>(bytes));
  } else {
    std::free(data);
  }
}

class Pool {
 public:
  Block* borrow(int64_t bytes) noexcept;
  void give_back(Block* block) noexcept;
  void trim() noexcept;

 private:
  void trim_locked() noexcept;

  std::mutex mutex_;
  Block* free_[kClasses] = {};
  int64_t held_ = 0;  // bytes of all blocks, lent or free
};

constinit Pool g_pool;

Block* Pool::borrow(int64_t bytes) noexcept {
  if (bytes > int64_t{1} << 46) return nullptr;
  const int size_class = class_of(bytes);
  const int64_t capacity = capacity_of(size_class);
  const int64_t cap = option_integer(OptionId::kPoolMb) << 20;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Block* block = free_[size_class]) {
      free_[size_class] = block->next;
      return block;
    }
    if (held_ + capacity > cap) trim_locked();
    if (held_ + capacity > cap) return nullptr;
    held_ += capacity;
  }
  Block* block = new (std::nothrow) Block;
  if (block != nullptr) {
    block->data = get_memory(capacity);
    block->capacity = capacity;
    block->size_class = size_class;
    if (block->data != nullptr) return block;
    delete block;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  held_ -= capacity;
  return nullptr;
}

void Pool::give_back(Block* block) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  block->next = free_[block->size_class];
  free_[block->size_class] = block;
}

void Pool::trim_locked() noexcept {
  for (Block*& list : free_) {
    while (Block* block = list) {
      list = block->next;
      held_ -= block->capacity;
      drop_memory(block->data, block->capacity);
      delete block;
    }
  }
}

void Pool::trim() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  trim_locked();
}

// A thread's own block goes back to the pool when the thread ends.
struct Local {
  Block* block = nullptr;
  std::atomic<bool> borrowed{false};
  ~Local() {
    if (block == nullptr || borrowed.load(std::memory_order_acquire)) return;
    block->borrowed = nullptr;
    g_pool.give_back(block);
    block = nullptr;
  }
};
thread_local Local t_local;

Block* borrow_local() noexcept {
  Local& local = t_local;
  if (local.borrowed.load(std::memory_order_acquire)) return nullptr;
  if (local.block == nullptr) {
    local.block = g_pool.borrow(kLocal);
    if (local.block == nullptr) return nullptr;
    local.block->borrowed = &local.borrowed;
  }
  local.borrowed.store(true, std::memory_order_relaxed);
  return local.block;
}

}  // namespace

namespace detail {

void give_back(Block* block) noexcept {
  if (block->borrowed != nullptr) {
    block->borrowed->store(false, std::memory_order_release);
  } else {
    g_pool.give_back(block);
  }
}

}  // namespace detail

std::byte* Staging::data() const noexcept { return block_->data; }

Staging borrow_staging(int64_t bytes, bool blocking) noexcept {
  if (blocking && bytes <= kLocal) {
    if (Block* block = borrow_local()) return Staging(block);
  }
  return Staging(g_pool.borrow(bytes));
}

void trim_staging() noexcept { g_pool.trim(); }

}  // namespace lacuna
