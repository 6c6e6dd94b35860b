// SPDX-License-Identifier: BSD-3-Clause
//
// Staging: buffers for packed data in flight, from the engine's pool. All of them together stay
// below LACUNA_POOL_MB. Above that, borrow_staging() returns an empty one, and only need_staging()
// still allocates. Blocking calls with small data use one buffer that their thread keeps.
#ifndef LACUNA_INTERPOSE_MEMORY_STAGING_HPP_
#define LACUNA_INTERPOSE_MEMORY_STAGING_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lacuna {

struct Buffer;

// A borrowed buffer; gives itself back. Empty when memory was refused.
class Staging {
 public:
  Staging() = default;
  explicit Staging(Buffer* buffer) : buffer_(buffer) {}
  Staging(Staging&& other) noexcept
      : buffer_(std::exchange(other.buffer_, nullptr)), wiped_(std::exchange(other.wiped_, 0)) {}
  Staging& operator=(Staging&& other) noexcept {
    if (this != &other) {
      reset();
      buffer_ = std::exchange(other.buffer_, nullptr);
      wiped_ = std::exchange(other.wiped_, 0);
    }
    return *this;
  }
  ~Staging() { reset(); }

  explicit operator bool() const { return buffer_ != nullptr; }
  std::byte* data() const noexcept;
  void reset() noexcept;
  // Wipes the first `bytes` when it gives the buffer back: the program may get this memory next.
  void wipe_at_end(int64_t bytes) noexcept { wiped_ = bytes; }
  // Never gives the buffer back: the library may still read it.
  void abandon() noexcept { buffer_ = nullptr; }

 private:
  Buffer* buffer_ = nullptr;
  int64_t wiped_ = 0;
};

// At least `bytes` > 0, aligned to 64. `blocking`: the same thread gives it back before it leaves
// the MPI call.
Staging borrow_staging(int64_t bytes, bool blocking) noexcept;
// The same for calls that cannot be declined, because their message may be a token: not limited by
// LACUNA_POOL_MB. If the allocation fails, it lends one of a few static buffers of 64 KiB.
Staging need_staging(int64_t bytes, bool blocking) noexcept;

// One static buffer of kKeptBytes, for processes with a single thread: there is no lock. Empty
// while it is lent, e.g. if a callback of the program's sends within an MPI call.
inline constexpr int64_t kKeptBytes = int64_t{64} << 10;
Staging borrow_kept() noexcept;

// The most bytes of all buffers together, as the pool is asked for them.
int64_t most_staging_bytes() noexcept;

// Frees all buffers that are not in use.
void trim_staging() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MEMORY_STAGING_HPP_
