// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna-gpu-probe: the numbers of a CUDA device that `lacuna machine --gpu` shows and keeps: the
// rate of its own copy by size, the cost of a launch on the host and on the device, and the links
// to the host and to other devices. One JSON object on stdout; progress on stderr.
//
//   lacuna-gpu-probe [--facts | --quick]
//
// --facts: only describes the device, without measurements. --quick: fewer sizes.
#include <cstring>
#include <string>

#include "bench/gpu/kernels/rivals.hpp"
#include "bench/gpu/report.hpp"
#include "bench/gpu/timing.hpp"

namespace lacuna::bench {
namespace {

constexpr size_t kRoom = size_t{1} << 30;  // of either side of copies
constexpr size_t kLinkBytes = size_t{64} << 20;
constexpr size_t kSmallBytes = 4096;

class Probe {
 public:
  explicit Probe(bool is_quick) : is_quick_(is_quick) {
    need(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking), "stream");
    need(cudaStreamCreateWithFlags(&other_stream_, cudaStreamNonBlocking), "stream");
    need(cudaMalloc(reinterpret_cast<void**>(&device.mem), 2 * kRoom), "2 GiB of its memory");
    need(cudaHostAlloc(reinterpret_cast<void**>(&host_), 2 * kLinkBytes, cudaHostAllocMapped),
         "pinned memory");
    std::memset(host_, 1, 2 * kLinkBytes);
    fill(device.mem, 2 * kRoom, 1, device.stream);
  }

  void measure() {
    step("copies in its memory");
    copies();
    step("launches");
    launches();
    step("the link to the host");
    link();
    step("other devices");
    peers();
  }

  std::string json(const Members& device_facts) const {
    return object({{"lacuna_gpu", "1"},
                   {"facts", object(device_facts)},
                   {"numbers", object(numbers_)},
                   {"copy_curve", "[" + curve_ + "]"}});
  }

 private:
  void step(const char* what) {
    std::fprintf(stderr, "{\"what\": \"%s\", \"done\": %d, \"of\": 4}\n", what, done_++);
  }

  void note(const std::string& name, double value, const char* unit, const char* meaning) {
    numbers_.push_back(
        {name,
         object({{"value", number(value)}, {"unit", quoted(unit)}, {"meaning", quoted(meaning)}})});
  }

  void copies() {
    double us = 0;
    for (size_t bytes = size_t{1} << 14; bytes <= size_t{1} << 28; bytes *= is_quick_ ? 16 : 4) {
      us = time_of(
          [&](int i) {
            const size_t at = bytes * static_cast<size_t>(i);
            need(cudaMemcpyAsync(device.mem + kRoom + at, device.mem + at, bytes,
                                 cudaMemcpyDeviceToDevice, device.stream),
                 "copy");
          },
          2 * bytes);
      curve_ += (curve_.empty() ? "[" : ", [") + std::to_string(bytes) + ", " + number(us) + "]";
      most_ = bytes;
    }
    note("copy_bytes_per_ns", static_cast<double>(most_) / us / 1000, "GB/s",
         "its own copy of the largest size, each byte read and written");
    us = time_of(
        [&](int) { need(cudaMemsetAsync(device.mem, 0, kRoom / 4, device.stream), "memset"); },
        kRoom / 4);
    note("write_bytes_per_ns", static_cast<double>(kRoom / 4) / us / 1000, "GB/s",
         "its own memset of 256 MiB");
  }

  static double until_done(const std::function<void()>& f) {
    std::vector<double> times;
    for (int i = 0; i < 101; ++i) {
      const double begin = now_us();
      f();
      need(cudaStreamSynchronize(device.stream), "synchronize");
      times.push_back(now_us() - begin);
    }
    return median(times);
  }

  void launches() {
    const auto launch = [] { empty(device.stream); };
    launch();
    note("enqueue_us", enqueue_time(launch), "us", "a launch on the host, until the call returns");
    note("kernel_us", time_of([&](int) { launch(); }, 1), "us",
         "an empty kernel in a graph, on the device");
    note("launch_us", until_done(launch), "us",
         "an empty kernel, from the call until the host has seen its end");
    note("copy_enqueue_us", enqueue_time([] {
           need(cudaMemcpyAsync(device.mem, device.mem + kRoom, kSmallBytes,
                                cudaMemcpyDeviceToDevice, device.stream),
                "copy");
         }),
         "us", "a copy of 4 KiB on the host, until the call returns");
  }

