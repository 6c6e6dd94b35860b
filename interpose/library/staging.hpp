// SPDX-License-Identifier: BSD-3-Clause
//
// Staging: memory for packed data on its way, from the engine's pool of buffers. All of them
// together stay below LACUNA_POOL_MB, and over it the answer is no, but to who must have it.
// Blocking calls with small data use one buffer that their thread keeps.
#ifndef LACUNA_INTERPOSE_LIBRARY_STAGING_HPP_
#define LACUNA_INTERPOSE_LIBRARY_STAGING_HPP_

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
  Staging(Staging&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  Staging& operator=(Staging&& other) noexcept {
    if (this != &other) {
      reset();
      buffer_ = std::exchange(other.buffer_, nullptr);
    }
    return *this;
  }
  ~Staging() { reset(); }

  explicit operator bool() const { return buffer_ != nullptr; }
  std::byte* data() const noexcept;
  void reset() noexcept;
  // Lets the memory live as long as the process: the library may still read it.
  void abandon() noexcept { buffer_ = nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

// At least `bytes` > 0, aligned to 64. `blocking`: the same thread gives it back before it leaves
// the MPI call.
Staging borrow_staging(int64_t bytes, bool blocking) noexcept;
// The same for what cannot be the library's, as it may bring a token: also where all buffers take
// more than LACUNA_POOL_MB then; and where memory is refused, some of up to 64 KiB of lacuna's own.
Staging need_staging(int64_t bytes, bool blocking) noexcept;

// One buffer of kKeptBytes that the process keeps for its only thread: where there are several, it
// must not be asked for. Empty while it is lent, as it is where a callback of the program's sends.
inline constexpr int64_t kKeptBytes = int64_t{64} << 10;
Staging borrow_kept() noexcept;

// Returns all buffers that nobody uses to the system.
void trim_staging() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_STAGING_HPP_
