/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program without MPI that loads a plugin with MPI, late and privately, as Python loads mpi4py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*run)(void) = NULL;
  if (plugin == NULL) {
    fprintf(stderr, "late_program: %s\n", argc > 1 ? dlerror() : "usage: late_program PLUGIN");
    return 2;
  }
  *(void**)&run = dlsym(plugin, "late_plugin_run");
  return run != NULL ? run() : 2;
}
