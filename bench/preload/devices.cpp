// SPDX-License-Identifier: BSD-3-Clause
// Messages of a derived type in the memory of CUDA devices between two ranks: lacuna's packed data
// lie in pinned memory of the host, or in the device's. `lacuna tune --gpu` starts it where the MPI
// library takes addresses of devices. The driver is loaded at run time.
//
// Usage: lacuna-bench-devices-FAMILY --out FILE [--most BYTES] [--seconds S]          (two ranks)
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/harness/arguments.hpp"
#include "bench/harness/job.hpp"
#include "bench/harness/json_lines.hpp"
#include "bench/preload/lines.hpp"

namespace lacuna::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProgram = "lacuna-bench-devices";
[[noreturn]] void fail(const std::string& what) { fail_job(kProgram, what); }

constexpr int kTag = 1;
constexpr int kRunDoubles = 8;  // of twice as many
constexpr int64_t kRun = kRunDoubles * sizeof(double);
constexpr int64_t kLeastBytes = int64_t{16} << 10;
constexpr double kBatchSeconds = 4e-4;
constexpr int kLeastRounds = 5;

// By name, as programs without CUDA's headers call the driver. LACUNA_TEST_CUDA: another file.
void* driver() {
  const char* const path = std::getenv("LACUNA_TEST_CUDA");
  static void* const found =
      dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return found;
}
template <typename... Arguments>
bool call(const char* name, Arguments... arguments) {
  const auto function = driver() != nullptr
                            ? reinterpret_cast<int (*)(Arguments...)>(dlsym(driver(), name))
                            : nullptr;
  return function != nullptr && function(arguments...) == 0;
}

