/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libcuda.so.1 without a device. Its device memory is mapped twice: where programs have it
 * without any access, so that whoever touches it by the CPU crashes, and once more for this library
 * and fake_mover.cpp (fake_reach). The functions are those of cuda.h that lacuna and its tests
 * call. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/interpose/device/fake_shared.h"

enum { kBlocks = 256, kPins = 256 };
static const size_t kArena = (size_t)256 << 20;
static const size_t kPage = 4096;

/* What goes wrong: set by tests. */
EXPORT int fake_refuses_pinning;
EXPORT int fake_refuses_arenas; /* pins no memory of the direct path */
EXPORT int fake_captures;       /* a stream that waits for the default one is being captured */
EXPORT int fake_is_of_a_pool;   /* memory has no context of its own */
EXPORT int fake_reset_unmaps;   /* also what processes share, which CUDA's driver keeps */
/* How often an address was asked for. */
EXPORT long fake_queries;
/* How often memory of the direct path was pinned, and how many bytes of it are. */
EXPORT long fake_arena_pins, fake_arena_bytes;

struct block {
  uintptr_t begin;
  size_t bytes;
  int is_used, is_managed, is_arena;
  int is_pushed;             /* allocated by a library, which has pushed its context */
  unsigned long long number; /* of its context */
  void* context;
};
static struct block blocks[kBlocks];
static struct block pins[kPins];
static unsigned char *seen, *shadow; /* as programs see it; as this library does */
static size_t used_bytes;

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
int lock_fake(void) { return pthread_mutex_lock(&mutex) == 0; }
void unlock_fake(const int* is_locked) {
  if (*is_locked) pthread_mutex_unlock(&mutex);
}

