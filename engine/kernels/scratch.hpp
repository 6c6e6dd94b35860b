// SPDX-License-Identifier: BSD-3-Clause
//
// Scratch: the buffer in which a kernel gathers columns. Threads of programs may have 16 KiB of
// stack, so it is not there; nor is it thread-local, since the memory of a library loaded at the
// start comes out of the same stack. So the process has a fixed number of buffers, untouched until
// used; a kernel that finds none left works without one.
#ifndef LACUNA_ENGINE_KERNELS_SCRATCH_HPP_
#define LACUNA_ENGINE_KERNELS_SCRATCH_HPP_

#include <cstddef>

namespace lacuna {

inline constexpr size_t kScratchBytes = size_t{32} << 10;
inline constexpr int kScratchBuffers = 64;

// Holds one buffer for its lifetime. Never waits. A thread gets the buffer that it had before if
// that is free: its lines are still in the core's cache.
class Scratch {
 public:
  Scratch() noexcept;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // kScratchBytes, page-aligned; null: none was left.
  std::byte* data() const noexcept { return data_; }

 private:
  int index_ = -1;
  std::byte* data_ = nullptr;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_SCRATCH_HPP_
