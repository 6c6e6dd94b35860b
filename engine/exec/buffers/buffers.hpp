// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers for packed data. Page faults of fresh memory cost more than packing into it, so buffers
// return to a pool, with a list for each size; large ones use huge pages if the system has them.
// One pool for the process; any thread may release what another acquired.
#ifndef LACUNA_ENGINE_EXEC_BUFFERS_BUFFERS_HPP_
#define LACUNA_ENGINE_EXEC_BUFFERS_BUFFERS_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna {

struct Buffer {
  std::byte* data = nullptr;
  int64_t capacity = 0;
  int size_class = 0;
  Buffer* next = nullptr;    // in the pool
  void* borrower = nullptr;  // for the holder's use; the pool clears it
};

// A buffer of at least `bytes` > 0, aligned to 64 bytes, from 2 MiB on to 2 MiB. Null if memory was
// refused, or if all buffers, lent and pooled, would exceed `cap_bytes`.
Buffer* acquire_buffer(int64_t bytes, int64_t cap_bytes) noexcept;
// Returns a buffer to the pool. It is freed if all buffers exceed `most_bytes` or it is larger than
// 64 MiB. The pool keeps at most 64 MiB: the buffers that were used last.
void release_buffer(Buffer* buffer, int64_t most_bytes = INT64_MAX) noexcept;

// Bytes of the buffers in the pool.
int64_t idle_buffer_bytes() noexcept;
// Returns those to the system.
void trim_buffers() noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_BUFFERS_BUFFERS_HPP_
