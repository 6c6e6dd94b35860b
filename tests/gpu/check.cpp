// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna-gpu-check: random types on a device against the typemap, through lacuna_gpu.h: whole and
// in slices, packed, unpacked, from layout to layout and many messages in one launch, at any
// alignment, with the bytes of all gaps and of margins around each buffer compared afterwards; and
// the same calls captured in a graph.
//
//   lacuna-gpu-check [--first SEED] [--seeds N] [--threads N]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpu/cases.hpp"
#include "lacuna/lacuna_gpu.h"

namespace lacuna::testing {
namespace {

constexpr size_t kMargin = 256;

void need(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "lacuna-gpu-check: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(3);
}

// Memory of the device between margins, as an image on the host before and after.
class Buffer {
 public:
  ~Buffer() { cudaFree(base_); }
  void take(size_t bytes, size_t pad, cudaStream_t stream) {
    const size_t all = bytes + pad + 2 * kMargin;
    if (all > capacity_) {
      cudaFree(base_);
      capacity_ = 2 * all;
      need(cudaMalloc(reinterpret_cast<void**>(&base_), capacity_), "memory");
    }
    bytes_ = bytes;
    pad_ = pad;
    want_.assign(all, std::byte{0x5A});
    stream_ = stream;
  }
  std::byte* data() const { return base_ + kMargin + pad_; }
  // What the host has of it; to be filled, and then sent.
  std::byte* host() { return want_.data() + kMargin + pad_; }
  void send() const {
    need(cudaMemcpyAsync(base_, want_.data(), want_.size(), cudaMemcpyHostToDevice, stream_),
         "copy to the device");
  }
  // Compares with `want` inside and with what was sent outside.
  std::string differs(const char* what, const std::byte* want) {
    std::vector<std::byte> got(want_.size());
    need(cudaMemcpyAsync(got.data(), base_, got.size(), cudaMemcpyDeviceToHost, stream_),
         "copy from the device");
    need(cudaStreamSynchronize(stream_), what);
    if (bytes_ > 0) std::memcpy(host(), want, bytes_);
    return differ(what, got.data(), want_.data(), got.size());
  }

