// SPDX-License-Identifier: BSD-3-Clause
//
// SlotPool: slots of one size, cut from few buffers of the pool. Many slots in a buffer lie on huge
// pages; each in a buffer of its own, they would take as many TLB entries as the matrix that is
// packed into them.
#ifndef LACUNA_ENGINE_EXEC_BUFFERS_SLOT_POOL_HPP_
#define LACUNA_ENGINE_EXEC_BUFFERS_SLOT_POOL_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "exec/buffers/buffers.hpp"

namespace lacuna {

class SlotPool {
 public:
  // `cap_bytes` as for acquire_buffer.
  SlotPool(int64_t each_bytes, int64_t cap_bytes)
      : each_bytes_(each_bytes), cap_bytes_(cap_bytes) {}
  ~SlotPool() { clear(); }
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  int64_t each_bytes() const { return each_bytes_; }
  // Changes the size of slots; no slot may be in use.
  void resize(int64_t each_bytes) noexcept {
    clear();
    each_bytes_ = each_bytes;
  }
  // The slot that was given back last, or a new one; `wanted` >= 1 slots, this one included, are
  // likely to be needed. Null: no memory.
  std::byte* take(int64_t wanted) noexcept {
    if (free_.empty() && !grow(std::clamp<int64_t>(kBufferBytes / each_bytes_, 1, wanted)))
      return nullptr;
    std::byte* const place = free_.back();
    free_.pop_back();
    return place;
  }
  // Returns a slot; its bytes stay until it is taken again.
  void give(std::byte* place) noexcept { free_.push_back(place); }  // there is room for all

 private:
  static constexpr int64_t kBufferBytes = 4 << 20;

  void clear() noexcept {
    for (Buffer* const buffer : buffers_) release_buffer(buffer);
    buffers_.clear();
    free_.clear();
    taken_ = 0;
  }

  bool grow(int64_t count) noexcept {
    Buffer* buffer = nullptr;
    try {
      buffers_.reserve(buffers_.size() + 1);
      free_.reserve(static_cast<size_t>(taken_ + count));
      buffer = acquire_buffer(count * each_bytes_, cap_bytes_);
    } catch (const std::bad_alloc&) {
    }
    if (buffer == nullptr) return false;
    buffers_.push_back(buffer);
    taken_ += count;
    while (count-- > 0) free_.push_back(buffer->data + count * each_bytes_);
    return true;
  }

  int64_t each_bytes_;
  int64_t cap_bytes_;
  int64_t taken_ = 0;  // slots in buffers_
  std::vector<Buffer*> buffers_;
  std::vector<std::byte*> free_;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_BUFFERS_SLOT_POOL_HPP_
