// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory can only come from a runtime that is loaded into the process, and any library may
// load one at any time. The loader counts the objects that it has loaded: if that number has not
// changed, there is no new runtime.
#include "interpose/library/device.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/options.hpp"
#include "interpose/library/gate.hpp"

extern "C" void* __libc_stack_end;  // NOLINT: the loader's name

namespace lacuna {
namespace {

// CUDA's driver interface, as far as it is needed (cuda.h: CUpointer_attribute, CUmemorytype).
using PointerAttributeFn = int (*)(void* data, int attribute, uintptr_t address);
using PointerAttributesFn = int (*)(unsigned count, int* attributes, void** data,
                                    uintptr_t address);
constexpr int kContext = 1;
constexpr int kMemoryType = 2;
constexpr int kIsManaged = 8;
constexpr int kOrdinal = 9;
constexpr unsigned kHostMemory = 1;
constexpr unsigned kDeviceMemory = 2;
constexpr int kSuccess = 0;

// Whether an error of a query means an address that CUDA has never heard of: the value is invalid,
// or there is no context. Any other error (a kernel has failed, the driver has ended) tells
// nothing.
bool is_unknown_address(int error) noexcept {
  constexpr int kInvalidValue = 1;
  constexpr int kNotInitialized = 3;
  constexpr int kInvalidContext = 201;
  return error == kInvalidValue || error == kNotInitialized || error == kInvalidContext;
}

enum class Runtimes : int { kNone, kCuda, kOthers };

constinit std::atomic<unsigned long long> g_seen_loads{0};
constinit std::atomic<Runtimes> g_runtimes{Runtimes::kNone};
constinit std::atomic<void*> g_driver{nullptr};
constinit std::atomic<PointerAttributeFn> g_pointer_attribute{nullptr};
constinit std::atomic<PointerAttributesFn> g_pointer_attributes{nullptr};
constinit std::atomic<void (*)()> g_when_found{nullptr};

int read_load_count(dl_phdr_info* info, size_t, void* count) {
  *static_cast<unsigned long long*>(count) = info->dlpi_adds;
  return 1;
}

struct Found {
  char* cuda = nullptr;  // a copy
  bool others = false;
};

bool is_called(const char* path, const char* name) {
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : path, name, std::strlen(name)) == 0;
}

int look_at_object(dl_phdr_info* info, size_t, void* data) {
  auto* found = static_cast<Found*>(data);
  if (found->cuda == nullptr && is_called(info->dlpi_name, "libcuda.so")) {
    found->cuda = strdup(info->dlpi_name);
    if (found->cuda == nullptr) found->others = true;
  }
  found->others = found->others || is_called(info->dlpi_name, "libamdhip64.so") ||
                  is_called(info->dlpi_name, "libze_loader.so") ||
                  is_called(info->dlpi_name, "libsycl.so");
  return 0;
}

// False: it cannot be queried.
bool find_driver(const char* path) {
  void* cuda = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  g_driver.store(cuda, std::memory_order_release);
  const auto find = [cuda](const char* name) {
    return cuda != nullptr ? dlsym(cuda, name) : nullptr;
  };
  const auto one = reinterpret_cast<PointerAttributeFn>(find("cuPointerGetAttribute"));
  g_pointer_attribute.store(one, std::memory_order_release);
  g_pointer_attributes.store(reinterpret_cast<PointerAttributesFn>(find("cuPointerGetAttributes")),
                             std::memory_order_release);
  return one != nullptr;
}

// Before the bit is set: what was decided without devices is forgotten first.
void announce_devices() noexcept {
  void (*const when_found)() = g_when_found.load(std::memory_order_acquire);
  if (when_found == nullptr || is_watched(kDevices) || !option_flag(OptionId::kGpu)) return;
  when_found();
  g_gate.watched.fetch_or(kDevices, std::memory_order_release);
}

// A runtime that cannot be queried counts as kOthers: any address may then be a device's.
void look_again(unsigned long long loads) noexcept {
  Found found;
  dl_iterate_phdr(look_at_object, &found);
  Runtimes runtimes = found.others ? Runtimes::kOthers : Runtimes::kNone;
  if (found.cuda != nullptr) {
    if (!find_driver(found.cuda)) runtimes = Runtimes::kOthers;
    std::free(found.cuda);
    if (runtimes == Runtimes::kNone) runtimes = Runtimes::kCuda;
  }
  g_runtimes.store(runtimes, std::memory_order_release);
  g_seen_loads.store(loads, std::memory_order_release);
  if (runtimes == Runtimes::kCuda) announce_devices();
}

// Host memory for certain: the program's image and the main thread's stack always; the heap below
// the program break, as last read while no device runtime was loaded. Most small messages lie
// there, and querying the loader costs as much as packing them.
struct Addresses {
  uintptr_t first;
  uintptr_t bytes;
};

// The first object is the program.
int measure_program(dl_phdr_info* info, size_t, void* data) {
  uintptr_t first = UINTPTR_MAX;
  uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    first = begin < first ? begin : first;
    end = begin + segment.p_memsz > end ? begin + segment.p_memsz : end;
  }
  if (first < end) *static_cast<Addresses*>(data) = {first, end - first};
  return 1;
}

Addresses program_image() noexcept {
  Addresses image{0, 0};
  dl_iterate_phdr(measure_program, &image);
  return image;
}

