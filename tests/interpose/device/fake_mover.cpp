// SPDX-License-Identifier: BSD-3-Clause
//
// A liblacuna-cuda.so without a device: moves data byte by byte as the typemap says, where
// fake_driver.c lets a device reach. If lacuna gives it memory that a device could not reach, or
// has made no context the current one, the process ends.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lacuna/lacuna_gpu.h"
#include "type/typemap.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

// Set by tests.
EXPORT int fake_refuses_plans;
EXPORT int fake_fails_to_launch;
EXPORT long fake_launches;
EXPORT long fake_plans;
// Packed into an arena of the direct path, and unpacked out of one.
EXPORT long fake_arena_packs;
EXPORT long fake_arena_unpacks;
// The same for memory that processes share.
EXPORT long fake_window_packs;
EXPORT long fake_window_unpacks;
// The same for other memory of a device.
EXPORT long fake_device_packs;
EXPORT long fake_device_unpacks;
int fake_refuses_plans = 0;
int fake_fails_to_launch = 0;
long fake_launches = 0;
long fake_plans = 0;
long fake_arena_packs = 0;
long fake_arena_unpacks = 0;
long fake_device_packs = 0;
long fake_device_unpacks = 0;
long fake_window_packs = 0;
long fake_window_unpacks = 0;

struct lacuna_gpu_plan {
  std::vector<lacuna::TypemapEntry> entries;
  int64_t bytes = 0;
};

namespace {

constexpr int64_t kMostEntries = int64_t{1} << 24;

template <typename Function>
Function of_driver(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void need(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fake_mover: %s\n", what);
  std::abort();
}

unsigned char* reach(const void* base, int64_t offset) {
  static const auto ask = of_driver<void* (*)(const void*)>("fake_reach");
  const auto address = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(offset);
  void* const there = ask(reinterpret_cast<const void*>(address));
  need(there != nullptr, "the device cannot reach this memory");
  return static_cast<unsigned char*>(there);
}

lacuna_status move(bool packs, const lacuna_gpu_plan* plan, const void* mem, int64_t begin,
                   int64_t end, const void* packed) {
  static const auto has_context = of_driver<int (*)()>("fake_has_context");
  need(has_context() != 0, "no context is the current one");
  need(begin >= 0 && begin <= end && end <= plan->bytes, "the slice is not inside the stream");
  static const auto spans = of_driver<int (*)(const void*, size_t)>("fake_spans");
  const int where = spans(packed, static_cast<size_t>(end - begin));
  need(where != 0, "the device cannot reach all of the packed data");
  if (where == 2) ++(packs ? fake_arena_packs : fake_arena_unpacks);
  if (where == 4) ++(packs ? fake_device_packs : fake_device_unpacks);
  if (where == 3) ++(packs ? fake_window_packs : fake_window_unpacks);
  if (fake_fails_to_launch != 0) return LACUNA_INTERNAL;
  int64_t at = 0;
  for (const lacuna::TypemapEntry& entry : plan->entries) {
    const int64_t from = std::max(begin - at, int64_t{0});
    const int64_t bytes = std::min(entry.size_bytes, end - at) - from;
    if (bytes > 0) {
      unsigned char* const data = reach(mem, entry.offset_bytes + from);
      unsigned char* const run = reach(packed, at + from - begin);
      std::memcpy(packs ? run : data, packs ? data : run, static_cast<size_t>(bytes));
    }
    at += entry.size_bytes;
  }
  return LACUNA_OK;
}

lacuna_status move_many(bool packs, int64_t count, const lacuna_gpu_message* messages) {
  ++fake_launches;
  for (int64_t i = 0; i < count; ++i) {
    const auto& [plan, mem, packed] = messages[i];
    if (move(packs, plan, mem, 0, plan->bytes, packed) != LACUNA_OK) return LACUNA_INTERNAL;
  }
  return LACUNA_OK;
}

}  // namespace

lacuna_status lacuna_gpu_plan_create(const lacuna_type* type, int64_t count,
                                     lacuna_gpu_plan** plan) {
  if (fake_refuses_plans != 0) return LACUNA_UNSUPPORTED;
  auto entries = lacuna::typemap(*reinterpret_cast<const lacuna::Type*>(type), count, kMostEntries);
  if (!entries) return LACUNA_UNSUPPORTED;
  ++fake_plans;
  *plan = new lacuna_gpu_plan;
  for (const lacuna::TypemapEntry& entry : *entries) (*plan)->bytes += entry.size_bytes;
  (*plan)->entries = std::move(entries).value();
  return LACUNA_OK;
}
void lacuna_gpu_plan_destroy(lacuna_gpu_plan* plan) { delete plan; }
lacuna_status lacuna_gpu_packed_size(const lacuna_gpu_plan* plan, int64_t* bytes) {
  *bytes = plan->bytes;
  return LACUNA_OK;
}
lacuna_status lacuna_gpu_pack(const lacuna_gpu_plan* plan, const void* mem, int64_t begin,
                              int64_t end, void* packed, void*) {
  ++fake_launches;
  return move(true, plan, mem, begin, end, packed);
}
lacuna_status lacuna_gpu_unpack(const lacuna_gpu_plan* plan, const void* packed, int64_t begin,
                                int64_t end, void* mem, void*) {
  ++fake_launches;
  return move(false, plan, mem, begin, end, packed);
}
lacuna_status lacuna_gpu_pack_many(int64_t count, const lacuna_gpu_message* messages, void*) {
  return move_many(true, count, messages);
}
lacuna_status lacuna_gpu_unpack_many(int64_t count, const lacuna_gpu_message* messages, void*) {
  return move_many(false, count, messages);
}
const char* lacuna_gpu_last_error() { return "the fake device fails, as the test has asked"; }
