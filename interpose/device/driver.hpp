// SPDX-License-Identifier: BSD-3-Clause
//
// What lacuna calls of CUDA's driver, found in the driver that the program has loaded; and of
// liblacuna-cuda.so, which is loaded from the folder of the preload library when the first data of
// a device are met. Nothing here is linked to either.
#ifndef LACUNA_INTERPOSE_DEVICE_DRIVER_HPP_
#define LACUNA_INTERPOSE_DEVICE_DRIVER_HPP_

#include <cstddef>
#include <cstdint>

#include "lacuna/lacuna_gpu.h"

namespace lacuna::device {

// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of cuda.h.
struct Location {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int ordinal = 0;
};
struct MemoryKind {
  int type = 1;     // CU_MEM_ALLOCATION_TYPE_PINNED
  int handles = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
  Location location;
  void* unused = nullptr;
  unsigned char flags[8] = {};
};
struct Access {
  Location location;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

// As in cuda.h; each returns 0 for success. A context and a stream are pointers, an address of the
// device is a number.
struct Driver {
  int (*push_context)(void* context);
  int (*pop_context)(void** context);
  int (*current_context)(void** context);
  int (*current_device)(int* ordinal);
  int (*create_stream)(void** stream, unsigned flags);
  int (*wait_for_stream)(void* stream);
  int (*is_capturing)(void* stream, int* status);
  int (*exchange_capture_mode)(int* mode);
  int (*allocate)(uintptr_t* address, size_t bytes);
  int (*pin)(void* memory, size_t bytes, unsigned flags);
  int (*unpin)(void* memory);
  int (*device_address)(uintptr_t* address, void* memory, unsigned flags);
  int (*copy)(uintptr_t to, uintptr_t from, size_t bytes, void* stream);
  // A number that no other context of the process has or had: a new context may get the handle of
  // one that is gone. Drivers before CUDA 12.0 have it not.
  int (*context_number)(void* context, unsigned long long* number);
};

// What a window needs (windows.hpp): memory that other processes can map.
struct SharedMemory {
  int (*granularity)(size_t* bytes, const MemoryKind* kind, int option);
  int (*create)(uint64_t* handle, size_t bytes, const MemoryKind* kind, unsigned long long flags);
  int (*release)(uint64_t handle);
  int (*reserve)(uintptr_t* address, size_t bytes, size_t alignment, uintptr_t wanted,
                 unsigned long long flags);
  int (*unreserve)(uintptr_t address, size_t bytes);
  int (*map)(uintptr_t address, size_t bytes, size_t offset, uint64_t handle,
             unsigned long long flags);
  int (*unmap)(uintptr_t address, size_t bytes);
  int (*allow)(uintptr_t address, size_t bytes, const Access* access, size_t count);
  int (*to_descriptor)(void* descriptor, uint64_t handle, int kind, unsigned long long flags);
  int (*from_descriptor)(uint64_t* handle, void* descriptor, int kind);
  int (*identify_device)(void* uuid, int ordinal);
  int (*device_attribute)(int* value, int attribute, int ordinal);
  // The primary context of a device, which is made if there is none.
  int (*retain_context)(void** context, int ordinal);
  int (*release_context)(int ordinal);
};

// lacuna_gpu.h.
struct Mover {
  decltype(&lacuna_gpu_plan_create) create;
  decltype(&lacuna_gpu_plan_destroy) destroy;
  decltype(&lacuna_gpu_packed_size) packed_size;
  decltype(&lacuna_gpu_pack) pack;
  decltype(&lacuna_gpu_unpack) unpack;
  decltype(&lacuna_gpu_pack_many) pack_many;
  decltype(&lacuna_gpu_unpack_many) unpack_many;
  decltype(&lacuna_gpu_last_error) last_error;
};

// Null: a function is missing, or there is no such library. Asked once.
const Driver* driver() noexcept;
const SharedMemory* shared_memory() noexcept;
const Mover* mover() noexcept;

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_DRIVER_HPP_
