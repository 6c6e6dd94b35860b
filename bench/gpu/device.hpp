// SPDX-License-Identifier: BSD-3-Clause
//
// The device that the bench runs on, and the memory that all its rows share.
#ifndef LACUNA_BENCH_GPU_DEVICE_HPP_
#define LACUNA_BENCH_GPU_DEVICE_HPP_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lacuna/lacuna_gpu.h"

namespace lacuna::bench {

constexpr size_t kMemBytes = size_t{9} << 30;
constexpr size_t kPackedBytes = size_t{5} << 29;
constexpr size_t kOtherBytes = size_t{1} << 29;
constexpr size_t kTableBytes = size_t{1} << 30;
constexpr size_t kMiB = size_t{1} << 20;

inline void need(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "lacuna-gpu: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(3);
}

inline void need(lacuna_status status, const char* what) {
  if (status == LACUNA_OK) return;
  std::fprintf(stderr, "lacuna-gpu: %s: %s\n", what, lacuna_gpu_last_error());
  std::exit(4);
}

struct Device {
  cudaStream_t stream = nullptr;
  std::byte* mem = nullptr;
  std::byte* packed = nullptr;
  std::byte* other = nullptr;
  std::byte* tables = nullptr;  // lists of offsets of the current row
  size_t tables_used = 0;
  unsigned long long* differing = nullptr;
  int failures = 0;
};
inline Device device;

// Ends the program, with a message and exit code 3, if there is no device.
cudaDeviceProp need_device(const char* program);
void take_memory();
// A copy of `values` on the device that lasts until the next row; null: no room.
const int64_t* keep_table(const std::vector<int64_t>& values);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_DEVICE_HPP_