const Addresses g_program = program_image();
const uintptr_t g_heap = reinterpret_cast<uintptr_t>(sbrk(0));
constinit std::atomic<uintptr_t> g_heap_end{0};
constexpr uintptr_t kMostHeap = uintptr_t{64} << 30;  // beyond that it is not the heap
// Other threads' stacks are further away from the main thread's.
constexpr uintptr_t kMostStack = uintptr_t{64} << 20;

bool is_plainly_host(uintptr_t address) noexcept {
  if (address - g_program.first < g_program.bytes) return true;
  if (address >= g_heap && address < g_heap_end.load(std::memory_order_relaxed))
    return g_runtimes.load(std::memory_order_acquire) == Runtimes::kNone;
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto bottom = reinterpret_cast<uintptr_t>(__libc_stack_end);
  return bottom - frame < kMostStack && address - frame < bottom - frame;
}

// sbrk() may cost a system call, more than querying the loader, so its result is kept.
void measure_heap(uintptr_t address) noexcept {
  if (address - g_heap >= kMostHeap) return;
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  if (address < end) g_heap_end.store(end, std::memory_order_relaxed);
}

unsigned long long count_loads() noexcept {
  unsigned long long loads = 0;
  dl_iterate_phdr(read_load_count, &loads);
  return loads;
}

// By a driver that only has the query for one attribute.
Where where_without_place(uintptr_t address) noexcept {
  unsigned type = kHostMemory;
  const int error =
      g_pointer_attribute.load(std::memory_order_acquire)(&type, kMemoryType, address);
  const bool is_host = error == kSuccess ? type == kHostMemory : is_unknown_address(error);
  return is_host ? Where::kHost : Where::kElsewhere;
}

// Which runtimes are loaded now.
Runtimes runtimes_now() noexcept {
  const unsigned long long loads = count_loads();
  if (loads != g_seen_loads.load(std::memory_order_acquire)) look_again(loads);
  return g_runtimes.load(std::memory_order_acquire);
}

}  // namespace

bool has_device_runtime() noexcept { return runtimes_now() != Runtimes::kNone; }

bool may_be_on_device(const void* address) noexcept {
  DevicePlace place;
  return where_is(address, &place) != Where::kHost;
}

Where where_is(const void* address, DevicePlace* place) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  if (is_plainly_host(at)) return Where::kHost;
  switch (runtimes_now()) {
    case Runtimes::kNone:
      measure_heap(at);
      return Where::kHost;
    case Runtimes::kOthers:
      return Where::kElsewhere;
    case Runtimes::kCuda:
      break;
  }
  const PointerAttributesFn ask = g_pointer_attributes.load(std::memory_order_acquire);
  if (ask == nullptr) return where_without_place(at);
  int attributes[] = {kMemoryType, kContext, kIsManaged, kOrdinal};
  unsigned type = 0;
  unsigned is_managed = 0;
  DevicePlace found;
  void* data[] = {&type, &found.context, &is_managed, &found.ordinal};
  const int error = ask(4, attributes, data, at);
  if (error != kSuccess) return is_unknown_address(error) ? Where::kHost : Where::kElsewhere;
  // Of an address that CUDA has never heard of, the type is 0.
  if (type == 0 || type == kHostMemory) return Where::kHost;
  if (type != kDeviceMemory || (is_managed & 0xFF) != 0) return Where::kElsewhere;
  *place = found;
  return Where::kDevice;
}

namespace {

int look_for_runtime(dl_phdr_info* info, size_t, void* found) {
  if (is_called(info->dlpi_name, "libcudart.so")) *static_cast<bool*>(found) = true;
  return 0;
}

// Whether the program has kernels in it, as nvcc puts them there.
bool has_kernels() noexcept {
  constexpr char kSection[] = ".nv_fatbin";
  constexpr int kMostSections = 200;
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto read_at = [file](void* to, size_t bytes, uint64_t offset) {
    return pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  };
  ElfW(Ehdr) head{};
  ElfW(Shdr) names{};
  ElfW(Shdr) section{};
  bool is_there = false;
  if (read_at(&head, sizeof(head), 0) && head.e_shentsize == sizeof(section) &&
      head.e_shnum < kMostSections &&
      read_at(&names, sizeof(names), head.e_shoff + head.e_shstrndx * sizeof(section))) {
    for (unsigned i = 0; i < head.e_shnum && !is_there; ++i) {
      char name[sizeof(kSection)] = "";
      is_there = read_at(&section, sizeof(section), head.e_shoff + i * sizeof(section)) &&
                 read_at(name, sizeof(name), names.sh_offset + section.sh_name) &&
                 std::memcmp(name, kSection, sizeof(kSection)) == 0;
    }
  }
  close(file);
  return is_there;
}

}  // namespace

// Most programs load the driver when they first call CUDA, perhaps after they have made their
// types. So programs that will load it are recognised in MPI_Init.
void look_for_devices(void (*call)()) noexcept {
  g_when_found.store(call, std::memory_order_release);
  bool is_expected = false;
  dl_iterate_phdr(look_for_runtime, &is_expected);
  if (is_expected || has_kernels()) announce_devices();
  look_again(count_loads());
}

void notice_devices() noexcept { static_cast<void>(runtimes_now()); }

void* driver_function(const char* name) noexcept {
  void* const driver = g_driver.load(std::memory_order_acquire);
  return driver != nullptr ? dlsym(driver, name) : nullptr;
}

}  // namespace lacuna
