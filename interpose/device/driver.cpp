// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/driver.hpp"

#include <dlfcn.h>

#include <string>

#include "interpose/library/device.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna::device {
namespace {

template <typename Function>
bool set(Function* function, void* found) noexcept {
  *function = reinterpret_cast<Function>(found);
  return found != nullptr;
}

// Names with _v2 are those that cuda.h gives the plain names.
bool find(Driver* driver) noexcept {
  const auto need = [](auto* function, const char* name) {
    return set(function, driver_function(name));
  };
  return need(&driver->context_number, "cuCtxGetId") &&
         need(&driver->push_context, "cuCtxPushCurrent_v2") &&
         need(&driver->pop_context, "cuCtxPopCurrent_v2") &&
         need(&driver->current_context, "cuCtxGetCurrent") &&
         need(&driver->current_device, "cuCtxGetDevice") &&
         need(&driver->create_stream, "cuStreamCreate") &&
         need(&driver->wait_for_stream, "cuStreamSynchronize") &&
         need(&driver->is_capturing, "cuStreamIsCapturing") &&
         need(&driver->exchange_capture_mode, "cuThreadExchangeStreamCaptureMode") &&
         need(&driver->allocate, "cuMemAlloc_v2") && need(&driver->pin, "cuMemHostRegister_v2") &&
         need(&driver->unpin, "cuMemHostUnregister") &&
         need(&driver->device_address, "cuMemHostGetDevicePointer_v2") &&
         need(&driver->copy, "cuMemcpyAsync");
}

bool find(SharedMemory* memory) noexcept {
  const auto need = [](auto* function, const char* name) {
    return set(function, driver_function(name));
  };
  return need(&memory->granularity, "cuMemGetAllocationGranularity") &&
         need(&memory->create, "cuMemCreate") && need(&memory->release, "cuMemRelease") &&
         need(&memory->reserve, "cuMemAddressReserve") &&
         need(&memory->unreserve, "cuMemAddressFree") && need(&memory->map, "cuMemMap") &&
         need(&memory->unmap, "cuMemUnmap") && need(&memory->allow, "cuMemSetAccess") &&
         need(&memory->to_descriptor, "cuMemExportToShareableHandle") &&
         need(&memory->from_descriptor, "cuMemImportFromShareableHandle") &&
         need(&memory->identify_device, "cuDeviceGetUuid_v2") &&
         need(&memory->device_attribute, "cuDeviceGetAttribute") &&
         need(&memory->retain_context, "cuDevicePrimaryCtxRetain") &&
         need(&memory->release_context, "cuDevicePrimaryCtxRelease_v2");
}

constexpr char kMover[] = "liblacuna-cuda.so";

bool find(Mover* mover) noexcept try {
  Dl_info own{};
  if (dladdr(kMover, &own) == 0 || own.dli_fname == nullptr) return false;
  std::string path = own.dli_fname;
  path.erase(path.find_last_of('/') + 1).append(kMover);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    if (is_watched(kLogged)) {
      const char* const why = dlerror();
      log_line("data on devices are left to the MPI library: no " + path + ": " +
               (why != nullptr ? why : "not found") +
               "; remedy: build it (it needs CUDA's nvcc), or put it there");
    }
    return false;
  }
  const auto need = [library](auto* function, const char* name) {
    return set(function, dlsym(library, name));
  };
  return need(&mover->create, "lacuna_gpu_plan_create") &&
         need(&mover->destroy, "lacuna_gpu_plan_destroy") &&
         need(&mover->packed_size, "lacuna_gpu_packed_size") &&
         need(&mover->pack, "lacuna_gpu_pack") && need(&mover->unpack, "lacuna_gpu_unpack") &&
         need(&mover->pack_many, "lacuna_gpu_pack_many") &&
         need(&mover->unpack_many, "lacuna_gpu_unpack_many") &&
         need(&mover->last_error, "lacuna_gpu_last_error");
} catch (...) {
  return false;
}

template <typename Functions>
const Functions* found_once() noexcept {
  static Functions functions{};
  static const bool is_complete = find(&functions);
  return is_complete ? &functions : nullptr;
}

}  // namespace

const Driver* driver() noexcept { return found_once<Driver>(); }
const SharedMemory* shared_memory() noexcept { return found_once<SharedMemory>(); }
const Mover* mover() noexcept { return found_once<Mover>(); }

}  // namespace lacuna::device
