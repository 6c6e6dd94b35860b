// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of accelerators, which the CPU must not touch. A GPU-aware MPI takes such addresses.
// lacuna moves what a CUDA device holds (interpose/device), and declines all other calls with them.
#ifndef LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_
#define LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_

#include <cstdint>

namespace lacuna {

// False only if the address is host memory for certain: no GPU runtime is loaded, or CUDA says so.
bool may_be_on_device(const void* address) noexcept;

// Whether the run-time library of a device is loaded. False: all addresses are the host's.
bool has_device_runtime() noexcept;

// Of which CUDA device and context a memory is.
struct DevicePlace {
  void* context = nullptr;  // null: of none alone, as memory from cudaMallocAsync
  int ordinal = -1;
};
// kElsewhere: memory of which lacuna knows too little: managed memory, or another runtime's.
enum class Where : uint8_t { kHost, kDevice, kElsewhere };
// One query of CUDA's driver, unless the address is plainly the host's. `place` is set if the
// answer is kDevice.
Where where_is(const void* address, DevicePlace* place) noexcept;

// Looks whether CUDA's driver is loaded, or the program will load it. If so, kDevices is set in
// Gate::watched from then on (not with LACUNA_GPU=0), and `call` is called before. For MPI_Init.
void look_for_devices(void (*call)()) noexcept;
// The same later, if the driver has been loaded meanwhile. So does each look at an address.
void notice_devices() noexcept;

// A function of the driver that is loaded. Null: there is none.
void* driver_function(const char* name) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_DEVICE_HPP_
