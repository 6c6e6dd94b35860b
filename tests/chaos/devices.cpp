// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of the fake CUDA device (tests/interpose/device). Here the CPU may touch it, too
// (LACUNA_TEST_CUDA_IS_OPEN), so the MPI library alone does all that it does with memory of the
// host.
#include <dlfcn.h>

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "chaos.hpp"

namespace chaos {
namespace {

void* g_driver = nullptr;

template <typename... Arguments>
bool call(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(g_driver, name));
  return function != nullptr && function(arguments...) == 0;
}

}  // namespace

bool start_device() {
  const char* const path = std::getenv("LACUNA_TEST_CUDA");
  // Global, for fake_mover.cpp.
  g_driver = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : nullptr;
  int device = 0;
  void* context = nullptr;
  return g_driver != nullptr && call("cuInit", 0U) && call("cuDeviceGet", &device, 0) &&
         call("cuDevicePrimaryCtxRetain", &context, device) && call("cuCtxSetCurrent", context);
}

// The fake driver gives freed memory again where it has the same size, so few sizes are used.
unsigned char* device_memory(size_t bytes) {
  uintptr_t at = 0;
  if (g_driver == nullptr || !call("cuMemAlloc_v2", &at, std::bit_ceil(bytes))) return nullptr;
  return reinterpret_cast<unsigned char*>(at);
}

void Freed::operator()(unsigned char* memory) const {
  if (on_device)
    call("cuMemFree_v2", reinterpret_cast<uintptr_t>(memory));
  else
    delete[] memory;
}

}  // namespace chaos
