// SPDX-License-Identifier: BSD-3-Clause
//
// Enqueues launches on a stream (kernels.cu).
#ifndef LACUNA_ENGINE_GPU_KERNELS_HPP_
#define LACUNA_ENGINE_GPU_KERNELS_HPP_

#include <cuda_runtime_api.h>

#include "gpu/plan.hpp"

namespace lacuna::gpu {

// So many fit the parameters of one launch.
inline constexpr uint32_t kMostMessages = 480;

// For kWords, kBytes, kTiles and kMany.
cudaError_t enqueue(const Launch& launch, bool is_pack, cudaStream_t stream);
// At most kMostMessages, whose first_tile is set; blocks > 0.
cudaError_t enqueue_many(const Message* messages, uint32_t n, uint64_t blocks, bool is_pack,
                         cudaStream_t stream);
cudaError_t enqueue_copy(const CopyJob& job, int log, cudaStream_t stream);

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_KERNELS_HPP_
