// SPDX-License-Identifier: BSD-3-Clause
//
// The values of mpi.h in this binary interface. The pass reads them from the bitcode, so it needs
// no MPI header. A type that is not listed here or in fortran.cpp is not specialized: long double
// is not, since some libraries copy its padding and others do not.
#include <mpi.h>

#include <complex>
#include <cstddef>
#include <cstdint>

#include "optimizer/interface.hpp"

namespace {

#define LACUNA_MEMBER(type, name) type name;

struct Basic {
  LACUNA_BASIC_TYPE(LACUNA_MEMBER)
};
struct Constants {
  LACUNA_CONSTANTS(LACUNA_MEMBER)
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
    // Must be the last: for data of several types, as MPI_Pack makes them.
    LACUNA_BASIC(MPI_PACKED, "packed", char),
};

extern "C" [[gnu::used]] const Constants lacuna_constants = {
    .type_null = MPI_DATATYPE_NULL,
    .comm_self = MPI_COMM_SELF,
    .proc_null = MPI_PROC_NULL,
    .any_source = MPI_ANY_SOURCE,
    .any_tag = MPI_ANY_TAG,
    .order_c = MPI_ORDER_C,
    .order_fortran = MPI_ORDER_FORTRAN,
    .status_bytes = sizeof(MPI_Status),
    .status_ignore = MPI_STATUS_IGNORE,
};