 private:
  std::byte* base_ = nullptr;
  size_t capacity_ = 0;
  size_t bytes_ = 0;
  size_t pad_ = 0;
  std::vector<std::byte> want_;
  cudaStream_t stream_ = nullptr;
};

struct PlanOf {
  PlanOf(const Type& type, int64_t count) {
    status = lacuna_gpu_plan_create(reinterpret_cast<const lacuna_type*>(&type), count, &plan);
  }
  PlanOf(const PlanOf&) = delete;
  PlanOf& operator=(const PlanOf&) = delete;
  ~PlanOf() { lacuna_gpu_plan_destroy(plan); }
  lacuna_gpu_plan* plan = nullptr;
  lacuna_status status;
};

class Checker {
 public:
  Checker() { need(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }

  std::string check(const Case& c) {
    const Expected expected(c);
    Choices choices(c.seed + 7);
    const PlanOf own(*c.type, c.count);
    if (own.status != LACUNA_OK) return std::string("plan: ") + lacuna_gpu_last_error();
    const auto bytes = static_cast<size_t>(expected.packed_bytes());
    const auto pad = [&] { return static_cast<size_t>(choices.below(2) * choices.below(16)); };
    mem_.take(expected.span(), pad(), stream_);
    packed_.take(bytes, pad(), stream_);
    std::byte* const origin = mem_.data() - expected.low();
    const int way = static_cast<int>(choices.below(4));
    expected.fill(mem_.host(), expected.span(), 1);
    mem_.send();
    packed_.send();
    std::string wrong = run(
        way, c, choices,
        [&](int64_t begin, int64_t end) {
          return lacuna_gpu_pack(own.plan, origin, begin, end, packed_.data() + begin, stream_);
        },
        expected.packed_bytes(),
        [&] {
          const lacuna_gpu_message message = {own.plan, origin, packed_.data()};
          return lacuna_gpu_pack_many(1, &message, stream_);
        });
    if (wrong.empty()) wrong = packed_.differs("pack", expected.packed().data());
    if (!wrong.empty() || !c.receivable) return wrong;
    expected.fill(mem_.host(), expected.span(), 2);
    mem_.send();
    const std::vector<std::byte> want = expected.unpacked();
    wrong = run(
        way, c, choices,
        [&](int64_t begin, int64_t end) {
          return lacuna_gpu_unpack(own.plan, packed_.data() + begin, begin, end, origin, stream_);
        },
        expected.packed_bytes(),
        [&] {
          const lacuna_gpu_message message = {own.plan, origin, packed_.data()};
          return lacuna_gpu_unpack_many(1, &message, stream_);
        });
    if (wrong.empty()) wrong = mem_.differs("unpack", want.data());
    if (!wrong.empty() || bytes == 0) return wrong;
    // From layout to layout: into other memory of the same type.
    other_.take(expected.span(), pad(), stream_);
    expected.fill(other_.host(), expected.span(), 1);
    other_.send();
    expected.fill(mem_.host(), expected.span(), 2);
    mem_.send();
    const lacuna_status status =
        lacuna_gpu_copy(own.plan, other_.data() - expected.low(), own.plan, origin, stream_);
    if (status == LACUNA_UNSUPPORTED) return "";
    if (status != LACUNA_OK) return std::string("copy: ") + lacuna_gpu_last_error();
    return mem_.differs("copy", want.data());
  }

 private:
  // Whole, in slices, as one of many messages, or in slices that a graph was made of.
  template <typename Slice, typename Whole>
  std::string run(int way, const Case& c, Choices& choices, const Slice& slice, int64_t total,
                  const Whole& whole) {
    lacuna_status status = LACUNA_OK;
    const bool is_graph = way == 3 && c.seed % 4 == 0;
    if (is_graph)
      need(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
    if (way == 0) {
      status = slice(0, total);
    } else if (way == 1) {
      status = whole();
    } else {
      const int64_t unit = choices.below(2) == 0 ? 16 : 1;
      std::vector<int64_t> cuts = {0, total};
      for (int64_t i = choices.below(5); i > 0; --i)
        cuts.push_back(choices.below(total + 1) / unit * unit);
      std::sort(cuts.begin(), cuts.end());
      for (size_t i = 0; i + 1 < cuts.size() && status == LACUNA_OK; ++i)
        status = slice(cuts[i], cuts[i + 1]);
    }
    if (is_graph) {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t exec = nullptr;
      need(cudaStreamEndCapture(stream_, &graph), "end of capture");
      need(cudaGraphInstantiate(&exec, graph, 0), "graph");
      need(cudaGraphLaunch(exec, stream_), "launch of the graph");
      need(cudaStreamSynchronize(stream_), "graph");
      cudaGraphExecDestroy(exec);
      cudaGraphDestroy(graph);
    }
    return status == LACUNA_OK ? "" : lacuna_gpu_last_error();
  }

  cudaStream_t stream_ = nullptr;
  Buffer mem_;
  Buffer packed_;
  Buffer other_;
};

int run(uint64_t first, uint64_t seeds, unsigned threads) {
  std::atomic<uint64_t> next = first;
  std::atomic<int> failures = 0;
  std::mutex mutex;
  const auto work = [&] {
    Checker checker;
    for (uint64_t seed = next++; seed < first + seeds && failures < 5; seed = next++) {
      const Case c = device_case(seed);
      const std::string wrong = checker.check(c);
      if (wrong.empty()) continue;
      ++failures;
      const std::lock_guard lock(mutex);
      std::fprintf(stderr, "FAILED %.2000s\n  %s\n", repro(c).c_str(), wrong.c_str());
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  std::printf("lacuna-gpu-check: %llu random types from %llu, %d failures\n",
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(first),
              failures.load());
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lacuna::testing

int main(int argc, char** argv) {
  uint64_t first = 0;
  uint64_t seeds = 10000;
  uint64_t threads = 8;
  for (int i = 1; i + 1 < argc; i += 2) {
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--first") == 0) {
      first = value;
    } else if (std::strcmp(argv[i], "--seeds") == 0) {
      seeds = value;
    } else if (std::strcmp(argv[i], "--threads") == 0) {
      threads = value;
    } else {
      std::fprintf(stderr, "lacuna-gpu-check [--first SEED] [--seeds N] [--threads N]\n");
      return 2;
    }
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "lacuna-gpu-check: no CUDA device\n");
    return 3;
  }
  return lacuna::testing::run(first, seeds, static_cast<unsigned>(threads));
}
