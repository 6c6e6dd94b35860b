// SPDX-License-Identifier: BSD-3-Clause
//
// Arenas of the direct path (direct/arena/arena.hpp) that CUDA's driver has pinned, so that a
// device reads and writes payloads in them by itself.
//
// Pinning allocates pages. So only the front of an arena is pinned, in steps, as far as the regions
// with data of a device reach: 4, 16, then 64 MiB. Regions behind that are never pinned, because
// their pages are freed with them.
#ifndef LACUNA_INTERPOSE_DEVICE_ARENAS_HPP_
#define LACUNA_INTERPOSE_DEVICE_ARENAS_HPP_

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <utility>

namespace lacuna::device {

class Context;

// While it is there, the memory that it was made for stays pinned. Empty: a device cannot reach it.
class ArenaUse {
 public:
  ArenaUse() = default;
  explicit ArenaUse(std::shared_lock<std::shared_mutex> lock) : lock_(std::move(lock)) {}
  explicit operator bool() const { return lock_.owns_lock(); }

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

// Whether this is memory of an arena, of this rank's or of a peer's.
bool is_in_arena(const std::byte* memory) noexcept;
// Lets the devices of a context use memory of an arena; pins it if it is not. The context must be
// the current one. Empty: the driver has refused it, it lies too far behind, or another context
// uses the arena.
ArenaUse use_arena(const std::byte* memory, int64_t bytes, Context* context) noexcept;
// Ends the pinning of all arenas. For MPI_Finalize.
void unpin_arenas() noexcept;

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_ARENAS_HPP_
