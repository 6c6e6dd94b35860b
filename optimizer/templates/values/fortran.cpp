// SPDX-License-Identifier: BSD-3-Clause
//
// Fortran's handles and sentinels in this binary interface. MPICH's handles are C's; Open MPI's are
// indices of a table, with functions in mpi.h that convert them. The standard binary interface has
// no Fortran yet, so nothing is listed for it.
//
// The sizes hold where INTEGER and REAL have 4 bytes; the wrapper checks that with mpif.h
// (python/lacuna/compiler/fortran.py).
#include <mpi.h>

#include <cstdint>

#include "optimizer/interface.hpp"

namespace {

#define LACUNA_MEMBER(type, name) type name;

struct Basic {
  LACUNA_FORTRAN_TYPE(LACUNA_MEMBER)
};
struct Sentinel {
  LACUNA_FORTRAN_SENTINEL(LACUNA_MEMBER)
};

}  // namespace

#ifdef OPEN_MPI
#define LACUNA_BASIC(of_open_mpi, of_mpich, type, name, bytes) {of_open_mpi, type, name, bytes}
#else
#define LACUNA_BASIC(of_open_mpi, of_mpich, type, name, bytes) \
  {of_mpich, (MPI_Datatype)(of_mpich), name, bytes}
#endif

#if defined(OPEN_MPI) || defined(MPICH_NUMVERSION)
extern "C" [[gnu::used]] const Basic lacuna_fortran_basics[] = {
    LACUNA_BASIC(1, 0x4c00010d, MPI_BYTE, "byte", 1),
    LACUNA_BASIC(2, 0x4c00010f, MPI_PACKED, "packed", 1),
    LACUNA_BASIC(5, 0x4c00011a, MPI_CHARACTER, "character", 1),
    LACUNA_BASIC(6, 0x4c00041d, MPI_LOGICAL, "logical", 4),
    LACUNA_BASIC(7, 0x4c00041b, MPI_INTEGER, "integer", 4),
    LACUNA_BASIC(8, 0x4c00012d, MPI_INTEGER1, "integer1", 1),
    LACUNA_BASIC(9, 0x4c00022f, MPI_INTEGER2, "integer2", 2),
    LACUNA_BASIC(10, 0x4c000430, MPI_INTEGER4, "integer4", 4),
    LACUNA_BASIC(11, 0x4c000831, MPI_INTEGER8, "integer8", 8),
    LACUNA_BASIC(13, 0x4c00041c, MPI_REAL, "real", 4),
    LACUNA_BASIC(14, 0x4c000427, MPI_REAL4, "real4", 4),
    LACUNA_BASIC(15, 0x4c000829, MPI_REAL8, "real8", 8),
    LACUNA_BASIC(17, 0x4c00081f, MPI_DOUBLE_PRECISION, "double_precision", 8),
    LACUNA_BASIC(18, 0x4c00081e, MPI_COMPLEX, "complex", 8),
    LACUNA_BASIC(19, 0x4c000828, MPI_COMPLEX8, "complex8", 8),
    LACUNA_BASIC(20, 0x4c00102a, MPI_COMPLEX16, "complex16", 16),
    LACUNA_BASIC(22, 0x4c001022, MPI_DOUBLE_COMPLEX, "double_complex", 16),
};
#ifdef OPEN_MPI
extern "C" [[gnu::used]] const int lacuna_fortran_type_null = 0;
extern "C" [[gnu::used]] const Sentinel lacuna_fortran_sentinels[] = {
    {"mpi_fortran_bottom_", 0, 0},
    {"mpi_fortran_in_place_", 0, 0},
    {"mpi_fortran_status_ignore_", 0, 1},
    {"mpi_fortran_statuses_ignore_", 0, 1},
};
#else
extern "C" [[gnu::used]] const int lacuna_fortran_type_null = int(MPI_DATATYPE_NULL);
// MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE; MPI_STATUSES_IGNORE.
extern "C" [[gnu::used]] const Sentinel lacuna_fortran_sentinels[] = {
    {"mpipriv1_", 0, 0}, {"mpipriv1_", 4, 0}, {"mpipriv1_", 8, 1}, {"mpipriv2_", 0, 1}};
#endif
#endif
