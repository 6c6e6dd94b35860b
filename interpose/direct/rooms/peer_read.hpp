// SPDX-License-Identifier: BSD-3-Clause
//
// Reading: a rank takes long runs straight out of a peer's memory, by the system
// (process_vm_readv): one copy, where packing and unpacking are two. For exchanges, in which all
// ranks are inside the call until all have read.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_PEER_READ_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_PEER_READ_HPP_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "interpose/direct/rooms/window.hpp"

namespace lacuna::direct {

// Whether this process can read the memory of that one: so many bytes there are those at `same`.
bool can_read(int32_t pid, uint64_t place, const void* same, int64_t bytes) noexcept;

// Memory that peers read in the agreement, to learn how fast that is.
inline constexpr int64_t kSampleBytes = int64_t{64} << 10;
// Whether reading that much is worth it, which depends on the system and on what it runs in.
// `same`: this process's own.
bool is_fast_to_read(int32_t pid, uint64_t place, const std::byte* same) noexcept;

// The runs of what goes out, in packed order, for the peer to read; at most `most`. How many; 0: it
// is packed, as that is faster or they are too many.
int32_t list_runs(const Lot& lot, iovec* runs, int64_t most) noexcept;

// The first `bytes` of what a peer's runs have, which are no fewer, to where `lot` wants them.
// False: the system has refused some of it, and anything may have been written.
bool read_runs(int32_t pid, const iovec* runs, int64_t bytes, const Lot& lot) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_PEER_READ_HPP_
