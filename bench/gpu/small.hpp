// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_BENCH_GPU_SMALL_HPP_
#define LACUNA_BENCH_GPU_SMALL_HPP_

#include "bench/gpu/report.hpp"

namespace lacuna::bench {

// Enqueues messages of 4 and 64 KiB, compared with an empty launch; up to 480 of them in one
// launch.
void small_messages(Report& report);
// Packing into mapped host memory, compared with the copy engine.
void mapped_host(Report& report);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_SMALL_HPP_
