// SPDX-License-Identifier: BSD-3-Clause
//
// LendBuffer: the buffer for a lent piece that is neither one run in memory nor inside one group.
// Packing: the range was packed into it. Unpacking: the bytes before the stream's position have
// arrived, and are unpacked with the rest.
#ifndef LACUNA_ENGINE_EXEC_STREAM_LEND_BUFFER_HPP_
#define LACUNA_ENGINE_EXEC_STREAM_LEND_BUFFER_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "exec/buffers/buffers.hpp"

namespace lacuna {

class LendBuffer {
 public:
  LendBuffer() = default;
  ~LendBuffer() {
    if (buffer_ != nullptr) release_buffer(buffer_);
  }
  LendBuffer(const LendBuffer&) = delete;
  LendBuffer& operator=(const LendBuffer&) = delete;

  // Makes the buffer hold `bytes`; false: no memory (acquire_buffer). Its contents are lost.
  bool reserve(int64_t bytes, int64_t cap_bytes) noexcept {
    if (buffer_ != nullptr && buffer_->capacity >= bytes) return true;
    Buffer* const larger = acquire_buffer(std::max<int64_t>(bytes, 1), cap_bytes);
    if (larger == nullptr) return false;
    if (buffer_ != nullptr) release_buffer(buffer_);
    buffer_ = larger;
    return true;
  }
  void open(int64_t begin, int64_t end) {
    begin_ = begin;
    end_ = end;
  }
  void close() { end_ = begin_; }

  bool holds(int64_t at, int64_t bytes) const {
    return begin_ < end_ && at >= begin_ && at + bytes <= end_;
  }
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  std::byte* place(int64_t at) const { return buffer_->data + (at - begin_); }
  std::byte* data() const { return buffer_->data; }

 private:
  Buffer* buffer_ = nullptr;
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_STREAM_LEND_BUFFER_HPP_
