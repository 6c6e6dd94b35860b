// SPDX-License-Identifier: BSD-3-Clause
//
// Pinned memory for packed data: buffers of the pool (memory/staging.hpp) that the driver has
// pinned, so that kernels read and write them and the MPI library sends from them. Pinning takes
// longer than most messages, so a buffer stays pinned, up to 64 MiB of idle ones.
#ifndef LACUNA_INTERPOSE_DEVICE_PINNED_HPP_
#define LACUNA_INTERPOSE_DEVICE_PINNED_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exec/buffers/buffers.hpp"

namespace lacuna::device {

class Context;

// `buffer` is what is lent: its `borrower` is `is_lent`, by which Staging gives it back.
struct Pinned {
  Buffer buffer;
  std::atomic<bool> is_lent{false};
  Buffer* memory = nullptr;  // of the pool, in which it counts
  Context* owner = nullptr;  // the context in which it is pinned
  uint64_t used = 0;         // when it was lent last
};

// At least `bytes` > 0. The owner must be the current context. Null: memory was refused.
Pinned* lend_pinned(int64_t bytes, Context* owner) noexcept;
// The lent memory that an address is in. Null: none.
const Pinned* pinned_at(const std::byte* address) noexcept;

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_PINNED_HPP_
