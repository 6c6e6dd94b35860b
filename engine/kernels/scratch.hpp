// SPDX-License-Identifier: BSD-3-Clause
//
// Scratch: the buffer in which a kernel gathers columns. Not on the stack: threads of programs may
// have 16 KiB of it. Not thread-local either: that comes out of the same stack where the library is
// loaded at the start. So there is a fixed number for the process, untouched memory until a
// kernel takes the first one; who finds none left moves without.
#ifndef LACUNA_ENGINE_KERNELS_SCRATCH_HPP_
#define LACUNA_ENGINE_KERNELS_SCRATCH_HPP_

#include <cstddef>

namespace lacuna {

inline constexpr size_t kScratchBytes = size_t{32} << 10;
inline constexpr int kScratchBuffers = 64;

// One of them for as long as this lives. No thread waits, and a thread gets the one it had before
// where nobody has taken it, whose lines are still in its core's cache.
class Scratch {
 public:
  Scratch() noexcept;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // kScratchBytes at a page's boundary; null: none was left.
  std::byte* data() const noexcept { return data_; }

 private:
  int index_ = -1;
  std::byte* data_ = nullptr;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_SCRATCH_HPP_
