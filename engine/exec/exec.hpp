// SPDX-License-Identifier: BSD-3-Clause
//
// Executes a plan: packs and unpacks whole messages and slices of the packed stream. Cannot fail,
// allocates nothing, takes no lock, reads no environment. The exception is a large message: it
// reads LACUNA_THREADS and, if that is more than 1, may use helper threads (threads.hpp).
#ifndef LACUNA_ENGINE_EXEC_EXEC_HPP_
#define LACUNA_ENGINE_EXEC_EXEC_HPP_

#include <cstdint>

#include "base/address.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// packed[0, count*size) <- `count` elements at `mem` (element i at mem + i*extent). count >= 0. No
// overlap of the two.
void pack(const Plan& plan, const void* mem, int64_t count, void* packed) noexcept;
// If a byte of `mem` occurs twice (MPI forbids it in a receive), the last value in the order of the
// stream stays, as in MPI libraries: such types are unpacked run by run.
void unpack(const Plan& plan, const void* packed, int64_t count, void* mem) noexcept;

// Whether the plan moves `count` elements by its few moves. Then the caller may tail-call
// move_small, and should check this before anything else.
[[gnu::always_inline]] inline bool is_small(const Plan& plan, int64_t count) noexcept {
  // Unsigned, so that one comparison also excludes counts of 0.
  return static_cast<uint64_t>(count) - 1 <
         static_cast<uint64_t>(plan.small_moves().most_elements());
}
// pack or unpack of `count` elements for which is_small holds. Returns 0.
template <bool kPack>
[[gnu::always_inline]] inline int move_small(const Plan& plan, const void* mem, int64_t count,
                                             const void* packed) noexcept {
  return plan.small_moves().run<kPack>(address(mem, plan.offset()), count, address(packed, 0));
}

// Bytes [begin, end) of the packed stream of `count` elements, 0 <= begin <= end <= count*size;
// `packed` is where byte `begin` is. Finding `begin` takes O(depth * log(entries)); slices may cut
// basic elements. `goes_on`: the next slice begins at `end`.
void pack_slice(const Plan& plan, const void* mem, int64_t count, int64_t begin, int64_t end,
                void* packed) noexcept;
void unpack_slice(const Plan& plan, const void* packed, int64_t count, int64_t begin, int64_t end,
                  void* mem, bool goes_on = false) noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_EXEC_HPP_
