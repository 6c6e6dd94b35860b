// SPDX-License-Identifier: BSD-3-Clause
//
// What the values of mpi.h are in this binary interface: the pass reads them from here, and so
// knows no MPI header. Types that a library may lack or size otherwise (Fortran's) are not listed
// here but in fortran.cpp, and what is not listed is not specialized: no long double, whose padding
// some libraries move and others do not, so that nothing could be compared with theirs.
#include <complex>
#include <cstddef>
#include <cstdint>

#include "optimizer/templates/part.hpp"

namespace {

struct Basic {
  MPI_Datatype handle;
  const char* name;
  int64_t bytes;
  int64_t alignment;  // as the C type's: structs are padded to it
};

}  // namespace

#define LACUNA_BASIC(handle, text, type) {handle, text, sizeof(type), alignof(type)}

extern "C" [[gnu::used]] const Basic lacuna_basics[] = {
    LACUNA_BASIC(MPI_CHAR, "char", char),
    LACUNA_BASIC(MPI_SIGNED_CHAR, "signed_char", char),
    LACUNA_BASIC(MPI_UNSIGNED_CHAR, "unsigned_char", char),
    LACUNA_BASIC(MPI_BYTE, "byte", char),
    LACUNA_BASIC(MPI_SHORT, "short", short),
    LACUNA_BASIC(MPI_UNSIGNED_SHORT, "unsigned_short", short),
    LACUNA_BASIC(MPI_INT, "int", int),
    LACUNA_BASIC(MPI_UNSIGNED, "unsigned", int),
    LACUNA_BASIC(MPI_LONG, "long", long),
    LACUNA_BASIC(MPI_UNSIGNED_LONG, "unsigned_long", long),
    LACUNA_BASIC(MPI_LONG_LONG_INT, "long_long", long long),
    LACUNA_BASIC(MPI_UNSIGNED_LONG_LONG, "unsigned_long_long", long long),
    LACUNA_BASIC(MPI_FLOAT, "float", float),
    LACUNA_BASIC(MPI_DOUBLE, "double", double),
    LACUNA_BASIC(MPI_WCHAR, "wchar", wchar_t),
    LACUNA_BASIC(MPI_C_BOOL, "c_bool", bool),
    LACUNA_BASIC(MPI_AINT, "aint", MPI_Aint),
    LACUNA_BASIC(MPI_OFFSET, "offset", MPI_Offset),
    LACUNA_BASIC(MPI_COUNT, "count", MPI_Count),
    LACUNA_BASIC(MPI_INT8_T, "int8_t", int8_t),
    LACUNA_BASIC(MPI_INT16_T, "int16_t", int16_t),
    LACUNA_BASIC(MPI_INT32_T, "int32_t", int32_t),
    LACUNA_BASIC(MPI_INT64_T, "int64_t", int64_t),
    LACUNA_BASIC(MPI_UINT8_T, "uint8_t", uint8_t),
    LACUNA_BASIC(MPI_UINT16_T, "uint16_t", uint16_t),
    LACUNA_BASIC(MPI_UINT32_T, "uint32_t", uint32_t),
    LACUNA_BASIC(MPI_UINT64_T, "uint64_t", uint64_t),
    LACUNA_BASIC(MPI_C_FLOAT_COMPLEX, "c_float_complex", std::complex<float>),
    LACUNA_BASIC(MPI_C_DOUBLE_COMPLEX, "c_double_complex", std::complex<double>),
    // The last: for data of several types, which is what MPI_Pack would have made of them.
    LACUNA_BASIC(MPI_PACKED, "packed", char),
};

struct Constants {
  MPI_Datatype type_null;
  MPI_Comm comm_self;
  int proc_null;
  int any_source;
  int any_tag;
  int order_c;
  int order_fortran;
  int status_bytes;
  MPI_Status* status_ignore;
};
extern "C" [[gnu::used]] const Constants lacuna_constants = {
    MPI_DATATYPE_NULL, MPI_COMM_SELF,     MPI_PROC_NULL,      MPI_ANY_SOURCE,   MPI_ANY_TAG,
    MPI_ORDER_C,       MPI_ORDER_FORTRAN, sizeof(MPI_Status), MPI_STATUS_IGNORE};
