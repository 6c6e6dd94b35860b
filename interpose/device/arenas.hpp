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
  // Of an arena of `bytes`, the first `pinned` of which are pinned.
  ArenaUse(std::shared_lock<std::shared_mutex> lock, const std::byte* arena, int64_t bytes,
           int64_t pinned)
      : lock_(std::move(lock)), arena_(arena), bytes_(bytes), pinned_(pinned) {}
  explicit operator bool() const { return lock_.owns_lock(); }
  // Whether memory is of this arena, and whether all of it is pinned.
  bool has(const std::byte* memory) const noexcept {
    return reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(arena_) <
           static_cast<uintptr_t>(bytes_);
  }
  bool covers(const std::byte* memory, int64_t bytes) const noexcept {
    return memory - arena_ + bytes <= pinned_;
  }

 private:
  std::shared_lock<std::shared_mutex> lock_;
  const std::byte* arena_ = nullptr;
  int64_t bytes_ = 0;
  int64_t pinned_ = 0;
};

// Whether this is memory of an arena, of this rank's or of a peer's.
bool is_in_arena(const std::byte* memory) noexcept;
// Lets the devices of a context use memory of an arena; pins it if it is not. The context must be
// the current one, and this thread has no use of the arena yet. Empty: the driver has refused it,
// it lies too far behind, or another context uses the arena.
ArenaUse use_arena(const std::byte* memory, int64_t bytes, Context* context) noexcept;
// Ends the pinning of all arenas. For MPI_Finalize.
void unpin_arenas() noexcept;

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_ARENAS_HPP_
