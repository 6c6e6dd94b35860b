/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a device that processes share, as CUDA's driver has it (cuMemCreate and what belongs to
 * it). Each piece is a memory file. Programs have reserved addresses for it without any access; the
 * device finds it somewhere else. */
#define _GNU_SOURCE
#include "tests/interpose/device/fake_shared.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What goes wrong: set by tests. */
EXPORT int fake_refuses_sharing;  /* 1: to make memory that others can map; 2: to map others' */
EXPORT int fake_confuses_sharing; /* maps other memory than that which was asked for */
EXPORT long fake_shared_bytes;

enum { kRanges = 64 };
/* A handle is the descriptor of its file and 1. */
struct range {
  uintptr_t begin; /* as programs see it; 0: free */
  size_t bytes;
  unsigned char* shadow;
  int is_mapped, is_allowed;
};
static struct range ranges[kRanges];

static struct range* range_at(uintptr_t address) {
  for (int i = 0; i < kRanges; ++i)
    if (ranges[i].begin != 0 && address - ranges[i].begin < ranges[i].bytes) return &ranges[i];
  return NULL;
}

int is_shared(uintptr_t address) {
  LOCKED;
  return range_at(address) != NULL;
}

void* reach_shared(uintptr_t address) {
  LOCKED;
  const struct range* range = range_at(address);
  return range != NULL && range->is_allowed ? range->shadow + (address - range->begin) : NULL;
}

enum { kUnit = 2 << 20 };
EXPORT int cuMemGetAllocationGranularity(size_t* bytes, const void* kind, int option) {
  (void)kind, (void)option;
  *bytes = kUnit;
  return 0;
}
/* The driver's own files have other numbers than those of a program's streams. */
static int high(int file) {
  const int other = file >= 0 ? fcntl(file, F_DUPFD_CLOEXEC, 300) : -1;
  if (file >= 0) close(file);
  return other;
}
EXPORT int cuMemCreate(uint64_t* handle, size_t bytes, const int* kind, unsigned long long flags) {
  /* CUmemAllocationProp: pinned, by descriptor, on a device, of ordinal 0. */
  const int is_right = kind[0] == 1 && kind[1] == 1 && kind[2] == 1 && kind[3] == 0;
  const int file = high(memfd_create("shared", MFD_CLOEXEC));
  (void)flags;
  if (!is_right || bytes % kUnit != 0 || fake_refuses_sharing == 1 || file < 0 ||
      ftruncate(file, (off_t)bytes) != 0)
    return 2;
  *handle = (uint64_t)file + 1;
  return 0;
}
EXPORT int cuMemRelease(uint64_t handle) { return close((int)handle - 1) == 0 ? 0 : 1; }
EXPORT int cuMemAddressReserve(uintptr_t* address, size_t bytes, size_t alignment, uintptr_t wanted,
                               unsigned long long flags) {
  LOCKED;
  void* memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  (void)alignment, (void)wanted, (void)flags;
  for (int i = 0; i < kRanges && memory != MAP_FAILED; ++i) {
    if (ranges[i].begin != 0) continue;
    ranges[i] = (struct range){(uintptr_t)memory, bytes, NULL, 0, 0};
    *address = ranges[i].begin;
    return 0;
  }
  return 2;
}
EXPORT int cuMemAddressFree(uintptr_t address, size_t bytes) {
  LOCKED;
  struct range* range = range_at(address);
  if (range == NULL || range->begin != address || range->bytes != bytes || range->is_mapped)
    return 1;
  munmap((void*)address, bytes);
  range->begin = 0;
  return 0;
}
EXPORT int cuMemMap(uintptr_t address, size_t bytes, size_t offset, uint64_t handle,
                    unsigned long long flags) {
  LOCKED;
  struct range* range = range_at(address);
  struct stat status;
  int file = (int)handle - 1;
  (void)flags;
  if (range == NULL || range->is_mapped || offset != 0 || fstat(file, &status) != 0 ||
      (size_t)status.st_size != bytes || range->bytes != bytes)
    return 1;
  if (fake_confuses_sharing) file = memfd_create("other", MFD_CLOEXEC);
  if (fake_confuses_sharing && ftruncate(file, (off_t)bytes) != 0) return 2;
  void* there = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (fake_confuses_sharing) close(file);
  if (there == MAP_FAILED) return 2;
  range->shadow = there;
  range->is_mapped = 1;
  range->is_allowed = 0;
  fake_shared_bytes += (long)bytes;
  return 0;
}
EXPORT int cuMemUnmap(uintptr_t address, size_t bytes) {
  LOCKED;
  struct range* range = range_at(address);
  if (range == NULL || !range->is_mapped || range->bytes != bytes) return 1;
  munmap(range->shadow, bytes);
  range->is_mapped = range->is_allowed = 0;
  fake_shared_bytes -= (long)bytes;
  return 0;
}
EXPORT int cuMemSetAccess(uintptr_t address, size_t bytes, const int* access, size_t count) {
  LOCKED;
  struct range* range = range_at(address);
  /* CUmemAccessDesc: a device, of ordinal 0, to read and write. */
  const int is_right = count == 1 && access[0] == 1 && access[1] == 0 && access[2] == 3;
  if (range == NULL || !range->is_mapped || range->bytes != bytes || !is_right) return 1;
  range->is_allowed = 1;
  return 0;
}
/* As the driver, which may give the number of a standard stream. */
EXPORT int cuMemExportToShareableHandle(void* descriptor, uint64_t handle, int kind,
                                        unsigned long long flags) {
  const int copy = kind == 1 && flags == 0 ? dup((int)handle - 1) : -1;
  *(int*)descriptor = copy;
  return copy >= 0 ? 0 : 1;
}
EXPORT int cuMemImportFromShareableHandle(uint64_t* handle, void* descriptor, int kind) {
  const int copy = kind == 1 && fake_refuses_sharing != 2
                       ? fcntl((int)(intptr_t)descriptor, F_DUPFD_CLOEXEC, 300)
                       : -1;
  *handle = (uint64_t)copy + 1;
  return copy >= 0 ? 0 : 1;
}

void unmap_shared(void) {
  LOCKED;
  for (int i = 0; i < kRanges; ++i)
    if (ranges[i].is_mapped) cuMemUnmap(ranges[i].begin, ranges[i].bytes);
}
