// SPDX-License-Identifier: BSD-3-Clause
#include "bench/gpu/kernels/rivals.hpp"

namespace lacuna::bench {
namespace {

constexpr unsigned kThreads = 256;

unsigned blocks_for(int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

template <typename Word, bool kPack, bool kListed>
__global__ void hand_kernel(char* mem, char* packed, int64_t words, int run_log, int64_t stride,
                            const int64_t* offsets) {
  constexpr int kUnroll = 4;
  const int64_t first = int64_t{blockIdx.x} * kThreads * kUnroll + threadIdx.x;
  Word value[kUnroll];
  char* to[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int64_t i = first + u * kThreads;
    if (i >= words) continue;
    const int64_t run = i >> run_log;
    const int64_t inside = (i & ((int64_t{1} << run_log) - 1)) * sizeof(Word);
    char* const at = mem + (kListed ? offsets[run] : run * stride) + inside;
    char* const stream = packed + i * sizeof(Word);
    value[u] = *reinterpret_cast<const Word*>(kPack ? at : stream);
    to[u] = kPack ? stream : at;
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (first + u * kThreads < words) *reinterpret_cast<Word*>(to[u]) = value[u];
  }
}

int log_of(int64_t x) {
  int log = 0;
  while ((int64_t{1} << log) < x) ++log;
  return log;
}

template <bool kListed>
void by_hand(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
             int64_t stride, const int64_t* offsets, cudaStream_t stream) {
  auto* const m = reinterpret_cast<char*>(mem);
  auto* const p = reinterpret_cast<char*>(packed);
  const int64_t width = run >= 16 && stride % 16 == 0 ? 16 : 8;
  const int64_t words = count * run / width;
  const unsigned blocks = blocks_for((words + 3) / 4);
  const int log = log_of(run / width);
  if (width == 16) {
    if (is_pack)
      hand_kernel<uint4, true, kListed>
          <<<blocks, kThreads, 0, stream>>>(m, p, words, log, stride, offsets);
    else
      hand_kernel<uint4, false, kListed>
          <<<blocks, kThreads, 0, stream>>>(m, p, words, log, stride, offsets);
  } else {
    if (is_pack)
      hand_kernel<uint2, true, kListed>
          <<<blocks, kThreads, 0, stream>>>(m, p, words, log, stride, offsets);
    else
      hand_kernel<uint2, false, kListed>
          <<<blocks, kThreads, 0, stream>>>(m, p, words, log, stride, offsets);
  }
}

// As yaksa's: an element of 8 bytes a thread, its place from the loops' counts by division.
template <bool kPack, bool kListed>
__global__ void element_kernel(char* mem, char* packed, uint64_t elements, uint64_t outer,
                               uint64_t outer_extent, uint64_t count, uint64_t stride,
                               uint64_t length, uint64_t extent, const int64_t* offsets) {
  const uint64_t index = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (index >= outer * count * length) return;
  uint64_t rest = index;
  uint64_t inner = elements;
  const uint64_t x0 = rest / inner;
  rest %= inner;
  inner /= count;
  const uint64_t x1 = rest / inner;
  rest %= inner;
  inner /= length;
  const uint64_t x2 = rest / inner;
  double* const at = reinterpret_cast<double*>(
      mem + x0 * outer_extent + (kListed ? static_cast<uint64_t>(offsets[x1]) : x1 * stride) +
      x2 * extent);
  double* const stream = reinterpret_cast<double*>(packed) + index;
  if (kPack) {
    *stream = *at;
  } else {
    *at = *stream;
  }
}

template <bool kListed>
void by_element(bool is_pack, std::byte* mem, std::byte* packed, uint64_t outer,
                uint64_t outer_extent, int64_t count, int64_t run, int64_t stride,
                const int64_t* offsets, cudaStream_t stream) {
  const auto length = static_cast<uint64_t>(run / 8);
  const uint64_t elements = static_cast<uint64_t>(count) * length;
  const unsigned blocks = blocks_for(static_cast<int64_t>(outer * elements));
  if (is_pack)
    element_kernel<true, kListed><<<blocks, kThreads, 0, stream>>>(
        reinterpret_cast<char*>(mem), reinterpret_cast<char*>(packed), elements, outer,
        outer_extent, count, stride, length, 8, offsets);
  else
    element_kernel<false, kListed><<<blocks, kThreads, 0, stream>>>(
        reinterpret_cast<char*>(mem), reinterpret_cast<char*>(packed), elements, outer,
        outer_extent, count, stride, length, 8, offsets);
}

// Tiles of 32 by 32 in shared memory, blocks of 32 by 8 threads: `near` elements are neighbours in
// memory, of which there are `far` rows, `pitch` elements apart; neighbours in the stream are
// those.
template <typename Word, bool kPack>
__global__ void transpose_kernel(Word* mem, Word* packed, int near, int far, int64_t pitch) {
  __shared__ Word tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  if (kPack) {
    for (int j = 0; j < 32; j += 8) {
      if (x < near && y + j < far)
        tile[threadIdx.y + j][threadIdx.x] = mem[int64_t{y + j} * pitch + x];
    }
  }
  const int across = blockIdx.y * 32 + threadIdx.x;
  const int along = blockIdx.x * 32 + threadIdx.y;
  if (!kPack) {
    for (int j = 0; j < 32; j += 8) {
      if (across < far && along + j < near)
        tile[threadIdx.x][threadIdx.y + j] = packed[int64_t{along + j} * far + across];
    }
  }
  __syncthreads();
  if (kPack) {
    for (int j = 0; j < 32; j += 8) {
      if (across < far && along + j < near)
        packed[int64_t{along + j} * far + across] = tile[threadIdx.x][threadIdx.y + j];
    }
  } else {
    for (int j = 0; j < 32; j += 8) {
      if (x < near && y + j < far)
        mem[int64_t{y + j} * pitch + x] = tile[threadIdx.y + j][threadIdx.x];
    }
  }
}

template <typename Word>
void by_tiles(bool is_pack, std::byte* mem, std::byte* packed, int64_t near, int64_t far,
              int64_t pitch, cudaStream_t stream) {
  const dim3 tiles(static_cast<unsigned>((near + 31) / 32), static_cast<unsigned>((far + 31) / 32));
  auto* const m = reinterpret_cast<Word*>(mem);
  auto* const p = reinterpret_cast<Word*>(packed);
  const auto n = static_cast<int>(near);
  const auto f = static_cast<int>(far);
  const int64_t words = pitch / static_cast<int64_t>(sizeof(Word));
  if (is_pack)
    transpose_kernel<Word, true><<<tiles, dim3(32, 8), 0, stream>>>(m, p, n, f, words);
  else
    transpose_kernel<Word, false><<<tiles, dim3(32, 8), 0, stream>>>(m, p, n, f, words);
}

template <bool kPack>
__global__ void record_kernel(unsigned* mem, unsigned* packed, int64_t words) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= words) return;
  const int64_t record = i / 3;
  const int64_t word = i - record * 3;
  unsigned* const at = mem + record * 6 + (word == 2 ? 4 : word);
  if (kPack) {
    packed[i] = *at;
  } else {
    *at = packed[i];
  }
}

__global__ void empty_kernel() {}

__device__ uint64_t word_at(uint64_t i, uint64_t salt) {
  uint64_t z = (i + salt) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  return z ^ (z >> 31);
}

__global__ void fill_kernel(uint64_t* at, size_t words, uint64_t salt) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < words;
       i += size_t{gridDim.x} * blockDim.x)
    at[i] = word_at(i, salt);
}

