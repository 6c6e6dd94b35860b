/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contexts and streams of the fake driver: the primary one of its device, and one that programs
 * make. As with CUDA's driver (580, on an H200), a context that is gone can still be pushed, and
 * then nothing works in it; a stream of such a context may crash whoever uses it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/interpose/device/fake_shared.h"

enum { kDepth = 16, kStreams = 1024, kDestroyed = 709, kInvalid = 201 };

struct context {
  unsigned long long number; /* 0: there is none now */
  int users;
};
static struct context contexts[2]; /* the primary one; another */
static unsigned long long last_number;
EXPORT long fake_contexts_made;
static __thread struct context* stack[kDepth];
static __thread int depth;
static unsigned long long streams[kStreams]; /* numbers of their contexts */
static int stream_count;

EXPORT long fake_waits;
EXPORT int fake_fails_to_wait; /* as after a kernel that has failed */

static int is_context(const void* context) {
  return context == &contexts[0] || context == &contexts[1];
}
static struct context* current(void) { return depth > 0 ? stack[depth - 1] : NULL; }

int is_pushed(void) { return depth > 1; }
unsigned long long current_number(void) { return current() != NULL ? current()->number : 0; }
/* That of a thread without one is the primary one. */
void* fake_context(void) { return current() != NULL ? current() : &contexts[0]; }
static int is_there(unsigned long long number) {
  return number != 0 && (contexts[0].number == number || contexts[1].number == number);
}
EXPORT int fake_has_context(void) { return current_number() != 0; }

int use_stream(const void* stream) {
  const unsigned long long* const found = stream;
  if (found < streams || found >= streams + kStreams) return 0;
  if (!is_there(*found)) {
    fprintf(stderr, "fake_driver: a stream of a context that is gone is used\n");
    abort();
  }
  return 0;
}

/* Another in each process: as if each rank had a device of its own. */
EXPORT int fake_has_own_device;
EXPORT int cuDeviceGetUuid_v2(char* uuid, int device) {
  const int process = fake_has_own_device ? getpid() : 0;
  (void)device;
  memset(uuid, 1, 16);
  memcpy(uuid, &process, sizeof(process));
  return 0;
}
EXPORT int fake_has_mps; /* processes share the device at a time */
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = fake_has_mps;
  return attribute == 133 ? 0 : 1;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  LOCKED;
  (void)device;
  if (contexts[0].number == 0) {
    contexts[0].number = ++last_number;
    ++fake_contexts_made;
  }
  ++contexts[0].users;
  *context = &contexts[0];
  return 0;
}
static void end(struct context* context) {
  const unsigned long long number = context->number;
  context->number = 0;
  if (number != 0) end_memory_of(number);
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  LOCKED;
  (void)device;
  if (contexts[0].users == 0) return kInvalid;
  if (--contexts[0].users == 0) end(&contexts[0]);
  return 0;
}
/* As cuDevicePrimaryCtxReset(). Device memory of the program stays, so that tests need not allocate
 * it again. */
EXPORT int fake_reset(void) {
  LOCKED;
  end(&contexts[0]);
  return 0;
}
EXPORT int cuCtxCreate_v2(void** context, unsigned flags, int device) {
  LOCKED;
  (void)flags, (void)device;
  if (contexts[1].number != 0 || depth == kDepth) return 2;
  contexts[1].number = ++last_number;
  *context = stack[depth++] = &contexts[1];
  return 0;
}
EXPORT int cuCtxDestroy_v2(void* context) {
  LOCKED;
  if (context != &contexts[1]) return kInvalid;
  if (current() == context) --depth;
  end(&contexts[1]);
  return 0;
}

EXPORT int cuCtxSetCurrent(void* context) {
  if (depth == 0) depth = 1;
  stack[depth - 1] = context;
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void* context) {
  if (!is_context(context) || depth == kDepth) return kInvalid;
  stack[depth++] = context;
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(void** context) {
  if (depth == 0) return kInvalid;
  *context = stack[--depth];
  return 0;
}
EXPORT int cuCtxGetCurrent(void** context) {
  *context = current();
  return 0;
}
EXPORT int cuCtxGetDevice(int* ordinal) {
  *ordinal = 0;
  return depth > 0 ? 0 : kInvalid;
}
EXPORT int cuCtxGetId(void* context, unsigned long long* number) {
  LOCKED;
  if (!is_context(context)) return kInvalid;
  if (((struct context*)context)->number == 0) return kDestroyed;
  *number = ((struct context*)context)->number;
  return 0;
}

EXPORT int cuStreamCreate(void** stream, unsigned flags) {
  LOCKED;
  (void)flags;
  if (!fake_has_context() || stream_count == kStreams) return kInvalid;
  streams[stream_count] = current_number();
  *stream = &streams[stream_count++];
  return 0;
}
EXPORT int cuStreamSynchronize(void* stream) {
  LOCKED;
  ++fake_waits;
  return fake_fails_to_wait ? 700 : use_stream(stream);
}
