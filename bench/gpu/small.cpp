// SPDX-License-Identifier: BSD-3-Clause
//
// The cost of messages that are too small to fill a device; of many of them in one launch; of
// packing into host memory, and of unpacking from there.
#include "bench/gpu/small.hpp"

#include <string>
#include <vector>

#include "bench/gpu/device.hpp"
#include "bench/gpu/kernels/rivals.hpp"
#include "bench/gpu/timing.hpp"

namespace lacuna::bench {
namespace {

// Runs of `run` bytes, with gaps as long, `bytes` in all.
lacuna_type* runs_type(int64_t run, int64_t bytes) {
  lacuna_type* type = nullptr;
  const std::string text = "hvector(" + std::to_string(bytes / run) + ", " + std::to_string(run) +
                           ", " + std::to_string(2 * run) + ", byte)";
  need(lacuna_type_parse(text.c_str(), &type), "type");
  return type;
}

}  // namespace

void small_messages(Report& report) {
  const double nothing = enqueue_time([] { empty(device.stream); });
  report.small("empty launch, enqueued", nothing, "us");
  for (const int64_t bytes : {4096, 65536}) {
    lacuna_type* const type = runs_type(8, bytes);
    lacuna_gpu_plan* plan = nullptr;
    need(lacuna_gpu_plan_create(type, 1, &plan), "plan");
    const double own = enqueue_time([&] {
      need(lacuna_gpu_pack(plan, device.mem, 0, bytes, device.packed, device.stream), "pack");
    });
    report.small(bytes == 4096 ? "pack of 4 KiB, enqueued" : "pack of 64 KiB, enqueued", own, "us");
    report.small(bytes == 4096 ? "pack of 4 KiB / empty launch" : "pack of 64 KiB / empty launch",
                 own / nothing, "times");
    if (bytes == 4096) {
      std::vector<lacuna_gpu_message> messages;
      for (int i = 0; i < 512; ++i)
        messages.push_back({plan, device.mem + i * 16384, device.packed + i * 4096});
      double enqueued[3];
      double whole[3];
      const int64_t counts[] = {1, 64, 480};
      for (int k = 0; k < 3; ++k) {
        const auto many = [&] {
          need(lacuna_gpu_pack_many(counts[k], messages.data(), device.stream), "many");
        };
        enqueued[k] = enqueue_time(many);
        whole[k] = time_of([&](int) { many(); }, kBeyondCache);
      }
      report.small("64 messages of 4 KiB fused, enqueued", enqueued[1], "us");
      report.small("480 messages of 4 KiB fused, enqueued", enqueued[2], "us");
      report.small("a further message, enqueued", (enqueued[2] - enqueued[0]) / 479, "us");
      report.small("64 messages of 4 KiB fused, on the device", whole[1], "us");
      report.small("480 messages of 4 KiB fused, on the device", whole[2], "us");
      report.small("a further message, on the device", (whole[2] - whole[0]) / 479, "us");
    }
    lacuna_gpu_plan_destroy(plan);
    lacuna_type_destroy(type);
  }
}

void mapped_host(Report& report) {
  std::byte* host = nullptr;
  constexpr int64_t kMost = int64_t{64} << 20;
  need(cudaHostAlloc(reinterpret_cast<void**>(&host), kMost, cudaHostAllocMapped), "host memory");
  for (int64_t bytes : {int64_t{1} << 20, int64_t{8} << 20, kMost}) {
    for (const bool packs : {true, false}) {
      const auto copy = [&](int) {
        need(cudaMemcpyAsync(packs ? host : device.mem, packs ? device.mem : host,
                             static_cast<size_t>(bytes), cudaMemcpyDefault, device.stream),
             "copy");
      };
      const double engine = time_of(copy, kBeyondCache);
      for (const int64_t run : {8, 512}) {
        lacuna_type* const type = runs_type(run, bytes);
        lacuna_gpu_plan* plan = nullptr;
        need(lacuna_gpu_plan_create(type, 1, &plan), "plan");
        const auto move = [&](int) {
          need(packs ? lacuna_gpu_pack(plan, device.mem, 0, bytes, host, device.stream)
                     : lacuna_gpu_unpack(plan, host, 0, bytes, device.mem, device.stream),
               packs ? "pack" : "unpack");
        };
        const double own = time_of(move, kBeyondCache);
        const std::string what = std::string(packs ? "into" : "from") + " mapped host, runs of " +
                                 std::to_string(run) + ", " + std::to_string(bytes >> 20) + " MiB";
        report.small(what, static_cast<double>(bytes) / own / 1000, "GB/s");
        report.small(what + " / copy engine", engine / own, "times");
        lacuna_gpu_plan_destroy(plan);
        lacuna_type_destroy(type);
      }
    }
  }
  cudaFreeHost(host);
}

}  // namespace lacuna::bench
