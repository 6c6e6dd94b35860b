// SPDX-License-Identifier: BSD-3-Clause
//
// Timing of operations on a device. On the device: by replays of a graph that cycles through
// several buffers, so that none is in the cache. On the host: by calls that only enqueue.
#ifndef LACUNA_BENCH_GPU_TIMING_HPP_
#define LACUNA_BENCH_GPU_TIMING_HPP_

#include <cstddef>
#include <functional>
#include <vector>

#include "bench/harness/median.hpp"

namespace lacuna::bench {

constexpr size_t kBeyondCache = size_t{160} << 20;  // bytes of all buffers of an operation

double now_us();
// f(i) enqueues the operation on the i-th buffer. Microseconds for one operation.
double time_of(const std::function<void(int)>& f, size_t bytes_touched);
// Microseconds of one call on the host, without waiting for a full queue.
double enqueue_time(const std::function<void()>& f);
// Microseconds of the device's own copy of so many bytes; above 256 MiB at that size's rate.
double copy_time(double bytes);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_TIMING_HPP_
