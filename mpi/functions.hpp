// SPDX-License-Identifier: BSD-3-Clause
//
// MpiFunctions: the few functions of MPI that decoding needs, as pointers, so that the same code
// serves programs linked to MPI (mpi/direct.cpp) and the preload libraries, which reach MPI by
// symbol lookup only (interpose/library/next.cpp). The large-count forms are null where the library
// lacks them (before MPI 4.0; Open MPI 5).
#ifndef LACUNA_MPI_FUNCTIONS_HPP_
#define LACUNA_MPI_FUNCTIONS_HPP_

#include "mpi/header.hpp"

namespace lacuna {

struct MpiFunctions {
  int (*type_get_envelope)(MPI_Datatype, int*, int*, int*, int*) = nullptr;
  int (*type_get_contents)(MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*) = nullptr;
  int (*type_size_x)(MPI_Datatype, MPI_Count*) = nullptr;
  int (*type_get_extent_x)(MPI_Datatype, MPI_Count*, MPI_Count*) = nullptr;
  int (*type_get_true_extent_x)(MPI_Datatype, MPI_Count*, MPI_Count*) = nullptr;
  int (*type_free)(MPI_Datatype*) = nullptr;

  int (*type_get_envelope_c)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*,
                             int*) = nullptr;
  int (*type_get_contents_c)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*,
                             MPI_Aint*, MPI_Count*, MPI_Datatype*) = nullptr;
};

}  // namespace lacuna

#endif  // LACUNA_MPI_FUNCTIONS_HPP_
