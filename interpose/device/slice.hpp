// SPDX-License-Identifier: BSD-3-Clause
//
// What a device moves: a slice of the packed stream of data in its memory.
#ifndef LACUNA_INTERPOSE_DEVICE_SLICE_HPP_
#define LACUNA_INTERPOSE_DEVICE_SLICE_HPP_

#include <cstddef>
#include <cstdint>

#include "base/address.hpp"
#include "plan/plan.hpp"

namespace lacuna::device {

// Data in a device's memory. No plan: contiguous, from `mem` on.
struct OnDevice {
  const Plan* plan;
  int64_t count;
  void* mem;

  const void* first() const noexcept {  // a byte of the data
    return plan != nullptr ? address(mem, plan->offset()) : mem;
  }
};

// Bytes [begin, end) of their packed stream, which are, or shall be, at `packed`: any memory.
// Pinned memory, or an arena that can be pinned, is the quickest.
struct Slice {
  OnDevice data;
  int64_t begin;
  int64_t end;
  std::byte* packed;
};

// Where packed data are: where the device can use them itself; in an arena, which is perhaps such
// memory; or in other memory of the host.
enum class Packed : uint8_t { kReached, kInArena, kElsewhere };

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_SLICE_HPP_
