// SPDX-License-Identifier: BSD-3-Clause
//
// Staging: memory for packed data on its way. Fresh pages cost more than packing into them, so
// blocks are kept warm in lists by size; all of them together stay below LACUNA_POOL_MB, and over
// it the answer is no. Blocking calls with small data use one block that their thread keeps.
#ifndef LACUNA_INTERPOSE_STAGING_HPP_
#define LACUNA_INTERPOSE_STAGING_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lacuna {

namespace detail {
struct Block;
void give_back(Block* block) noexcept;
}  // namespace detail

// A borrowed block; gives itself back. Empty when memory was refused.
class Staging {
 public:
  Staging() = default;
  explicit Staging(detail::Block* block) : block_(block) {}
  Staging(Staging&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Staging& operator=(Staging&& other) noexcept {
    if (this != &other) {
      reset();
      block_ = std::exchange(other.block_, nullptr);
    }
    return *this;
  }
  ~Staging() { reset(); }

  explicit operator bool() const { return block_ != nullptr; }
  std::byte* data() const noexcept;
  void reset() noexcept {
    if (block_ != nullptr) detail::give_back(std::exchange(block_, nullptr));
  }
  // Lets the memory live as long as the process: the library may still read it.
  void abandon() noexcept { block_ = nullptr; }

 private:
  detail::Block* block_ = nullptr;
};

// At least `bytes` > 0, aligned to 64. `blocking`: the same thread gives it back before it leaves
// the MPI call.
Staging borrow_staging(int64_t bytes, bool blocking) noexcept;

// Returns all blocks that nobody uses to the system.
void trim_staging() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_STAGING_HPP_
