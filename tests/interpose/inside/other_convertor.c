// SPDX-License-Identifier: BSD-3-Clause
// Preloaded after lacuna: a convertor has a flag that lacuna does not expect of these data
// (CONVERTOR_SEND_CONVERSION, which changes nothing between equal hosts).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t (*prepare)(void*, const void*, size_t, const void*);

int32_t opal_convertor_prepare_for_recv(void* convertor, const void* type, size_t count,
                                        const void* mem);
__attribute__((visibility("default"))) int32_t opal_convertor_prepare_for_recv(void* convertor,
                                                                               const void* type,
                                                                               size_t count,
                                                                               const void* mem) {
  const prepare own = (prepare)dlsym(RTLD_NEXT, "opal_convertor_prepare_for_recv");
  const int32_t code = own(convertor, type, count, mem);
  ((uint32_t*)convertor)[5] |= 0x00010000;
  return code;
}
