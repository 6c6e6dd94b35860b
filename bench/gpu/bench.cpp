// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna-gpu-bench: how fast datatypes move in a device's memory, against what its own copy does
// with as many bytes as the payload and the touched sectors of 32 bytes, and against rivals
// (rivals.hpp). Each row is checked against the rival by hand before it is timed; times are medians
// of replays of a graph that goes round several buffers, so that none is found in the cache.
//
//   lacuna-gpu-bench [--json FILE] [--quick] [--own] [--sectors]
//
// --own: no rivals. --sectors: asks the device to fetch single sectors into its cache.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <vector>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/rivals.hpp"

namespace lacuna::bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// f(i) enqueues the i-th of several equal operations on other buffers; microseconds for one.
using Operation = std::function<void(int)>;
double time_of(const Operation& f, size_t bytes_touched) {
  const int buffers = static_cast<int>(
      std::clamp<size_t>(kBeyondCache / std::max<size_t>(bytes_touched, 1) + 1, 2, 64));
  cudaEvent_t begin;
  cudaEvent_t end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  const auto timed = [&](const auto& enqueue) {
    need(cudaEventRecord(begin, device.stream), "event");
    enqueue();
    need(cudaEventRecord(end, device.stream), "event");
    need(cudaEventSynchronize(end), "a timed launch");
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    return double{ms} * 1000;
  };
  // Once alone: what takes long is not done often.
  const double alone = timed([&] { f(0); });
  if (alone > 20000) return alone;
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
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  return median(times);
}

// Of the device's own copy of so many bytes; what is larger than 256 MiB at that size's rate.
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

FILE* json = nullptr;
bool with_all_rivals = true;
bool is_first_row = true;
void report(const Case& c, bool is_pack, double own, const std::map<std::string, double>& rivals) {
  // A partly written sector is read first.
  const double bytes = static_cast<double>(c.payload) + c.touched + (is_pack ? 0 : c.partly);
  const double ceiling = copy_time((static_cast<double>(c.payload) + c.touched) / 2);
  const double with_reads = is_pack ? ceiling : copy_time(bytes / 2);
  double fastest = 1e30;
  std::string name;
  for (const auto& [rival, time] : rivals) {
    if (time > 0 && time < fastest) {
      fastest = time;
      name = rival;
    }
  }
  std::printf("%-10s %5lld/%-6lld %5.0fM %-6s %8.1f us %6.0f GB/s %4.0f%% %4.0f%%",
              c.family.c_str(), static_cast<long long>(c.run), static_cast<long long>(c.stride),
              static_cast<double>(c.payload) / kMiB, is_pack ? "pack" : "unpack", own,
              static_cast<double>(c.payload) / own / 1000, 100 * ceiling / own,
              100 * with_reads / own);
  for (const auto& [rival, time] : rivals) std::printf(" %s %.2f", rival.c_str(), time / own);
  std::printf("\n");
  if (json == nullptr) return;
  std::fprintf(
      json,
      "%s\n{\"family\": \"%s\", \"run\": %lld, \"stride\": %lld, \"payload\": %lld, "
      "\"way\": \"%s\", \"us\": %.3f, \"ceiling_us\": %.3f, \"ceiling_with_reads_us\": %.3f",
      is_first_row ? "" : ",", c.family.c_str(), static_cast<long long>(c.run),
      static_cast<long long>(c.stride), static_cast<long long>(c.payload),
      is_pack ? "pack" : "unpack", own, ceiling, with_reads);
  for (const auto& [rival, time] : rivals)
    std::fprintf(json, ", \"%s_us\": %.3f", rival.c_str(), time);
  std::fprintf(json, "}");
  is_first_row = false;
}

void check(const char* what, const std::byte* a, const std::byte* b, size_t bytes) {
  need(cudaMemsetAsync(device.differing, 0, 8, device.stream), "memset");
  compare(a, b, bytes, device.differing, device.stream);
  unsigned long long differing = 0;
  need(cudaMemcpyAsync(&differing, device.differing, 8, cudaMemcpyDeviceToHost, device.stream),
       "copy");
  need(cudaStreamSynchronize(device.stream), what);
  if (differing == 0) return;
  ++device.failures;
  std::printf("WRONG: %s, %llu words\n", what, differing);
}