static int make_arena(void) {
  if (seen != NULL) return 0;
  const int file = memfd_create("device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)kArena) != 0) return 2;
  /* For MPI libraries that are said to take addresses of devices: they may touch it. */
  const int access =
      getenv("LACUNA_TEST_CUDA_IS_OPEN") != NULL ? PROT_READ | PROT_WRITE : PROT_NONE;
  seen = mmap(NULL, kArena, access, MAP_SHARED | MAP_NORESERVE, file, 0);
  shadow = mmap(NULL, kArena, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  return seen == MAP_FAILED || shadow == MAP_FAILED ? 2 : 0;
}

/* Lets the CPU touch device memory, as if it were the host's; or no longer. */
EXPORT void fake_open(int is_open) {
  LOCKED;
  if (make_arena() == 0) mprotect(seen, kArena, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static int is_in(const struct block* block, uintptr_t address) {
  return block->is_used && address - block->begin < block->bytes;
}

static const struct block* find(const struct block* all, uintptr_t address) {
  for (int i = 0; i < kBlocks; ++i)
    if (is_in(&all[i], address)) return &all[i];
  return NULL;
}

/* Where a device would find this memory; null: it cannot reach it. */
EXPORT void* fake_reach(const void* memory) {
  LOCKED;
  const uintptr_t address = (uintptr_t)memory;
  const struct block* block = find(blocks, address);
  if (is_shared(address)) return reach_shared(address);
  if (block != NULL && !block->is_managed) return shadow + (address - (uintptr_t)seen);
  return block != NULL || find(pins, address) != NULL ? (void*)address : NULL;
}

static int add(struct block* all, uintptr_t begin, size_t bytes, int is_managed) {
  for (int i = 0; i < kBlocks; ++i) {
    if (all[i].is_used) continue;
    all[i] = (struct block){begin,         bytes, 1, is_managed, 0, is_pushed(), current_number(),
                            fake_context()};
    return 0;
  }
  return 2;
}

static int drop(struct block* all, uintptr_t begin) {
  for (int i = 0; i < kBlocks; ++i) {
    if (!all[i].is_used || all[i].begin != begin) continue;
    all[i].is_used = 0;
    return 0;
  }
  return 1;
}

EXPORT int cuInit(unsigned flags) {
  LOCKED;
  (void)flags;
  return make_arena();
}
EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
/* A block that was freed is given again, if it has the same size. */
EXPORT int cuMemAlloc_v2(uintptr_t* address, size_t bytes) {
  LOCKED;
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (make_arena() != 0) return 2;
  for (int i = kBlocks - 1; i >= 0; --i) {
    if (blocks[i].is_used || blocks[i].begin == 0 || blocks[i].bytes != bytes) continue;
    blocks[i].is_used = 1;
    blocks[i].is_managed = 0;
    blocks[i].is_pushed = is_pushed();
    blocks[i].number = current_number();
    blocks[i].context = fake_context();
    *address = blocks[i].begin;
    return 0;
  }
  if (used_bytes + whole > kArena) return 2;
  *address = (uintptr_t)seen + used_bytes;
  used_bytes += whole;
  for (int i = 0; i < kBlocks; ++i) {
    if (blocks[i].begin != 0) continue;
    blocks[i] =
        (struct block){*address, bytes, 1, 0, 0, is_pushed(), current_number(), fake_context()};
    return 0;
  }
  return 2;
}
EXPORT int cuMemAllocManaged(uintptr_t* address, size_t bytes, unsigned flags) {
  LOCKED;
  (void)flags;
  void* memory = aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (memory == NULL) return 2;
  *address = (uintptr_t)memory;
  return add(blocks, *address, bytes, 1);
}
EXPORT int cuMemFree_v2(uintptr_t address) {
  LOCKED;
  return drop(blocks, address);
}

/* Null: nothing is mapped there. */
static void* side(uintptr_t address) {
  void* there = fake_reach((void*)address);
  return there != NULL || is_shared(address) ? there : (void*)address;
}
EXPORT int cuMemcpy(uintptr_t to, uintptr_t from, size_t bytes) {
  void* const there = side(to);
  const void* const here = side(from);
  if (there == NULL || here == NULL) return 1;
  memcpy(there, here, bytes);
  return 0;
}
EXPORT int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void* stream) {
  const int error = use_stream(stream);
  if (error != 0) return error;
  return fake_has_context() ? cuMemcpy(to, from, bytes) : 709;
}

EXPORT int cuStreamIsCapturing(void* stream, int* status) {
  (void)stream;
  *status = 0;
  return fake_captures ? 906 : 0;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  static __thread int now;
  const int before = now;
  now = *mode;
  *mode = before;
  return 0;
}

/* Whether memory is an arena of the direct path, by the name of its file. */
static int is_arena(uintptr_t address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  int found = 0;
  while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL) {
    unsigned long begin = 0, end = 0;
    found = sscanf(line, "%lx-%lx", &begin, &end) == 2 && address >= begin && address < end &&
            strstr(line, "/memfd:lacuna-arena") != NULL;
  }
  if (maps != NULL) fclose(maps);
  return found;
}

EXPORT int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  LOCKED;
  const uintptr_t begin = (uintptr_t)memory;
  const int of_arena = is_arena(begin);
  (void)flags;
  if (fake_refuses_pinning || (fake_refuses_arenas && of_arena) || begin % kPage != 0) return 2;
  for (int i = 0; i < kPins; ++i)
    if (pins[i].is_used && begin < pins[i].begin + pins[i].bytes && pins[i].begin < begin + bytes)
      return 712;
  /* As the driver: all pages must be accessible. */
  for (size_t at = 0; at < bytes; at += kPage) (void)*(volatile unsigned char*)(begin + at);
  for (int i = 0; i < kPins; ++i) {
    if (pins[i].is_used) continue;
    pins[i] = (struct block){begin, bytes, 1, 0, of_arena, 0, current_number(), NULL};
    if (of_arena) {
      ++fake_arena_pins;
      fake_arena_bytes += (long)bytes;
    }
    return 0;
  }
  return 2;
}
static int unpin(struct block* pin) {
  if (pin->is_arena) fake_arena_bytes -= (long)pin->bytes;
  pin->is_used = 0;
  return 0;
}
EXPORT int cuMemHostUnregister(void* memory) {
  LOCKED;
  for (int i = 0; i < kPins; ++i)
    if (pins[i].is_used && pins[i].begin == (uintptr_t)memory) return unpin(&pins[i]);
  return 713;
}
/* MPI_Finalize ends it. */
__attribute__((destructor)) static void need_nothing_left(void) {
  if (fake_arena_bytes == 0 && fake_shared_bytes == 0) return;
  fprintf(stderr, "fake_driver: an arena is still pinned, or a window mapped, at the end\n");
  abort();
}
/* Whether all of this memory is pinned in one piece; 2: an arena; 3: memory that processes share;
 * 4: one allocation of the device's memory. */
EXPORT int fake_spans(const void* memory, size_t bytes) {
  LOCKED;
  if (is_shared((uintptr_t)memory)) return is_shared((uintptr_t)memory + bytes - 1) ? 3 : 0;
  const struct block* const allocated = find(blocks, (uintptr_t)memory);
  const struct block* const block = allocated != NULL ? allocated : find(pins, (uintptr_t)memory);
  if (block == NULL || (uintptr_t)memory + bytes > block->begin + block->bytes) return 0;
  return allocated != NULL && !block->is_managed ? 4 : block->is_arena ? 2 : 1;
}
/* What a library has allocated may be given to the program next. */
void end_memory_of(unsigned long long number) {
  for (int i = 0; i < kPins; ++i)
    if (pins[i].is_used && pins[i].number == number) unpin(&pins[i]);
  for (int i = 0; i < kBlocks; ++i)
    if (blocks[i].is_pushed && blocks[i].number == number) blocks[i].is_used = 0;
  if (fake_reset_unmaps) unmap_shared();
}
EXPORT int cuMemHostGetDevicePointer_v2(uintptr_t* address, void* memory, unsigned flags) {
  LOCKED;
  (void)flags;
  *address = (uintptr_t)memory;
  return find(pins, (uintptr_t)memory) != NULL ? 0 : 1;
}

/* CU_POINTER_ATTRIBUTE_CONTEXT, _MEMORY_TYPE, _IS_MANAGED and _DEVICE_ORDINAL. */
EXPORT int cuPointerGetAttributes(unsigned count, int* attributes, void** data, uintptr_t address) {
  LOCKED;
  const struct block* block = find(blocks, address);
  const int is_of_device = block != NULL || is_shared(address);
  const int is_pinned = !is_of_device && find(pins, address) != NULL;
  ++fake_queries;
  for (unsigned i = 0; i < count; ++i) {
    switch (attributes[i]) {
      case 1:
        *(void**)data[i] = block != NULL && !fake_is_of_a_pool ? block->context : NULL;
        break;
      case 2:
        *(unsigned*)data[i] = is_of_device ? 2 : is_pinned ? 1 : 0;
        break;
      case 8:
        *(unsigned char*)data[i] = block != NULL && block->is_managed;
        break;
      case 9:
        *(int*)data[i] = is_of_device ? 0 : -2;
        break;
      default:
        return 1;
    }
  }
  return 0;
}
EXPORT int cuPointerGetAttribute(void* data, int attribute, uintptr_t address) {
  LOCKED;
  if (find(blocks, address) == NULL && find(pins, address) == NULL) {
    ++fake_queries;
    return 1;
  }
  return cuPointerGetAttributes(1, &attribute, &data, address);
}
