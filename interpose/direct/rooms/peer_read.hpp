// SPDX-License-Identifier: BSD-3-Clause
//
// Reads long runs straight from a peer's memory (process_vm_readv): one copy instead of two. Only
// in exchanges, where all ranks stay in the call until all have read.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_PEER_READ_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_PEER_READ_HPP_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "interpose/direct/rooms/window.hpp"

namespace lacuna::direct {

// Whether this process can read process `pid`: compares `bytes` bytes at `place` there with those
// at `same` here.
bool can_read(int32_t pid, uint64_t place, const void* same, int64_t bytes) noexcept;

// Bytes that peers read from each other in the agreement, to measure how fast that is.
inline constexpr int64_t kSampleBytes = int64_t{64} << 10;
// Whether reading kSampleBytes is fast enough, which depends on the system and the virtual machine.
// `same`: a sample of the same size in this process.
bool is_fast_to_read(int32_t pid, uint64_t place, const std::byte* same) noexcept;

// Lists the runs of `pair_data` in packed order, at most `most`, for the peer to read. Returns how
// many. 0: pack instead, as that is faster, or there are too many runs.
int32_t list_runs(const PairData& pair_data, iovec* runs, int64_t most) noexcept;

// Reads the first `bytes` bytes of a peer's runs (they have at least as many) into `pair_data`.
// False: the system has refused; part of `pair_data` may have been overwritten.
bool read_runs(int32_t pid, const iovec* runs, int64_t bytes, const PairData& pair_data) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_PEER_READ_HPP_
