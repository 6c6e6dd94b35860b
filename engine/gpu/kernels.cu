// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels on the device; their bodies are in bodies/.
#include <cstring>

#include "gpu/kernels.hpp"

namespace lacuna::gpu {
namespace {

template <int kLog, int kLoops, bool kTables, bool kRanked, bool kPack, typename Runs = Ranked>
__global__ void __launch_bounds__(256)
    words_kernel(const __grid_constant__ WordsJobOf<kLoops, Runs> job) {
  move_of<kLog, kLoops, kTables, kRanked, kPack>(job, blockIdx.x, threadIdx.x, blockDim.x);
}

template <int kLog, int kParts, bool kPack, int kOuter>
__global__ void __launch_bounds__(kTileThreads)
    tiles_kernel(const __grid_constant__ TilesJobOf<kOuter> job) {
  using Word = WordOf<kLog>;
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
  const uint32_t tile = block - message.first_tile;
  const uint32_t i =
      last_at_most(message.pieces, tile, [&](uint32_t k) { return message.tiles[k]; });
  const auto* const from = reinterpret_cast<const uint64_t*>(message.rows + i);
  for (uint32_t k = threadIdx.x; k < sizeof(PieceRow) / 8; k += kThreads)
    reinterpret_cast<uint64_t*>(&row)[k] = from[k];
  const uint32_t first = i == 0 ? 0 : message.tiles[i];
  __syncthreads();
  move_piece_of<kPack>(row, message, tile - first, threadIdx.x);
}

template <int kLog>
__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ CopyJob job) {
  copy_of<kLog>(job, blockIdx.x, threadIdx.x, kThreads);
}

template <typename Parameters>
cudaError_t start(const void* kernel, uint64_t blocks, uint32_t threads, uint32_t shared_bytes,
                  const Parameters& parameters, cudaStream_t stream) {
  void* arguments[] = {const_cast<Parameters*>(&parameters)};
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(threads), arguments,
                          shared_bytes, stream);
}

template <bool kPack>
struct StartWords {
  const Launch& launch;
  cudaStream_t stream;
  cudaError_t* error;
  template <int kLog, int kLoops, bool kTables, bool kRanked>
  void operator()() const {
    const void* const kernel =
        reinterpret_cast<const void*>(&words_kernel<kLog, kLoops, kTables, kRanked, kPack>);
    *error =
        start(kernel, launch.blocks, launch.threads, 0, narrowed<kLoops>(launch.words), stream);
  }
  template <int kLog, bool kTables>
  void of_records() const {
    const void* const kernel =
        reinterpret_cast<const void*>(&words_kernel<kLog, 1, kTables, true, kPack, Record>);
    *error = start(kernel, launch.blocks, launch.threads, 0,
                   records_job(launch.words, launch.record), stream);
  }
};

template <bool kPack>
struct StartTiles {
  const Launch& launch;
  cudaStream_t stream;
  cudaError_t* error;
  template <int kLog, int kParts, int kOuter>
  void operator()() const {
    const void* const kernel =
        reinterpret_cast<const void*>(&tiles_kernel<kLog, kParts, kPack, kOuter>);
    *error = start(kernel, launch.blocks, launch.threads, launch.shared_bytes,
                   narrowed<kOuter>(launch.tiles), stream);
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
  Messages<kMost> many;  // the rest of the array is not read
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
  if (n <= 16) return enqueue_up_to<16>(messages, n, blocks, is_pack, stream);
  if (n <= 96) return enqueue_up_to<96>(messages, n, blocks, is_pack, stream);
  return enqueue_up_to<kMostMessages>(messages, n, blocks, is_pack, stream);
}

namespace {

template <bool kPack>
cudaError_t enqueue_one(const Launch& launch, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  switch (launch.way) {
    case Launch::Way::kWords:
    case Launch::Way::kBytes:
      with_words(launch, StartWords<kPack>{launch, stream, &error});
      return error;
    case Launch::Way::kTiles:
      with_tiles(launch, StartTiles<kPack>{launch, stream, &error});
      return error;
    default:
      return enqueue_many(&launch.message, 1, launch.blocks, kPack, stream);
  }
}

}  // namespace

cudaError_t enqueue(const Launch& launch, bool is_pack, cudaStream_t stream) {
  if (launch.blocks > kMostBlocks) return cudaErrorInvalidConfiguration;
  return is_pack ? enqueue_one<true>(launch, stream) : enqueue_one<false>(launch, stream);
}

cudaError_t enqueue_copy(const CopyJob& job, int log, cudaStream_t stream) {
  const uint64_t blocks = blocks_of_copy(job, log);
  if (blocks > kMostBlocks) return cudaErrorInvalidConfiguration;
  const void* kernel = nullptr;
  with_log(log, CopyKernel{&kernel});
  return start(kernel, blocks, kThreads, 0, job, stream);
}

}  // namespace lacuna::gpu
