// SPDX-License-Identifier: BSD-3-Clause
//
// Whether packing first pays in one-sided operations. Libraries treat gaps here differently from
// messages: in shared memory they copy from one layout into the other, elsewhere they send each run
// by itself, or the type with the data. So the rules depend on the window's memory and on the
// target's layout.
#ifndef LACUNA_INTERPOSE_POLICY_RMA_RULES_HPP_
#define LACUNA_INTERPOSE_POLICY_RMA_RULES_HPP_

#include <cstdint>

#include "interpose/policy/policy.hpp"

namespace lacuna {

// Bits.
enum Access : uint8_t { kPuts = 1, kGets = 2, kAccumulates = 4, kFetches = 8 };
// The library's own memory (MPI_Win_allocate, MPI_Win_allocate_shared) or the program's
// (MPI_Win_create).
enum WindowMemory : uint8_t { kAllocated = 1, kCreated = 2, kAnyWindow = 3 };
enum TargetLayout : uint8_t { kWithoutGaps = 1, kWithGaps = 2, kAnyTarget = 3 };

struct OneSided {
  Access access;
  WindowMemory window;
  TargetLayout target;
  DataShape load;
};

// With kAnyWindow or kAnyTarget: whether it pays for at least one of them.
bool pays_one_sided(Flavour flavour, int mpich_major, const OneSided& operation) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_POLICY_RMA_RULES_HPP_
