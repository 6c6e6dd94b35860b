// SPDX-License-Identifier: BSD-3-Clause
//
// exec: follows a plan. Packs and unpacks whole messages and slices of the packed stream. Cannot
// fail, allocates nothing, takes no lock, reads no environment: except that a large message asks
// for LACUNA_THREADS and, where that is more than 1, for the help of threads (threads.hpp).
#ifndef LACUNA_ENGINE_EXEC_EXEC_HPP_
#define LACUNA_ENGINE_EXEC_EXEC_HPP_

#include <cstdint>

#include "base/address.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// packed[0, count*size) <- `count` elements at `mem` (element i at mem + i*extent). count >= 0. No
// overlap of the two.
void pack(const Plan& plan, const void* mem, int64_t count, void* packed) noexcept;
// Where a byte of `mem` is there twice (MPI forbids it where data is received), the last value in
// the order of the stream stays, as MPI libraries have it: such types are unpacked run by run.
void unpack(const Plan& plan, const void* packed, int64_t count, void* mem) noexcept;

// Whether `count` elements go by the plan's few moves: then the caller may end with them, and
// nothing but this may lie before.
[[gnu::always_inline]] inline bool are_few(const Plan& plan, int64_t count) noexcept {
  // An unsigned comparison, so that counts of 0 are no concern of few.
  return static_cast<uint64_t>(count) - 1 < static_cast<uint64_t>(plan.few().most_elements());
}
// Of as many: the same as pack or unpack. 0.
template <bool kPack>
[[gnu::always_inline]] inline int move_few(const Plan& plan, const void* mem, int64_t count,
                                           const void* packed) noexcept {
  return plan.few().run<kPack>(address(mem, plan.offset()), count, address(packed, 0));
}

// Bytes [begin, end) of the packed stream of `count` elements, 0 <= begin <= end <= count*size;
// `packed` is where byte `begin` is. The place of `begin` is found in O(depth * log(entries));
// slices may cut basic elements. `goes_on`: the next slice begins at `end`.
void pack_slice(const Plan& plan, const void* mem, int64_t count, int64_t begin, int64_t end,
                void* packed) noexcept;
void unpack_slice(const Plan& plan, const void* packed, int64_t count, int64_t begin, int64_t end,
                  void* mem, bool goes_on = false) noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_EXEC_HPP_
