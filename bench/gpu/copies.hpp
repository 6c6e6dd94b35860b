// SPDX-License-Identifier: BSD-3-Clause
//
// Rivals that are copies of the CUDA runtime: one two-dimensional copy, or a copy for each block.
#ifndef LACUNA_BENCH_GPU_COPIES_HPP_
#define LACUNA_BENCH_GPU_COPIES_HPP_

#include <utility>

#include "bench/gpu/cases.hpp"

namespace lacuna::bench {

// At most so many blocks are copied; more would take minutes.
constexpr int64_t kMostBlocks = 64;

struct Block {
  int64_t mem;
  int64_t packed;
  int64_t bytes;
};

inline Move copy_2d(int64_t n, int64_t run, int64_t stride, int64_t offset = 0) {
  return [=](bool is_pack, std::byte* m, std::byte* p) {
    const auto r = static_cast<size_t>(run);
    const auto s = static_cast<size_t>(stride);
    m += offset;
    const bool could = cudaMemcpy2DAsync(is_pack ? p : m, is_pack ? r : s, is_pack ? m : p,
                                         is_pack ? s : r, r, static_cast<size_t>(n),
                                         cudaMemcpyDeviceToDevice, device.stream) == cudaSuccess;
    if (!could) cudaGetLastError();  // the pitch is too large: clears the error
    return could;
  };
}

inline Move copy_blocks(std::vector<Block> blocks) {
  return [blocks = std::move(blocks)](bool is_pack, std::byte* m, std::byte* p) {
    for (const Block& block : blocks)
      need(cudaMemcpyAsync(is_pack ? p + block.packed : m + block.mem,
                           is_pack ? m + block.mem : p + block.packed,
                           static_cast<size_t>(block.bytes), cudaMemcpyDeviceToDevice,
                           device.stream),
           "block");
    return true;
  };
}

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_COPIES_HPP_
