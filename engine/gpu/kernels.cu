// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels: words.hpp's and tiles.hpp's bodies on the device.
#include <cstring>

#include "gpu/kernels.hpp"

namespace lacuna::gpu {
namespace {

template <int kLog, int kLoops, bool kTables, bool kRanked, bool kPack>
__global__ void __launch_bounds__(256) words_kernel(const __grid_constant__ WordsJob job) {
  move_words<kLog, kLoops, kTables, kRanked, kPack>(job, blockIdx.x, threadIdx.x, blockDim.x);
}

template <int kLog, int kParts, bool kPack>
__global__ void __launch_bounds__(kTileThreads) tiles_kernel(const __grid_constant__ TilesJob job) {
  using Word = typename WordOf<kLog>::type;
  extern __shared__ Word16 memory[];
  Word* const shared = reinterpret_cast<Word*>(memory);
  const TileAt at = tile_at(job, blockIdx.x);
  tile_phase<kLog, kParts, kPack, true>(job, at, threadIdx.x, shared);
  __syncthreads();
  tile_phase<kLog, kParts, !kPack, false>(job, at, threadIdx.x, shared);
}

template <uint32_t kMost>
struct Messages {
  uint32_t count;
  uint32_t unused;
  Message messages[kMost];
};

template <uint32_t kMost, bool kPack>
__global__ void __launch_bounds__(kThreads, 4)
    many_kernel(const __grid_constant__ Messages<kMost> many) {
  __shared__ PieceRow row;
  const uint32_t block = blockIdx.x;
  const Message& message = many.messages[last_at_most(
      many.count, block, [&](uint32_t i) { return many.messages[i].first_tile; })];
  const PlanView& plan = *message.plan;
  const uint32_t* const tiles = plan.tiles[message.log];
  const uint32_t tile = block - message.first_tile;
  const uint32_t i = last_at_most(plan.pieces, tile, [&](uint32_t k) { return tiles[k]; });
  const auto* const from = reinterpret_cast<const uint64_t*>(plan.rows + i);
  for (uint32_t k = threadIdx.x; k < sizeof(PieceRow) / 8; k += kThreads)
    reinterpret_cast<uint64_t*>(&row)[k] = from[k];
  const uint32_t first = tiles[i];
  __syncthreads();
  move_piece_of<kPack>(row, message, tile - first, threadIdx.x);
}

template <int kLog>
__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ CopyJob job) {
  copy_words<kLog>(job, blockIdx.x, threadIdx.x, kThreads);
}

template <typename Parameters>
cudaError_t start(const void* kernel, uint64_t blocks, uint32_t threads, uint32_t shared_bytes,
                  const Parameters& parameters, cudaStream_t stream) {
  void* arguments[] = {const_cast<Parameters*>(&parameters)};
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(threads), arguments,
                          shared_bytes, stream);
}

template <bool kPack>
struct WordsKernel {
  const void** kernel;
  template <int kLog, int kLoops, bool kTables, bool kRanked>
  void operator()() const {
    *kernel = reinterpret_cast<const void*>(&words_kernel<kLog, kLoops, kTables, kRanked, kPack>);
  }
};

template <bool kPack>
struct TilesKernel {
  const void** kernel;
  int parts;
  template <int kLog>
  void operator()() const {
    *kernel = parts == 1 ? reinterpret_cast<const void*>(&tiles_kernel<kLog, 1, kPack>)
                         : reinterpret_cast<const void*>(&tiles_kernel<kLog, 0, kPack>);
  }
};

struct CopyKernel {
  const void** kernel;
  template <int kLog>
  void operator()() const {
    *kernel = reinterpret_cast<const void*>(&copy_kernel<kLog>);
  }
};

template <uint32_t kMost>
cudaError_t enqueue_up_to(const Message* messages, uint32_t n, uint64_t blocks, bool is_pack,
                          cudaStream_t stream) {
  Messages<kMost> many;  // what lies behind the last is not read
  many.count = n;
  std::memcpy(static_cast<void*>(many.messages), messages, n * sizeof(Message));
  return start(is_pack ? reinterpret_cast<const void*>(&many_kernel<kMost, true>)
                       : reinterpret_cast<const void*>(&many_kernel<kMost, false>),
               blocks, kThreads, 0, many, stream);
}

}  // namespace

cudaError_t enqueue_many(const Message* messages, uint32_t n, uint64_t blocks, bool is_pack,
                         cudaStream_t stream) {
  if (blocks > kMostBlocks) return cudaErrorInvalidConfiguration;
  if (n <= 1) return enqueue_up_to<1>(messages, n, blocks, is_pack, stream);
  if (n <= 32) return enqueue_up_to<32>(messages, n, blocks, is_pack, stream);
  return enqueue_up_to<kMostMessages>(messages, n, blocks, is_pack, stream);
}

cudaError_t enqueue(const Launch& launch, bool is_pack, cudaStream_t stream) {
  if (launch.blocks > kMostBlocks) return cudaErrorInvalidConfiguration;
  const void* kernel = nullptr;
  if (launch.way == Launch::Way::kWords) {
    if (is_pack) {
      with_words(launch, WordsKernel<true>{&kernel});
    } else {
      with_words(launch, WordsKernel<false>{&kernel});
    }
    return start(kernel, launch.blocks, launch.threads, 0, launch.words, stream);
  }
  if (launch.way == Launch::Way::kTiles) {
    if (is_pack) {
      with_log(launch.log, TilesKernel<true>{&kernel, launch.parts});
    } else {
      with_log(launch.log, TilesKernel<false>{&kernel, launch.parts});
    }
    return start(kernel, launch.blocks, launch.threads, launch.shared_bytes, launch.tiles, stream);
  }
  return enqueue_many(&launch.message, 1, launch.blocks, is_pack, stream);
}

cudaError_t enqueue_copy(const CopyJob& job, int log, cudaStream_t stream) {
  const uint64_t blocks = (job.last + kUnroll * kThreads - 1) / (kUnroll * kThreads);
  if (blocks > kMostBlocks) return cudaErrorInvalidConfiguration;
  const void* kernel = nullptr;
  with_log(log, CopyKernel{&kernel});
  return start(kernel, blocks, kThreads, 0, job, stream);
}

}  // namespace lacuna::gpu
