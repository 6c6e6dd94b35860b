// SPDX-License-Identifier: BSD-3-Clause
//
// Rivals for the rows of the corpus, whose loops are those of an application's own code
// (bench/engine/rivals/by_hand_shape.hpp): by hand; and with a thread for each basic element that
// divides by the counts of all loops, as in yaksa's generated kernels. A kernel for each nest.
#ifndef LACUNA_BENCH_GPU_KERNELS_NESTS_HPP_
#define LACUNA_BENCH_GPU_KERNELS_NESTS_HPP_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace lacuna::bench {

constexpr int kMostNestLoops = 8;

// A nest as a kernel gets it. Runs of `bytes` are at mem + loops + at[e], and their packed bytes at
// packed + loops + e * entry_packed, or, if there are starts, from starts[e] to starts[e + 1].
// Outermost loop first.
struct DeviceNest {
  int loops = 0;
  int64_t counts[kMostNestLoops] = {};
  int64_t mem_strides[kMostNestLoops] = {};
  int64_t packed_strides[kMostNestLoops] = {};
  const int64_t* at = nullptr;
  const int64_t* starts = nullptr;
  int64_t entries = 1;
  int64_t entry_packed = 0;
  int64_t bytes = 0;        // of a run; with starts: of all
  int64_t total_bytes = 0;  // that the nest moves
  int64_t mem = 0;
  int64_t packed = 0;
};

// Words of `width` bytes (1 to 16), of which everything is a multiple.
void hand_nest(bool is_pack, std::byte* mem, std::byte* packed, const DeviceNest& nest, int width,
               cudaStream_t stream);
void element_nest(bool is_pack, std::byte* mem, std::byte* packed, const DeviceNest& nest,
                  int width, cudaStream_t stream);

// `structs` records of `words` words, each of which is at places[word] of its record (bytes), the
// records an extent apart or at at[record].
void hand_structs(bool is_pack, std::byte* mem, std::byte* packed, int64_t structs, int64_t words,
                  int width, int64_t extent, const int64_t* places, const int64_t* at,
                  cudaStream_t stream);

// The reference for all checks: moves runs of a list, a warp for each. `places` and `offsets` (in
// the stream) of n runs, and one more offset, the end.
void move_runs(bool is_pack, std::byte* mem, std::byte* packed, int64_t n, const int64_t* places,
               const int64_t* offsets, cudaStream_t stream);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_KERNELS_NESTS_HPP_