// Whether that is so in both ranks.
bool holds_in_both(bool here) {
  const int mine = here ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

// The ranks of a node take its devices in turn. Ends the job if one has none.
void take_device() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0, devices = 0, device = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  void* context = nullptr;
  const char* const remedy =
      "run where an NVIDIA device and its driver are (nvidia-smi shows them)";
  if (!holds_in_both(driver() != nullptr))
    refuse_job(kProgram, "no CUDA device: the ranks do not find the driver libcuda.so.1", remedy);
  if (!holds_in_both(call("cuInit", 0U) && call("cuDeviceGetCount", &devices) && devices > 0 &&
                     call("cuDeviceGet", &device, rank % devices) &&
                     call("cuDevicePrimaryCtxRetain", &context, device) &&
                     call("cuCtxSetCurrent", context)))
    refuse_job(kProgram, "no CUDA device: the driver finds none that works", remedy);
}

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) {
    if (!call("cuMemAlloc_v2", &at_, bytes))
      fail("the device has no " + std::to_string(bytes) + " bytes of memory");
  }
  ~DeviceMemory() { call("cuMemFree_v2", at_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* get() const { return reinterpret_cast<void*>(at_); }
  void write(const std::vector<unsigned char>& from) const {
    if (!call("cuMemcpy", at_, reinterpret_cast<uintptr_t>(from.data()), from.size()))
      fail("a copy to the device failed");
  }
  void read(std::vector<unsigned char>* to) const {
    if (!call("cuMemcpy", reinterpret_cast<uintptr_t>(to->data()), at_, to->size()))
      fail("a copy from the device failed");
  }

 private:
  uintptr_t at_ = 0;
};

// From so many bytes on, packed data lie in the device's memory; below 0: never.
void set_device_memory(int64_t from) {
  static const auto set = preloaded<void (*)(int64_t)>("lacuna_interposed_device_memory");
  if (set == nullptr) fail("lacuna is not loaded");
  set(from);
}

struct Way {
  const char* name;
  int64_t from;
  std::vector<double> seconds;
  int iterations;
};

class Exchange {
 public:
  Exchange(int64_t bytes, int rank)
      : runs_(static_cast<int>(bytes / kRun)),
        rank_(rank),
        span_(static_cast<size_t>(2 * bytes)),
        source_(span_),
        target_(span_) {
    MPI_Type_vector(runs_, kRunDoubles, 2 * kRunDoubles, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
    std::vector<unsigned char> data(span_);
    for (size_t i = 0; i < span_; ++i) data[i] = value(rank, i);
    source_.write(data);
  }
  ~Exchange() { MPI_Type_free(&type_); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Seconds of one message.
  double batch(const Way& way, int iterations) const {
    set_device_memory(way.from);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = Clock::now();
    for (int i = 0; i < iterations; ++i) {
      if (rank_ == 0) send();
      MPI_Recv(target_.get(), 1, type_, 1 - rank_, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank_ == 1) send();
    }
    return std::chrono::duration<double>(Clock::now() - begin).count() / iterations / 2;
  }

  // All bytes of the target are compared.
  double verify(const Way& way) const {
    std::vector<unsigned char> got(span_, 0x5a);
    target_.write(got);
    const double seconds = batch(way, 1);
    target_.read(&got);
    for (size_t i = 0; i < span_; ++i) {
      const bool is_sent = i % (2 * kRun) < kRun;
      if (got[i] != (is_sent ? value(1 - rank_, i) : 0x5a))
        fail("wrong data by way " + std::string(way.name) + " at byte " + std::to_string(i));
    }
    return seconds;
  }

 private:
  static unsigned char value(int rank, size_t i) {
    return static_cast<unsigned char>(i * 7 + i / 251 + static_cast<size_t>(rank) * 31 + 1);
  }
  void send() const { MPI_Send(source_.get(), 1, type_, 1 - rank_, kTag, MPI_COMM_WORLD); }

  int runs_;
  int rank_;
  size_t span_;
  DeviceMemory source_, target_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

int agreed(int value) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

void run(int64_t bytes, double seconds, int rank, JsonLines& out) {
  const Exchange exchange(bytes, rank);
  Way ways[] = {{"host", -1, {}, 1}, {"device", 0, {}, 1}};
  for (Way& way : ways) {
    exchange.verify(way);
    const double once = exchange.batch(way, 1);
    way.iterations = agreed(
        static_cast<int>(std::clamp(std::ceil(kBatchSeconds / once / 2), 1.0, double{1000})));
  }
  const auto begin = Clock::now();
  for (int round = 0, more = 1; more != 0; ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      Way& way = ways[(round + turn) % 2];
      way.seconds.push_back(exchange.batch(way, way.iterations));
    }
    const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    more = agreed(round + 1 < kLeastRounds || spent < seconds);
  }
  const std::string id = "device/" + std::to_string(bytes);
  out.write("{\"kind\": \"row\", \"id\": " + json_string(id) +
            ", \"bytes\": " + std::to_string(bytes) + "}");
  for (const Way& way : ways) out.write(times_line(id, way.name, "", way.iterations, way.seconds));
}

// What the library says; LACUNA_GPU_STAGING=device: the user says so.
bool takes_devices() {
  const auto ask = preloaded<int (*)()>("MPIX_Query_cuda_support");
  const char* const said = std::getenv("LACUNA_GPU_STAGING");
  return (ask != nullptr && ask() != 0) || (said != nullptr && std::string(said) == "device");
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = begin_pair(kProgram, &argc, &argv);
  std::string place, most = std::to_string(int64_t{64} << 20);
  double seconds = 0.2;
  read_arguments(argc, argv,
                 {text_argument("--out", place), text_argument("--most", most),
                  seconds_argument("--seconds", seconds)},
                 fail);
  if (place.empty()) fail("--out FILE is needed");
  take_device();
  if (!holds_in_both(takes_devices()))
    refuse_job(kProgram,
               "nothing to measure: the MPI library does not say that it takes addresses of CUDA "
               "devices (MPIX_Query_cuda_support), so packed data lie in memory of the host",
               "if it does take them, set LACUNA_GPU_STAGING=device");
  JsonLines out;
  if (rank == 0 && !out.open(place)) fail("cannot write " + place + ": " + std::strerror(errno));
  std::vector<int64_t> sizes;
  for (int64_t bytes = kLeastBytes; bytes <= std::atoll(most.c_str()); bytes *= 4)
    sizes.push_back(bytes);
  out.write(header_line(sizes.size(), nodes_field(rank)));
  for (const int64_t bytes : sizes) run(bytes, seconds, rank, out);
  out.write(kEndLine);
  MPI_Finalize();
  return 0;
}

}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
