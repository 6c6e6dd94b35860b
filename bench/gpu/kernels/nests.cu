// SPDX-License-Identifier: BSD-3-Clause
#include "bench/gpu/kernels/nest_places.hpp"
#include "bench/gpu/kernels/nests.hpp"

namespace lacuna::bench {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kHandUnroll = 4;
constexpr int64_t kMostBlocksOfHand = 1 << 20;

unsigned blocks_for(int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

template <typename Word, bool kPack>
__device__ void move(char* mem, char* packed) {
  if (kPack) {
    *reinterpret_cast<Word*>(packed) = *reinterpret_cast<const Word*>(mem);
  } else {
    *reinterpret_cast<Word*>(mem) = *reinterpret_cast<const Word*>(packed);
  }
}

template <typename Word, bool kPack>
__global__ void element_kernel(char* mem, char* packed, const __grid_constant__ DeviceNest nest) {
  const uint64_t index = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (index >= nest.total_bytes / sizeof(Word)) return;
  int64_t m = 0;
  int64_t p = 0;
  locate<Word, uint64_t>(nest, nest.loops, index, &m, &p);
  move<Word, kPack>(mem + m, packed + p);
}

// As a good programmer would write it: counts known to fit 32 bits, as many loops as there are,
// four words for each thread.
template <typename Word, bool kPack, int kLoops>
__global__ void hand_kernel(char* mem, char* packed, const __grid_constant__ DeviceNest nest) {
  const auto words = static_cast<uint32_t>(nest.total_bytes / sizeof(Word));
  const uint32_t first = blockIdx.x * kThreads * kHandUnroll + threadIdx.x;
  Word values[kHandUnroll];
  char* to[kHandUnroll];
#pragma unroll
  for (int u = 0; u < kHandUnroll; ++u) {
    const uint32_t index = first + u * kThreads;
    if (index >= words) continue;
    int64_t m = 0;
    int64_t p = 0;
    locate<Word, uint32_t>(nest, kLoops, index, &m, &p);
    values[u] = *reinterpret_cast<const Word*>(kPack ? mem + m : packed + p);
    to[u] = kPack ? packed + p : mem + m;
  }
#pragma unroll
  for (int u = 0; u < kHandUnroll; ++u) {
    if (first + u * kThreads < words) *reinterpret_cast<Word*>(to[u]) = values[u];
  }
}

template <typename Word, bool kPack>
void start_hand(char* m, char* p, const DeviceNest& nest, cudaStream_t stream) {
  const int64_t words = nest.total_bytes / static_cast<int64_t>(sizeof(Word));
  const unsigned blocks = blocks_for((words + kHandUnroll - 1) / kHandUnroll);
  switch (nest.loops) {
    case 0:
      return hand_kernel<Word, kPack, 0><<<blocks, kThreads, 0, stream>>>(m, p, nest);
    case 1:
      return hand_kernel<Word, kPack, 1><<<blocks, kThreads, 0, stream>>>(m, p, nest);
    case 2:
      return hand_kernel<Word, kPack, 2><<<blocks, kThreads, 0, stream>>>(m, p, nest);
    case 3:
      return hand_kernel<Word, kPack, 3><<<blocks, kThreads, 0, stream>>>(m, p, nest);
    default:
      return element_kernel<Word, kPack><<<blocks_for(words), kThreads, 0, stream>>>(m, p, nest);
  }
}

template <typename Word, bool kPack>
void start_element(char* m, char* p, const DeviceNest& nest, cudaStream_t stream) {
  const int64_t words = nest.total_bytes / static_cast<int64_t>(sizeof(Word));
  element_kernel<Word, kPack><<<blocks_for(words), kThreads, 0, stream>>>(m, p, nest);
}

// The table of a record's words in shared memory, where neighbours read neighbours.
template <typename Word, bool kPack>
__global__ void structs_kernel(char* mem, char* packed, uint32_t all, uint32_t words,
                               int64_t extent, const int64_t* places, const int64_t* at) {
  extern __shared__ int32_t table[];
  for (uint32_t k = threadIdx.x; k < words; k += kThreads)
    table[k] = static_cast<int32_t>(places[k]);
  __syncthreads();
  for (uint32_t index = blockIdx.x * kThreads + threadIdx.x; index < all;
       index += gridDim.x * kThreads) {
    const uint32_t record = index / words;
    char* const from = mem + (at != nullptr ? at[record] : record * extent);
    move<Word, kPack>(from + table[index - record * words],
                      packed + int64_t{index} * static_cast<int64_t>(sizeof(Word)));
  }
}

template <bool kPack>
__global__ void runs_kernel(char* mem, char* packed, int64_t n, const int64_t* places,
                            const int64_t* offsets) {
  const int64_t run = (blockIdx.x * int64_t{kThreads} + threadIdx.x) / 32;
  if (run >= n) return;
  const int64_t bytes = offsets[run + 1] - offsets[run];
  for (int64_t i = threadIdx.x % 32; i < bytes; i += 32)
    move<char, kPack>(mem + places[run] + i, packed + offsets[run] + i);
}

// f.template operator()<Word, kPack>().
template <typename F>
void with_word(int width, bool is_pack, F f) {
  const auto of = [&]<typename Word>() {
    if (is_pack) return f.template operator()<Word, true>();
    return f.template operator()<Word, false>();
  };
  switch (width) {
    case 1:
      return of.template operator()<uint8_t>();
    case 2:
      return of.template operator()<uint16_t>();
    case 4:
      return of.template operator()<uint32_t>();
    case 8:
      return of.template operator()<uint2>();
    default:
      return of.template operator()<uint4>();
  }
}

}  // namespace

void hand_nest(bool is_pack, std::byte* mem, std::byte* packed, const DeviceNest& nest, int width,
               cudaStream_t stream) {
  auto* const m = reinterpret_cast<char*>(mem);
  auto* const p = reinterpret_cast<char*>(packed);
  if (nest.total_bytes / width >= int64_t{1} << 31)
    return element_nest(is_pack, mem, packed, nest, width, stream);
  with_word(width, is_pack,
            [&]<typename Word, bool kPack>() { start_hand<Word, kPack>(m, p, nest, stream); });
}

void element_nest(bool is_pack, std::byte* mem, std::byte* packed, const DeviceNest& nest,
                  int width, cudaStream_t stream) {
  auto* const m = reinterpret_cast<char*>(mem);
  auto* const p = reinterpret_cast<char*>(packed);
  with_word(width, is_pack,
            [&]<typename Word, bool kPack>() { start_element<Word, kPack>(m, p, nest, stream); });
}

void hand_structs(bool is_pack, std::byte* mem, std::byte* packed, int64_t structs, int64_t words,
                  int width, int64_t extent, const int64_t* places, const int64_t* at,
                  cudaStream_t stream) {
  auto* const m = reinterpret_cast<char*>(mem);
  auto* const p = reinterpret_cast<char*>(packed);
  const int64_t all = structs * words;
  const int64_t blocks = blocks_for(all) < kMostBlocksOfHand ? blocks_for(all) : kMostBlocksOfHand;
  const auto shared = static_cast<size_t>(words) * sizeof(int32_t);
  with_word(width, is_pack, [&]<typename Word, bool kPack>() {
    structs_kernel<Word, kPack><<<static_cast<unsigned>(blocks), kThreads, shared, stream>>>(
        m, p, static_cast<uint32_t>(all), static_cast<uint32_t>(words), extent, places, at);
  });
}

void move_runs(bool is_pack, std::byte* mem, std::byte* packed, int64_t n, const int64_t* places,
               const int64_t* offsets, cudaStream_t stream) {
  auto* const m = reinterpret_cast<char*>(mem);
  auto* const p = reinterpret_cast<char*>(packed);
  if (is_pack) {
    runs_kernel<true><<<blocks_for(n * 32), kThreads, 0, stream>>>(m, p, n, places, offsets);
  } else {
    runs_kernel<false><<<blocks_for(n * 32), kThreads, 0, stream>>>(m, p, n, places, offsets);
  }
}

}  // namespace lacuna::bench
