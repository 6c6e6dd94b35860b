// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI functions of the library that a program is linked to. The large-count forms are weak
// symbols: null where the library lacks them.
#include "mpi/direct.hpp"

#include <dlfcn.h>

extern "C" {
__attribute__((weak)) int MPI_Type_get_envelope_c(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*,
                                                  MPI_Count*, int*);
__attribute__((weak)) int MPI_Type_get_contents_c(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count,
                                                  MPI_Count, int*, MPI_Aint*, MPI_Count*,
                                                  MPI_Datatype*);
}

namespace lacuna {

void* mpi_data_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

const MpiFunctions& direct_mpi_functions() {
  static const MpiFunctions functions = {
      .type_get_envelope = &MPI_Type_get_envelope,
      .type_get_contents = &MPI_Type_get_contents,
      .type_size_x = &MPI_Type_size_x,
      .type_get_extent_x = &MPI_Type_get_extent_x,
      .type_get_true_extent_x = &MPI_Type_get_true_extent_x,
      .type_free = &MPI_Type_free,
      .type_get_envelope_c = &MPI_Type_get_envelope_c,
      .type_get_contents_c = &MPI_Type_get_contents_c,
  };
  return functions;
}

}  // namespace lacuna
