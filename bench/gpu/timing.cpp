// SPDX-License-Identifier: BSD-3-Clause
#include "bench/gpu/timing.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "bench/gpu/device.hpp"

namespace lacuna::bench {

double now_us() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count();
}

double time_of(const std::function<void(int)>& f, size_t bytes_touched) {
  const int buffers = static_cast<int>(
      std::clamp<size_t>(kBeyondCache / std::max<size_t>(bytes_touched, 1) + 1, 2, 64));
  cudaEvent_t begin;
  cudaEvent_t end;
  need(cudaEventCreate(&begin), "event");
  need(cudaEventCreate(&end), "event");
  const auto timed = [&](const auto& enqueue) {
    need(cudaEventRecord(begin, device.stream), "event");
    enqueue();
    need(cudaEventRecord(end, device.stream), "event");
    need(cudaEventSynchronize(end), "a timed launch");
    float ms = 0;
    need(cudaEventElapsedTime(&ms, begin, end), "event");
    return double{ms} * 1000;
  };
  // Once by itself first, so that slow operations are not repeated often.
  const double alone = timed([&] { f(0); });
  double result = alone;
  if (alone <= 20000) {
    const int in_graph = std::clamp(static_cast<int>(20000 / alone), 2, std::max(buffers, 8));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    need(cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeGlobal), "capture");
    for (int i = 0; i < in_graph; ++i) f(i % buffers);
    need(cudaStreamEndCapture(device.stream, &graph), "end of capture");
    need(cudaGraphInstantiate(&exec, graph, 0), "graph");
    std::vector<double> times;
    double spent = 0;
    for (int i = 0; i < 21 && (i < 4 || spent < 12000); ++i) {
      const double us = timed([&] { need(cudaGraphLaunch(exec, device.stream), "launch"); });
      if (i > 0) times.push_back(us / in_graph);
      spent += us;
    }
    result = median(times);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return result;
}

double enqueue_time(const std::function<void()>& f) {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    need(cudaStreamSynchronize(device.stream), "synchronize");
    const double begin = now_us();
    for (int k = 0; k < 200; ++k) f();
    times.push_back((now_us() - begin) / 200);
  }
  need(cudaStreamSynchronize(device.stream), "synchronize");
  return median(times);
}

double copy_time(double bytes) {
  constexpr double kMost = 256.0 * kMiB;
  if (bytes > kMost) return copy_time(kMost) * bytes / kMost;
  static std::map<size_t, double> known;
  const size_t size = (static_cast<size_t>(bytes) + 4095) / 4096 * 4096;
  const auto found = known.find(size);
  if (found != known.end()) return found->second;
  const double time = time_of(
      [&](int i) {
        const size_t at = size * static_cast<size_t>(i);
        need(cudaMemcpyAsync(device.mem + kMemBytes / 2 + at, device.mem + at, size,
                             cudaMemcpyDeviceToDevice, device.stream),
             "copy");
      },
      2 * size);
  return known[size] = time;
}

}  // namespace lacuna::bench
