// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels with which lacuna's are compared: kernels by hand for each family, as a good programmer
// would write them for that one type; and kernels with a thread for each basic element that divides
// by the counts of all loops at run time, as in yaksa's generated kernels.
#ifndef LACUNA_BENCH_GPU_KERNELS_RIVALS_HPP_
#define LACUNA_BENCH_GPU_KERNELS_RIVALS_HPP_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace lacuna::bench {

// `count` runs of `run` bytes (a power of two, at least 8), `stride` bytes apart.
void hand_strided(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
                  int64_t stride, cudaStream_t stream);
void element_strided(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
                     int64_t stride, cudaStream_t stream);
// `count` runs of `run` bytes at offsets[i], an array on the device.
void hand_listed(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
                 const int64_t* offsets, cudaStream_t stream);
void element_listed(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
                    const int64_t* offsets, cudaStream_t stream);
// Elements of 4, 8 or 16 bytes: `near` elements are contiguous in memory, in each of `far` rows
// that are `pitch` bytes apart; elements of a column are contiguous in the stream.
void hand_transpose(bool is_pack, std::byte* mem, std::byte* packed, int64_t near, int64_t far,
                    int64_t pitch, int64_t bytes, cudaStream_t stream);
// A matrix of n by n doubles.
void element_transpose(bool is_pack, std::byte* mem, std::byte* packed, int64_t n,
                       cudaStream_t stream);
// Records of 24 bytes, of which 8 at 0 and 4 at 16 are data.
void hand_record(bool is_pack, std::byte* mem, std::byte* packed, int64_t count,
                 cudaStream_t stream);
void empty(cudaStream_t stream);

// fill() writes words that depend on their offset and a salt; compare() adds the number of words
// that differ to *differing.
void fill(std::byte* at, size_t bytes, uint64_t salt, cudaStream_t stream);
void compare(const std::byte* a, const std::byte* b, size_t bytes, unsigned long long* differing,
             cudaStream_t stream);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_KERNELS_RIVALS_HPP_
