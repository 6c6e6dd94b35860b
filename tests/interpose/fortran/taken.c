/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For Fortran: how many calls of an MPI function, in both its forms, lacuna has handled; -1 if
 * lacuna is not loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int calls_taken(const char* function) {
  int64_t (*calls)(const char*, int) = NULL;
  int64_t small, large;
  char name[64];
  *(void**)&calls = dlsym(RTLD_DEFAULT, "lacuna_interposed_calls");
  if (calls == NULL) return -1;
  snprintf(name, sizeof(name), "%s_c", function);
  small = calls(function, 1);
  large = calls(name, 1);
  return (int)(small + (large > 0 ? large : 0));
}