__global__ void compare_kernel(const uint64_t* a, const uint64_t* b, size_t words,
                               unsigned long long* differing) {
  unsigned long long found = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < words;
       i += size_t{gridDim.x} * blockDim.x)
    found += a[i] != b[i];
  if (found != 0) atomicAdd(differing, found);
}

}  // namespace

void hand_strided(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
                  int64_t stride, cudaStream_t stream) {
  by_hand<false>(is_pack, mem, packed, count, run, stride, nullptr, stream);
}

void hand_listed(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
                 const int64_t* offsets, cudaStream_t stream) {
  by_hand<true>(is_pack, mem, packed, count, run, run, offsets, stream);
}

void element_strided(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
                     int64_t stride, cudaStream_t stream) {
  by_element<false>(is_pack, mem, packed, 1, 0, count, run, stride, nullptr, stream);
}

void element_listed(bool is_pack, std::byte* mem, std::byte* packed, int64_t count, int64_t run,
                    const int64_t* offsets, cudaStream_t stream) {
  by_element<true>(is_pack, mem, packed, 1, 0, count, run, 0, offsets, stream);
}

void hand_transpose(bool is_pack, std::byte* mem, std::byte* packed, int64_t near, int64_t far,
                    int64_t pitch, int64_t bytes, cudaStream_t stream) {
  if (bytes == 4) return by_tiles<uint32_t>(is_pack, mem, packed, near, far, pitch, stream);
  if (bytes == 8) return by_tiles<uint2>(is_pack, mem, packed, near, far, pitch, stream);
  by_tiles<uint4>(is_pack, mem, packed, near, far, pitch, stream);
}

void element_transpose(bool is_pack, std::byte* mem, std::byte* packed, int64_t n,
                       cudaStream_t stream) {
  by_element<false>(is_pack, mem, packed, static_cast<uint64_t>(n), 8, n, 8, n * 8, nullptr,
                    stream);
}

void hand_record(bool is_pack, std::byte* mem, std::byte* packed, int64_t count,
                 cudaStream_t stream) {
  auto* const m = reinterpret_cast<unsigned*>(mem);
  auto* const p = reinterpret_cast<unsigned*>(packed);
  if (is_pack)
    record_kernel<true><<<blocks_for(count * 3), kThreads, 0, stream>>>(m, p, count * 3);
  else
    record_kernel<false><<<blocks_for(count * 3), kThreads, 0, stream>>>(m, p, count * 3);
}

void empty(cudaStream_t stream) { empty_kernel<<<1, 32, 0, stream>>>(); }

void fill(std::byte* at, size_t bytes, uint64_t salt, cudaStream_t stream) {
  fill_kernel<<<1056, kThreads, 0, stream>>>(reinterpret_cast<uint64_t*>(at), bytes / 8, salt);
}

void compare(const std::byte* a, const std::byte* b, size_t bytes, unsigned long long* differing,
             cudaStream_t stream) {
  compare_kernel<<<1056, kThreads, 0, stream>>>(reinterpret_cast<const uint64_t*>(a),
                                                reinterpret_cast<const uint64_t*>(b), bytes / 8,
                                                differing);
}

}  // namespace lacuna::bench
