// SPDX-License-Identifier: BSD-3-Clause
//
// Calls perf_event_open directly. A library (PAPI, libpfm4) would bring names of events, of which
// only one is needed here: misses of the L2, for which the kernel has no name (cpus.cpp has it).
#include "costs/misses/counters.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "machine/cpus.hpp"

namespace lacuna::costs {
namespace {

struct Event {
  const char* name;
  uint32_t type;
  uint64_t config;
};

constexpr uint64_t cache(uint64_t which, uint64_t op, uint64_t result) {
  return which | op << 8 | result << 16;
}

constexpr uint64_t kRead = PERF_COUNT_HW_CACHE_OP_READ;
constexpr uint64_t kWrite = PERF_COUNT_HW_CACHE_OP_WRITE;
constexpr uint64_t kAccess = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
constexpr uint64_t kMiss = PERF_COUNT_HW_CACHE_RESULT_MISS;

std::vector<Event> events() {
  constexpr auto kHardware = PERF_TYPE_HARDWARE;
  constexpr auto kCache = PERF_TYPE_HW_CACHE;
  std::vector<Event> found = {
      {"cycles", kHardware, PERF_COUNT_HW_CPU_CYCLES},
      {"instructions", kHardware, PERF_COUNT_HW_INSTRUCTIONS},
      {"loads", kCache, cache(PERF_COUNT_HW_CACHE_L1D, kRead, kAccess)},
      {"stores", kCache, cache(PERF_COUNT_HW_CACHE_L1D, kWrite, kAccess)},
      {"l1_load_misses", kCache, cache(PERF_COUNT_HW_CACHE_L1D, kRead, kMiss)},
      {"l3_load_misses", kCache, cache(PERF_COUNT_HW_CACHE_LL, kRead, kMiss)},
      {"l3_misses", kHardware, PERF_COUNT_HW_CACHE_MISSES},
      {"tlb_load_misses", kCache, cache(PERF_COUNT_HW_CACHE_DTLB, kRead, kMiss)},
      {"tlb_store_misses", kCache, cache(PERF_COUNT_HW_CACHE_DTLB, kWrite, kMiss)},
      // A software event of the kernel, available on every machine.
      {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
  };
  // The event of the real CPU, whatever row LACUNA_CPU selects.
  const uint64_t l2_misses = choose_cpu("", host_cpu_id()).row->l2_miss_event;
  if (l2_misses != 0) found.push_back({"l2_misses", PERF_TYPE_RAW, l2_misses});
  return found;
}

int paranoid() {
  int level = 0;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
  return level;
}

Counted count_one(const Event& event, int repetitions, const std::function<void()>& work) {
  Counted counted{event.name, 0, ""};
  perf_event_attr wanted;
  std::memset(&wanted, 0, sizeof wanted);
  wanted.size = sizeof wanted;
  wanted.type = event.type;
  wanted.config = event.config;
  wanted.disabled = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const auto file = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0));
  if (file < 0) {
    counted.why = why_not(errno, paranoid());
    return counted;
  }
  struct {
    uint64_t value, enabled, running;
  } read_back = {};
  ioctl(file, PERF_EVENT_IOC_RESET, 0);
  ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
  for (int i = 0; i < repetitions; ++i) work();
  ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
  const bool is_read = read(file, &read_back, sizeof read_back) == sizeof read_back;
  close(file);
  if (!is_read || read_back.running == 0) {
    counted.why = "the counter never ran: it is in use by another process";
    return counted;
  }
  // Scaled, if the counter was multiplexed and ran only part of the time.
  counted.value = static_cast<double>(read_back.value) * static_cast<double>(read_back.enabled) /
                  static_cast<double>(read_back.running) / repetitions;
  return counted;
}

}  // namespace

std::string why_not(int error, int paranoid) {
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "this machine has no such counter (few virtual machines have any)";
    case EACCES:
    case EPERM:
      return "not allowed: kernel.perf_event_paranoid is " + std::to_string(paranoid) +
             "; remedy: sysctl kernel.perf_event_paranoid=1";
    case ENOSYS:
      return "this kernel has no perf_event";
    default:
      return std::string("perf_event_open: ") + std::strerror(error);
  }
}

std::vector<Counted> count(int repetitions, const std::function<void()>& work) {
  std::vector<Counted> found;
  for (const Event& event : events()) found.push_back(count_one(event, repetitions, work));
  return found;
}

}  // namespace lacuna::costs
