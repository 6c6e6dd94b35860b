// SPDX-License-Identifier: BSD-3-Clause
//
// How operations on a device are timed: on the device by replays of a graph that goes round several
// buffers, so that none is found in the cache; on the host by calls that only enqueue.
#ifndef LACUNA_BENCH_GPU_TIMING_HPP_
#define LACUNA_BENCH_GPU_TIMING_HPP_

#include <cstddef>
#include <functional>
#include <vector>

namespace lacuna::bench {

constexpr size_t kBeyondCache = size_t{160} << 20;  // of all buffers that an operation goes round

double median(std::vector<double> values);
double now_us();
// f(i) enqueues the i-th of several equal operations on other buffers; microseconds for one.
double time_of(const std::function<void(int)>& f, size_t bytes_touched);
// Microseconds that one call takes on the host, of as many as a queue takes.
double enqueue_time(const std::function<void()>& f);
// Of the device's own copy of so many bytes; what is larger than 256 MiB at that size's rate.
double copy_time(double bytes);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_TIMING_HPP_
