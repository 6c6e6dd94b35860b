/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lacuna_mpi.h: from an MPI_Datatype to a lacuna_type. The one public header that needs mpi.h; its
 * function is in the static library for the MPI's ABI (CMake: lacuna_decode_mpich,
 * lacuna_decode_ompi, lacuna_decode_mpiabi). Rules as in lacuna.h.
 */
#ifndef LACUNA_LACUNA_MPI_H_
#define LACUNA_LACUNA_MPI_H_

#include <mpi.h>

#include "lacuna/lacuna.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Decodes a datatype (committed or not) by MPI_Type_get_envelope and MPI_Type_get_contents, in
 * their large-count forms where the library has them. MPI must be initialized. LACUNA_UNSUPPORTED
 * where the library describes the type in a way that lacuna cannot follow, or gives it a size or
 * extent that does not follow from its parts. The result does not depend on the datatype any more:
 * it may be freed. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_from_mpi(MPI_Datatype datatype,
                                                               lacuna_type** type);

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_LACUNA_MPI_H_ */