  void copy(bool is_to_host, size_t bytes, cudaStream_t stream) const {
    need(is_to_host ? cudaMemcpyAsync(host_, device.mem, bytes, cudaMemcpyDeviceToHost, stream)
                    : cudaMemcpyAsync(device.mem + kRoom, host_ + kLinkBytes, bytes,
                                      cudaMemcpyHostToDevice, stream),
         "copy");
  }

  void link() {
    const auto rate = [](double us) { return static_cast<double>(kLinkBytes) / us / 1000; };
    for (const bool is_to_host : {true, false}) {
      const std::string name = is_to_host ? "to_host" : "to_device";
      const double us = until_done([&] { copy(is_to_host, kLinkBytes, device.stream); });
      note(name + "_bytes_per_ns", rate(us), "GB/s",
           is_to_host ? "64 MiB to pinned memory of the host" : "64 MiB from it");
      note(name + "_us", until_done([&] { copy(is_to_host, kSmallBytes, device.stream); }), "us",
           "4 KiB of that, until the host has seen the end");
    }
    const double both = until_done([&] {
      copy(true, kLinkBytes, device.stream);
      copy(false, kLinkBytes, other_stream_);
      need(cudaStreamSynchronize(other_stream_), "synchronize");
    });
    note("both_ways_bytes_per_ns", 2 * rate(both), "GB/s", "the same both ways at once, added up");
    void* mapped = nullptr;
    need(cudaHostGetDevicePointer(&mapped, host_, 0), "mapped memory");
    const double us =
        until_done([&] { fill(static_cast<std::byte*>(mapped), kLinkBytes, 5, device.stream); });
    note("mapped_write_bytes_per_ns", rate(us), "GB/s",
         "a kernel's stores into mapped memory of the host");
  }

  void peers() {
    int devices = 0;
    int own = 0;
    need(cudaGetDeviceCount(&devices), "devices");
    need(cudaGetDevice(&own), "the current device");
    for (int peer = 0; peer < devices; ++peer) {
      int can = 0;
      if (peer == own || cudaDeviceCanAccessPeer(&can, own, peer) != cudaSuccess || can == 0)
        continue;
      std::byte* there = nullptr;
      need(cudaSetDevice(peer), "a peer");
      need(cudaMalloc(reinterpret_cast<void**>(&there), kLinkBytes), "a peer's memory");
      need(cudaSetDevice(own), "the device");
      const cudaError_t opened = cudaDeviceEnablePeerAccess(peer, 0);
      if (opened != cudaErrorPeerAccessAlreadyEnabled) need(opened, "a peer's memory");
      for (const bool is_out : {true, false}) {
        const double us = until_done([&] {
          need(is_out
                   ? cudaMemcpyPeerAsync(there, peer, device.mem, own, kLinkBytes, device.stream)
                   : cudaMemcpyPeerAsync(device.mem, own, there, peer, kLinkBytes, device.stream),
               "copy");
        });
        note((is_out ? "to_device_" : "from_device_") + std::to_string(peer) + "_bytes_per_ns",
             static_cast<double>(kLinkBytes) / us / 1000, "GB/s",
             is_out ? "64 MiB to that device" : "64 MiB from it");
      }
      cudaFree(there);
    }
  }

  bool is_quick_;
  int done_ = 0;
  size_t most_ = 0;
  std::byte* host_ = nullptr;
  cudaStream_t other_stream_ = nullptr;
  Members numbers_;
  std::string curve_;
};

}  // namespace
}  // namespace lacuna::bench

int main(int argc, char** argv) {
  using lacuna::bench::facts;
  using lacuna::bench::object;
  const std::string option = argc == 2 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && option != "--facts" && option != "--quick")) {
    std::fprintf(stderr, "lacuna-gpu-probe: usage: lacuna-gpu-probe [--facts | --quick]\n");
    return 2;
  }
  const cudaDeviceProp properties = lacuna::bench::need_device("lacuna-gpu-probe");
  if (option == "--facts") {
    std::printf("%s\n",
                object({{"lacuna_gpu", "1"}, {"facts", object(facts(properties))}}).c_str());
    return 0;
  }
  lacuna::bench::Probe probe(option == "--quick");
  probe.measure();
  std::printf("%s\n", probe.json(facts(properties)).c_str());
  return 0;
}
