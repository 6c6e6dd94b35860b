// SPDX-License-Identifier: BSD-3-Clause
//
// What Fortran's handles and sentinels are in this binary interface. MPICH's handles are the
// integers that C has, too; Open MPI's are indices of a table, and its mpi.h has the functions that
// look there. The standard binary interface has none for Fortran yet: nothing is listed for it.
//
// The sizes are those of a Fortran whose INTEGER and REAL have 4 bytes; the wrapper asks mpif.h
// whether this is one (python/lacuna/compiler/fortran.py).
#include "optimizer/templates/part.hpp"

namespace {

struct Basic {
  int handle;
  MPI_Datatype type;
  const char* name;
  int64_t bytes;
};

// An address in a common block that mpif.h declares.
struct Sentinel {
  const char* block;
  int64_t offset;
  int64_t is_of_status;  // else it stands for a buffer
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
// BOTTOM, IN_PLACE, STATUS_IGNORE; STATUSES_IGNORE.
extern "C" [[gnu::used]] const Sentinel lacuna_fortran_sentinels[] = {
    {"mpipriv1_", 0, 0}, {"mpipriv1_", 4, 0}, {"mpipriv1_", 8, 1}, {"mpipriv2_", 0, 1}};
#endif
#endif
