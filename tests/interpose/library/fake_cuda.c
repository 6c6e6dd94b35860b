/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libcuda.so.1 for which every address inside fake_device_memory is a device's. */
#include <stdint.h>

__attribute__((visibility("default"))) double fake_device_memory[256];

__attribute__((visibility("default"))) int cuPointerGetAttribute(void* data, int attribute,
                                                                 uintptr_t address) {
  const uintptr_t begin = (uintptr_t)fake_device_memory;
  if (attribute != 2 || address < begin || address >= begin + sizeof(fake_device_memory)) return 1;
  *(unsigned*)data = 2;
  return 0;
}
