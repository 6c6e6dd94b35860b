// SPDX-License-Identifier: BSD-3-Clause
//
// Window: memory of a rank's device that the other ranks of the node map, too. The rank's device
// packs into it, and a peer's device unpacks from it: the data do not go through the host
// (LACUNA_GPU_IPC). A window mirrors the front of the rank's arena (direct/arena/arena.hpp): a
// payload lies at the offset that its region gives it there, so the arena's reservations are the
// window's.
//
// A rank asks for a peer's window when it first receives the peer's data into a device's memory
// (meet_window()). The peer makes a window with its next message of a device's data, and the rank
// maps it with the message after that. From then on the peer packs into it. A rank that has mapped
// a window can read it whatever its owner does: physical memory is freed with its last mapping and
// descriptor (cuMemRelease in CUDA's driver API), and the rank keeps both until all that was sent
// through the window has been received. So messages that have been sent survive a cudaDeviceReset()
// on both sides, and the end of their sender.
#ifndef LACUNA_INTERPOSE_DEVICE_WINDOWS_HPP_
#define LACUNA_INTERPOSE_DEVICE_WINDOWS_HPP_

#include <cstddef>
#include <cstdint>

#include "interpose/direct/node/peers.hpp"

namespace lacuna::device {

class Context;

// Whether ranks use windows at all.
bool are_windows_on() noexcept;

// A place in a window, and the window's number. Null and 0: none.
struct WindowPlace {
  std::byte* begin = nullptr;
  uint64_t window = 0;
};

// Where the device of a context packs a payload for a peer: `in_arena` is its place in this rank's
// arena. None: the peer has not mapped this rank's window, the payload lies behind its end, or the
// host is faster. `is_run`: the data have no gaps.
WindowPlace place_in_own_window(const std::byte* in_arena, int64_t bytes, const direct::Peer& to,
                                Context* context, bool is_run) noexcept;
// The context whose window, mapped by it, an address is in. Null: no window.
const Context* user_of_window(const std::byte* address) noexcept;

// Asks a peer for its window, or maps it, for a context that receives data from there.
void meet_window(uint32_t peer, Context* context) noexcept;
// Where the device of a context finds a payload in a peer's window. Null: it cannot reach it.
std::byte* place_in_window(uint32_t peer, uint64_t window, int64_t offset, int64_t bytes,
                           Context* context) noexcept;
// Copies a payload out of a peer's window to memory of the host, by the context that has mapped it,
// or any other if that is gone. If there is none, one is made that stays until the last WindowUse
// ends.
bool copy_from_window(uint32_t peer, uint64_t window, int64_t offset, int64_t bytes,
                      std::byte* to) noexcept;

// Must be there while what the last two have returned is used, and from before this rank has told
// that it will use it. When the last one ends, former windows are given back whose payloads have
// all been moved.
class WindowUse {
 public:
  WindowUse() noexcept;
  ~WindowUse();
  WindowUse(const WindowUse&) = delete;
  WindowUse& operator=(const WindowUse&) = delete;
};

// Unmaps all windows. For MPI_Finalize.
void close_windows() noexcept;

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_WINDOWS_HPP_
