// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers: memory for packed data on its way. Fresh pages cost more than packing into them, so
// buffers go back to a pool and are kept warm, in lists by size; large ones lie on huge pages where
// the system has them. One pool for the process; any thread may return what another took.
#ifndef LACUNA_ENGINE_EXEC_BUFFERS_HPP_
#define LACUNA_ENGINE_EXEC_BUFFERS_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna {

struct Buffer {
  std::byte* data = nullptr;
  int64_t capacity = 0;
  int size_class = 0;
  Buffer* next = nullptr;    // in the pool
  void* borrower = nullptr;  // for whoever has the buffer; the pool clears it
};

// At least `bytes` > 0, aligned to 64, and to 2 MiB from there on. Null when memory was refused, or
// when all buffers, lent and kept, would take more than `cap_bytes`.
Buffer* acquire_buffer(int64_t bytes, int64_t cap_bytes) noexcept;
// It is kept, unless all buffers take more than `most_bytes`, or it is larger than what is kept at
// most (64 MiB of all that nobody has, those that were used last).
void release_buffer(Buffer* buffer, int64_t most_bytes = INT64_MAX) noexcept;

// Bytes of the buffers that nobody has.
int64_t idle_buffer_bytes() noexcept;
// Returns them to the system.
void trim_buffers() noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_BUFFERS_HPP_