void measure(Case& c, bool with_rivals) {
  lacuna_gpu_plan* plan = nullptr;
  need(lacuna_gpu_plan_create(c.type, c.count, &plan), "plan");
  const auto bytes = static_cast<size_t>(c.payload);
  const size_t span = (static_cast<size_t>(c.span) + 255) / 256 * 256;
  const size_t stream_bytes = (bytes + 255) / 256 * 256;
  for (const bool is_pack : {true, false}) {
    const auto own = [&](std::byte* mem, std::byte* packed) {
      need(is_pack ? lacuna_gpu_pack(plan, mem, 0, c.payload, packed, device.stream)
                   : lacuna_gpu_unpack(plan, packed, 0, c.payload, mem, device.stream),
           "lacuna");
    };
    // Checked first; unpacking: into two images that were equal.
    if (is_pack) {
      fill(device.mem, span, 1, device.stream);
      fill(device.packed, stream_bytes, 2, device.stream);
      fill(device.other, stream_bytes, 2, device.stream);
      own(device.mem, device.packed);
      c.hand(true, device.mem, device.other);
      check(c.family.c_str(), device.packed, device.other, stream_bytes);
    } else {
      fill(device.mem, span, 3, device.stream);
      fill(device.mem + span, span, 3, device.stream);
      fill(device.packed, stream_bytes, 4, device.stream);
      own(device.mem, device.packed);
      c.hand(false, device.mem + span, device.packed);
      check(c.family.c_str(), device.mem, device.mem + span, span);
    }
    const auto timed = [&](const auto& f, double share) {
      if (!f) return 0.0;
      return share * time_of(
                         [&](int i) {
                           const auto n = static_cast<size_t>(i);
                           f(device.mem + span * (n % (kMemBytes / span)),
                             device.packed + stream_bytes * (n % (kPackedBytes / stream_bytes)));
                         },
                         span + bytes);
    };
    const double time = timed(std::function<void(std::byte*, std::byte*)>(own), 1);
    std::map<std::string, double> rivals;
    const auto rival = [&](const char* name, const auto& f, double share) {
      if (!f || !with_rivals || !with_all_rivals) return;
      rivals[name] = timed(std::function<void(std::byte*, std::byte*)>(
                               [&](std::byte* m, std::byte* p) { f(is_pack, m, p); }),
                           share);
    };
    rival("hand", c.hand, 1);
    rival("element", c.element, 1);
    if (c.copy2d && with_all_rivals && c.copy2d(is_pack, device.mem, device.packed)) {
      rival("2d", std::function<void(bool, std::byte*, std::byte*)>(c.copy2d), 1);
    } else {
      cudaGetLastError();
    }
    rival("blocks", c.blocks, c.block_share);
    report(c, is_pack, time, rivals);
  }
  lacuna_gpu_plan_destroy(plan);
  lacuna_type_destroy(c.type);
}

double now_us() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count();
}

// Of one call on the host, as many as a queue takes.
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

void small_row(const char* what, double value, const char* unit) {
  std::printf("%-44s %9.3f %s\n", what, value, unit);
  if (json == nullptr) return;
  std::fprintf(json,
               "%s\n{\"family\": \"small\", \"what\": \"%s\", \"value\": %.4f, \"unit\": \"%s\"}",
               is_first_row ? "" : ",", what, value, unit);
  is_first_row = false;
}

void small_messages() {
  const double nothing = enqueue_time([] { empty(device.stream); });
  small_row("empty launch, enqueued", nothing, "us");
  for (const int64_t bytes : {4096, 65536}) {
    Case c = strided(8, 16, bytes);
    lacuna_gpu_plan* plan = nullptr;
    need(lacuna_gpu_plan_create(c.type, 1, &plan), "plan");
    const double own = enqueue_time([&] {
      need(lacuna_gpu_pack(plan, device.mem, 0, bytes, device.packed, device.stream), "pack");
    });
    small_row(bytes == 4096 ? "pack of 4 KiB, enqueued" : "pack of 64 KiB, enqueued", own, "us");
    small_row(bytes == 4096 ? "pack of 4 KiB / empty launch" : "pack of 64 KiB / empty launch",
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
      small_row("64 messages of 4 KiB fused, enqueued", enqueued[1], "us");
      small_row("480 messages of 4 KiB fused, enqueued", enqueued[2], "us");
      small_row("a further message, enqueued", (enqueued[2] - enqueued[0]) / 479, "us");
      small_row("64 messages of 4 KiB fused, on the device", whole[1], "us");
      small_row("480 messages of 4 KiB fused, on the device", whole[2], "us");
      small_row("a further message, on the device", (whole[2] - whole[0]) / 479, "us");
    }
    lacuna_gpu_plan_destroy(plan);
    lacuna_type_destroy(c.type);
  }
}

