// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for the packed data that the MPI library sends and receives for a device.
//
// Pinned memory of the host: buffers of the pool (memory/staging.hpp) that the driver has pinned,
// so that kernels read and write them. Any MPI library can use it. Pinning takes longer than most
// messages, so a buffer stays pinned, up to 64 MiB of idle ones.
//
// Memory of the device itself, for MPI libraries that know devices and were measured to be faster
// with it (`lacuna tune --gpu`). At most 128 MiB, which lacuna does not free.
#ifndef LACUNA_INTERPOSE_DEVICE_PACKED_MEMORY_HPP_
#define LACUNA_INTERPOSE_DEVICE_PACKED_MEMORY_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exec/buffers/buffers.hpp"

namespace lacuna::device {

class Context;

enum class Lies : uint8_t { kOnHost, kOnDevice };

// `buffer` is what is lent: its `borrower` is `is_lent`, by which Staging gives it back.
struct PackedMemory {
  Buffer buffer;
  std::atomic<bool> is_lent{false};
  Buffer* memory = nullptr;  // of the pool, in which it counts; null: memory of a device
  Context* owner = nullptr;  // the context in which it is pinned, or was allocated
  uint64_t used = 0;         // when it was lent last

  bool is_on_device() const noexcept { return memory == nullptr; }
};

// At least `bytes` > 0. The owner must be the current context. Null: memory was refused.
PackedMemory* lend_packed_memory(int64_t bytes, Lies where, Context* owner) noexcept;
// The lent memory that an address is in. Null: none.
const PackedMemory* packed_memory_at(const std::byte* address) noexcept;

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_PACKED_MEMORY_HPP_
