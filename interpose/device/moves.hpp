// SPDX-License-Identifier: BSD-3-Clause
//
// Packing and unpacking where one side is a CUDA device's memory. A call returns when the data have
// been moved. They are moved on a stream of lacuna's own for each context, an ordinary one: it
// waits for what the program has enqueued in the legacy default stream before, and not for its
// other streams.
//
// No call throws or ends the process. What fails after an MPI call was accepted becomes an error of
// that call: MPI_ERR_OTHER, raised on its communicator.
#ifndef LACUNA_INTERPOSE_DEVICE_MOVES_HPP_
#define LACUNA_INTERPOSE_DEVICE_MOVES_HPP_

#include <cstddef>
#include <cstdint>
#include <span>

#include "interpose/device/slice.hpp"
#include "interpose/device/windows.hpp"
#include "interpose/direct/arena/region.hpp"
#include "interpose/library/device.hpp"
#include "interpose/memory/staging.hpp"
#include "mpi/header.hpp"
#include "plan/plan.hpp"

namespace lacuna::device {

// Whether `count` elements in a device's memory can be moved: the device has a plan for them, and
// nothing forbids to use it now (a stream that is being captured). Makes the plan and keeps it. No
// plan: contiguous memory. False: the call must be declined.
bool prepare(const DevicePlace& place, const PlanPtr& plan, int64_t count) noexcept;

// The same for further data of the same call. False also if they are of another context.
bool prepare_also(const DevicePlace& place, const PlanPtr& plan, int64_t count) noexcept;

// Pinned memory for packed data, for the context of this thread's last prepare(). The device reads
// and writes it by itself. Empty: it was refused, or LACUNA_POOL_MB is reached.
Staging borrow_pinned(int64_t bytes) noexcept;

// The same for packed data that the MPI library sends, or receives from no rank that sends tokens:
// perhaps memory of the device (use_device_memory_from()).
Staging borrow_for_library(int64_t bytes) noexcept;
// From so many bytes on, packed data for the MPI library are in memory of the device.
void use_device_memory_from(int64_t bytes) noexcept;
// Whether borrowed memory is a device's, which the CPU must not touch.
bool is_device_memory(const std::byte* packed) noexcept;
// Copies from borrowed memory, wherever it lies. False: the device has failed.
bool read_packed(const std::byte* packed, int64_t bytes, void* to) noexcept;

// Whether the device that has data at `mem` can use memory of an arena itself, so that pack() needs
// no memory to go through. Pins the memory if needed.
bool reaches(const OnDevice& data, const std::byte* in_arena, int64_t bytes) noexcept;

// By the direct path from device to device, through a window (windows.hpp). Where the device is to
// pack `bytes` for a peer, whose place in the arena is `in_arena`; none: not into a window.
WindowPlace window_for(const OnDevice& data, const std::byte* in_arena, int64_t bytes,
                       const direct::Peer& to) noexcept;
// What a peer has packed into its window, in place of `bytes` at `in_arena`: in the window, if the
// device that has `on_device` reaches it (null: no device); else at `in_arena`, to which it is
// copied. Null: the device has failed. Call it while a WindowUse is there.
std::byte* find_in_window(uint32_t sender, uint64_t window, std::byte* in_arena, int64_t bytes,
                          const void* on_device) noexcept;
// Memory of a device has received data from a peer, through its arena: perhaps the next ones can
// come through a window.
void received_from(uint32_t sender, const void* on_device) noexcept;

// Memory for the packed form of data that this rank copies from one place to another, at least one
// of which is a device's (null: the host's). Empty: it was refused, or the places are of two
// contexts.
Staging borrow_between(const void* from, const void* to, int64_t bytes) noexcept;

// Bytes [0, bytes) of the packed stream of `count` elements at `mem`, which is a device's memory.
// `packed` is any memory: pinned or of an arena that can be pinned (the quickest), of a device, or
// other memory of the host.
bool pack(const Plan& plan, const void* mem, int64_t count, int64_t bytes,
          std::byte* packed) noexcept;
bool unpack(const Plan& plan, const std::byte* packed, int64_t bytes, int64_t count,
            void* mem) noexcept;
// The same for slices. Whole ones of up to 64 KiB that are of one context share a launch, and the
// device is waited for once. No failure is kept for take_failure().
bool move_slices(bool packs, std::span<const Slice> slices) noexcept;
inline bool move_slice(bool packs, const Slice& slice) noexcept {
  return move_slices(packs, {&slice, 1});
}
// Contiguous memory; one side or both are a device's. `on_device` is one that is.
bool copy(void* to, const void* from, int64_t bytes, const void* on_device) noexcept;

// Whether the last pack() of this thread has failed. A second call returns false.
bool take_failure() noexcept;
// Raises such a failure, of a call that was accepted, on its communicator. Returns the code of the
// call.
int raise_failure(MPI_Comm comm);

// Whether the MPI library itself takes addresses of a CUDA device: as far as it says so; and only
// if it says so.
bool library_knows_devices() noexcept;
bool library_says_it_knows_devices() noexcept;

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_MOVES_HPP_
