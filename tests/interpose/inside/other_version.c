// SPDX-License-Identifier: BSD-3-Clause
// Preloaded after lacuna: the library says that it is of a version that does not exist yet.
#include <string.h>

int MPI_Get_library_version(char* version, int* length);
__attribute__((visibility("default"))) int MPI_Get_library_version(char* version, int* length) {
  strcpy(version, "Open MPI v9.0.0, package: of a test");
  *length = (int)strlen(version);
  return 0;
}
