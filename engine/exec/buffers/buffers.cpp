// SPDX-License-Identifier: BSD-3-Clause
//
// The pool: one list of free buffers for each size class, four classes to a doubling. Buffers of 2
// MiB and more are aligned to huge pages and ask for them, as most systems give transparent huge
// pages on request only. The buffers that were used last stay, so that messages that repeat find
// theirs; a single large message does not keep its memory for ever.
#include "exec/buffers/buffers.hpp"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

namespace lacuna {
namespace {

constexpr int64_t kLeast = 4096;
constexpr int64_t kMapped = int64_t{128} << 10;  // from here on buffers come from mmap
constexpr int64_t kHuge = int64_t{2} << 20;
// The most bytes of free buffers: more than a program's messages take together, as a rule. Of the
// time of packing a larger message, fresh pages are a small part.
constexpr int64_t kMostIdle = int64_t{64} << 20;
constexpr int kSteps = 4;  // classes to a doubling
constexpr int kClasses = 40 * kSteps;

// The smallest class whose buffers hold `bytes`.
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
  Buffer* acquire(int64_t bytes, int64_t cap_bytes) noexcept;
  void release(Buffer* buffer, int64_t most_bytes) noexcept;
  void trim() noexcept;
  int64_t idle() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    return idle_;
  }

 private:
  void trim_locked() noexcept;
  void drop_locked(Buffer* buffer) noexcept;

  std::mutex mutex_;
  Buffer* free_[kClasses] = {};
  int64_t held_ = 0;  // bytes of all buffers, lent or free
  int64_t idle_ = 0;  // of those that are free
};

constinit Pool g_pool;

Buffer* Pool::acquire(int64_t bytes, int64_t cap_bytes) noexcept {
  if (bytes > int64_t{1} << 46) return nullptr;
  const int size_class = class_of(bytes);
  const int64_t capacity = capacity_of(size_class);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Buffer* buffer = free_[size_class]) {
      free_[size_class] = buffer->next;
      idle_ -= buffer->capacity;
      return buffer;
    }
    if (held_ + capacity > cap_bytes) trim_locked();
    if (held_ + capacity > cap_bytes) return nullptr;
    held_ += capacity;
  }
  Buffer* buffer = new (std::nothrow) Buffer;
  if (buffer != nullptr) {
    buffer->data = get_memory(capacity);
    buffer->capacity = capacity;
    buffer->size_class = size_class;
    if (buffer->data != nullptr) return buffer;
    delete buffer;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  held_ -= capacity;
  return nullptr;
}

void Pool::release(Buffer* buffer, int64_t most_bytes) noexcept {
  buffer->borrower = nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (held_ > most_bytes || buffer->capacity > kMostIdle) {
    drop_locked(buffer);
    return;
  }
  if (idle_ + buffer->capacity > kMostIdle) trim_locked();
  idle_ += buffer->capacity;
  buffer->next = free_[buffer->size_class];
  free_[buffer->size_class] = buffer;
}

void Pool::drop_locked(Buffer* buffer) noexcept {
  held_ -= buffer->capacity;
  drop_memory(buffer->data, buffer->capacity);
  delete buffer;
}

void Pool::trim_locked() noexcept {
  for (Buffer*& list : free_) {
    while (Buffer* buffer = list) {
      list = buffer->next;
      drop_locked(buffer);
    }
  }
  idle_ = 0;
}

void Pool::trim() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  trim_locked();
}

}  // namespace

Buffer* acquire_buffer(int64_t bytes, int64_t cap_bytes) noexcept {
  return g_pool.acquire(bytes, cap_bytes);
}

void release_buffer(Buffer* buffer, int64_t most_bytes) noexcept {
  g_pool.release(buffer, most_bytes);
}

int64_t idle_buffer_bytes() noexcept { return g_pool.idle(); }

void trim_buffers() noexcept { g_pool.trim(); }

}  // namespace lacuna
