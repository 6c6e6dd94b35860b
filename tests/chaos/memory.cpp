// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that lacuna is refused now and then: this program's own malloc, mmap and aligned_alloc, to
// callers in lacuna's code alone (tests/interpose/faults_test.cpp).
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "chaos.hpp"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

uintptr_t g_begin = 0, g_end = 0;  // lacuna's code
std::atomic<bool> g_on{false};
std::atomic<unsigned> g_asked{0};

int find_lacuna(dl_phdr_info* info, size_t, void*) {
  if (std::strstr(info->dlpi_name, "liblacuna-") == nullptr) return 0;
  g_begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (begin < g_begin) g_begin = begin;
    if (begin + info->dlpi_phdr[i].p_memsz > g_end) g_end = begin + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

bool fails(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  if (!g_on.load(std::memory_order_relaxed) || address < g_begin || address >= g_end) return false;
  const unsigned asked = g_asked.fetch_add(1) * 2654435761U >> 8;
  if (asked % static_cast<unsigned>(chaos::g_refused) != 0) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

void chaos::refuse_memory(bool on) {
  if (g_refused == 0) return;
  if (g_end == 0) dl_iterate_phdr(find_lacuna, nullptr);
  g_on.store(on);
}

#define CALLER __builtin_return_address(0)

extern "C" {

void* malloc(size_t bytes) noexcept { return fails(CALLER) ? nullptr : __libc_malloc(bytes); }

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return fails(CALLER) ? nullptr : __libc_memalign(alignment, bytes);
}

void* mmap(void* address, size_t length, int protection, int flags, int file,
           off_t offset) noexcept {
  if (fails(CALLER)) return MAP_FAILED;
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, length, protection, flags, file, offset));
}
}
