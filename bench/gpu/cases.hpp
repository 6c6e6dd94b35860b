// SPDX-License-Identifier: BSD-3-Clause
//
// The bench's device, and its cases: a type, what moves it otherwise, and the memory it touches.
#ifndef LACUNA_BENCH_GPU_CASES_HPP_
#define LACUNA_BENCH_GPU_CASES_HPP_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "lacuna/lacuna_gpu.h"

namespace lacuna::bench {

constexpr size_t kMemBytes = size_t{9} << 30;
constexpr size_t kPackedBytes = size_t{5} << 29;
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kBeyondCache = 160 * kMiB;  // of all buffers that a row goes round

inline void need(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "lacuna-gpu-bench: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(3);
}

inline void need(lacuna_status status, const char* what) {
  if (status == LACUNA_OK) return;
  std::fprintf(stderr, "lacuna-gpu-bench: %s: %s\n", what, lacuna_gpu_last_error());
  std::exit(4);
}

struct Device {
  cudaStream_t stream = nullptr;
  std::byte* mem = nullptr;
  std::byte* packed = nullptr;
  std::byte* other = nullptr;  // as large as packed
  unsigned long long* differing = nullptr;
  int64_t* list = nullptr;  // offsets of the last listed case
  int failures = 0;
};
inline Device device;

struct Case {
  std::string family;
  int64_t run = 0;
  int64_t stride = 0;
  int64_t payload = 0;
  int64_t span = 0;    // of memory
  double touched = 0;  // bytes of touched sectors
  double partly = 0;   // and those of them that hold other bytes
  lacuna_type* type = nullptr;
  int64_t count = 1;
  std::function<void(bool, std::byte*, std::byte*)> hand, element, blocks;
  std::function<bool(bool, std::byte*, std::byte*)> copy2d;  // whether it could
  double block_share = 1;                                    // of the blocks that `blocks` copies
};

// Runs at a stride, at listed places, columns of a matrix of n by n doubles; structs of a double
// and an int in 24 bytes; a struct of two arrays' parts. `payload`: bytes.
Case strided(int64_t run, int64_t stride, int64_t payload);
Case listed(int64_t run, int64_t mean, int64_t payload);
Case transposed(int64_t n);
Case records(int64_t payload);
Case parts(int64_t payload);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_CASES_HPP_
