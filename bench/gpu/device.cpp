// SPDX-License-Identifier: BSD-3-Clause
#include "bench/gpu/device.hpp"

#include "bench/gpu/kernels/rivals.hpp"

namespace lacuna::bench {

cudaDeviceProp need_device(const char* program) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "%s: no CUDA device: %s\n", program,
                 error == cudaSuccess ? "the driver knows none" : cudaGetErrorString(error));
    std::exit(3);
  }
  int current = 0;
  need(cudaGetDevice(&current), "the current device");
  cudaDeviceProp properties;
  need(cudaGetDeviceProperties(&properties, current), "the device's properties");
  return properties;
}

void take_memory() {
  need(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking), "stream");
  need(cudaMalloc(reinterpret_cast<void**>(&device.mem), kMemBytes), "memory");
  need(cudaMalloc(reinterpret_cast<void**>(&device.packed), kPackedBytes), "memory");
  need(cudaMalloc(reinterpret_cast<void**>(&device.other), kOtherBytes), "memory");
  need(cudaMalloc(reinterpret_cast<void**>(&device.differing), 8), "memory");
  need(cudaMalloc(reinterpret_cast<void**>(&device.tables), kTableBytes), "memory");
  fill(device.mem, kMemBytes, 1, device.stream);
  fill(device.packed, kPackedBytes, 2, device.stream);
}

const int64_t* keep_table(const std::vector<int64_t>& values) {
  const size_t bytes = values.size() * sizeof(int64_t);
  const size_t at = (device.tables_used + 255) / 256 * 256;
  if (at + bytes > kTableBytes) return nullptr;
  need(cudaMemcpy(device.tables + at, values.data(), bytes, cudaMemcpyHostToDevice), "a table");
  device.tables_used = at + bytes;
  return reinterpret_cast<const int64_t*>(device.tables + at);
}

}  // namespace lacuna::bench