void mapped_host() {
  std::byte* host = nullptr;
  constexpr int64_t kMost = int64_t{64} << 20;
  need(cudaHostAlloc(reinterpret_cast<void**>(&host), kMost, cudaHostAllocMapped), "host memory");
  for (int64_t bytes : {int64_t{1} << 20, int64_t{8} << 20, kMost}) {
    const double engine = time_of(
        [&](int) {
          need(cudaMemcpyAsync(host, device.mem, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost,
                               device.stream),
               "copy");
        },
        kBeyondCache);
    for (const int64_t run : {8, 512}) {
      Case c = strided(run, 2 * run, bytes);
      lacuna_gpu_plan* plan = nullptr;
      need(lacuna_gpu_plan_create(c.type, 1, &plan), "plan");
      const double own = time_of(
          [&](int) {
            need(lacuna_gpu_pack(plan, device.mem, 0, bytes, host, device.stream), "pack");
          },
          kBeyondCache);
      const std::string what = "mapped host, runs of " + std::to_string(run) + ", " +
                               std::to_string(bytes >> 20) + " MiB";
      small_row(what.c_str(), static_cast<double>(bytes) / own / 1000, "GB/s");
      small_row((what + " / copy engine").c_str(), engine / own, "times");
      lacuna_gpu_plan_destroy(plan);
      lacuna_type_destroy(c.type);
    }
  }
  cudaFreeHost(host);
}

int run(bool is_quick) {
  need(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking), "stream");
  need(cudaMalloc(reinterpret_cast<void**>(&device.mem), kMemBytes), "memory");
  need(cudaMalloc(reinterpret_cast<void**>(&device.packed), kPackedBytes), "memory");
  need(cudaMalloc(reinterpret_cast<void**>(&device.other), size_t{1} << 29), "memory");
  need(cudaMalloc(reinterpret_cast<void**>(&device.differing), 8), "memory");
  need(cudaMalloc(reinterpret_cast<void**>(&device.list), size_t{1} << 28), "memory");
  fill(device.mem, kMemBytes, 1, device.stream);
  fill(device.packed, kPackedBytes, 2, device.stream);
  cudaDeviceProp properties;
  need(cudaGetDeviceProperties(&properties, 0), "properties");
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  for (const size_t mib : {1, 4, 16, 64, 256}) {
    const double us = copy_time(static_cast<double>(mib * kMiB));
    std::printf("memcpy of %zu MiB: %.1f us, %.0f GB/s read and written\n", mib, us,
                2e-3 * static_cast<double>(mib * kMiB) / us);
  }
  std::printf(
      "columns: run/stride, payload, time, payload rate, share of touched sectors at memcpy's "
      "rate, "
      "the same with partly written sectors read; rivals' times over ours\n");
  const std::vector<int64_t> sizes =
      is_quick ? std::vector<int64_t>{1, 16, 256} : std::vector<int64_t>{1, 4, 16, 64, 256};
  for (const int64_t mib : sizes) {
    const auto payload = mib * static_cast<int64_t>(kMiB);
    for (const int64_t run : {8, 16, 32, 64, 128, 256, 512, 1024, 4096}) {
      Case c = strided(run, 2 * run, payload);
      measure(c, !is_quick || mib > 1);
    }
    for (const auto& [run, stride] :
         {std::pair<int64_t, int64_t>{8, 24}, {8, 128}, {24, 40}, {40, 4096}}) {
      if (run == 40 && mib > 16) continue;
      Case c = strided(run, stride, payload / run * run);
      if (run % 16 != 0 && run != 8) c.hand = c.element;  // not a power of two
      measure(c, !is_quick || mib > 1);
    }
    for (const int64_t run : {8, 64, 512, 4096}) {
      Case c = listed(run, 2 * run, payload);
      measure(c, !is_quick || mib > 1);
    }
  }
  for (const int64_t mib : sizes) {
    Case c = records(mib * static_cast<int64_t>(kMiB));
    measure(c, true);
    c = parts(mib * static_cast<int64_t>(kMiB));
    measure(c, true);
  }
  for (const int64_t n : {360, 720, 1440, 2048, 2880, 5760}) {
    if (is_quick && n == 720) continue;
    Case c = transposed(n);
    measure(c, true);
  }
  small_messages();
  mapped_host();
  std::printf("%d rows were wrong\n", device.failures);
  return device.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lacuna::bench

int main(int argc, char** argv) {
  bool is_quick = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      is_quick = true;
    } else if (std::strcmp(argv[i], "--own") == 0) {
      lacuna::bench::with_all_rivals = false;
    } else if (std::strcmp(argv[i], "--sectors") == 0) {
      lacuna::bench::need(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 32), "limit");
    } else if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
      lacuna::bench::json = std::fopen(argv[++i], "w");
    } else {
      std::fprintf(stderr, "lacuna-gpu-bench [--json FILE] [--quick] [--own] [--sectors]\n");
      return 2;
    }
  }
  if (lacuna::bench::json != nullptr) std::fprintf(lacuna::bench::json, "[");
  const int code = lacuna::bench::run(is_quick);
  if (lacuna::bench::json != nullptr) {
    std::fprintf(lacuna::bench::json, "\n]\n");
    std::fclose(lacuna::bench::json);
  }
  return code;
}
