// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/faults/refused_memory.hpp"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);
}

namespace {

uintptr_t g_begin = 0;  // lacuna's code
uintptr_t g_end = 0;
std::atomic<int64_t> g_held{0};
std::atomic<bool> g_refuses_access{false};

int look_at(dl_phdr_info* info, size_t, void*) {
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

bool is_lacuna(const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  return address >= g_begin && address < g_end;
}

bool fails(const void* caller) {
  if (!is_lacuna(caller) || !test::is_refused()) return false;
  errno = ENOMEM;
  return true;
}

void* counted(void* memory, const void* caller) {
  if (is_lacuna(caller)) g_held.fetch_add(static_cast<int64_t>(malloc_usable_size(memory)));
  return memory;
}

}  // namespace

void test::find_lacuna() { dl_iterate_phdr(look_at, nullptr); }
bool test::knows_lacuna() { return g_begin < g_end; }
void test::refuse_access(bool refuses) { g_refuses_access.store(refuses); }
int64_t test::bytes_held() { return g_held.load(); }

#define CALLER __builtin_return_address(0)

// Programs are compiled with hidden symbols.
#pragma GCC visibility push(default)
extern "C" {

void* malloc(size_t bytes) noexcept {
  return fails(CALLER) ? nullptr : counted(__libc_malloc(bytes), CALLER);
}

void free(void* memory) noexcept {
  if (is_lacuna(CALLER)) g_held.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)));
  __libc_free(memory);
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return fails(CALLER) ? nullptr : counted(__libc_memalign(alignment, bytes), CALLER);
}

void* mmap(void* address, size_t length, int protection, int flags, int file,
           off_t offset) noexcept {
  if (fails(CALLER)) return MAP_FAILED;
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, length, protection, flags, file, offset));
}

int mprotect(void* address, size_t length, int protection) noexcept {
  if (g_refuses_access.load() && is_lacuna(CALLER)) {
    errno = ENOMEM;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mprotect, address, length, protection));
}
}
#pragma GCC visibility pop
