// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_BENCH_GPU_SMALL_HPP_
#define LACUNA_BENCH_GPU_SMALL_HPP_

#include "bench/gpu/report.hpp"

namespace lacuna::bench {

// Messages of 4 and 64 KiB enqueued, over an empty launch; up to 480 of them in one launch.
void small_messages(Report& report);
// Packing into mapped memory of the host, over the copy engine.
void mapped_host(Report& report);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_SMALL_HPP_
