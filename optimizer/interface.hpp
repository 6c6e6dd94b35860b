// SPDX-License-Identifier: BSD-3-Clause
//
// What the pass and its templates must agree on: structs that one fills and the other reads, and
// limits that both apply. The pass sees no mpi.h and the templates see no LLVM, so each struct is
// described here once, by a list of its members in their order:
//
//   pass        an enum of the list numbers the members of the LLVM struct
//   templates   the C++ struct is checked against the list (LACUNA_CHECK_MEMBER), or made of it
#ifndef LACUNA_OPTIMIZER_INTERFACE_HPP_
#define LACUNA_OPTIMIZER_INTERFACE_HPP_

#include <cstdint>

#define LACUNA_ENUMERATOR(type, name) name,
// Declares `struct NAME { enum Index { <members>, kCount }; }` for a list of members.
#define LACUNA_MEMBER_NUMBERS(NAME, LIST)                     \
  struct NAME {                                               \
    enum Index : unsigned { LIST(LACUNA_ENUMERATOR) kCount }; \
  }

// ---- Structs that the pass fills beside a call. A member takes 8 bytes; a handle of MPICH only 4
// of them. (kind, name): optimizer/templates has the types, and says what each member is for.

// struct BufferArg (templates/buffer_arg.hpp).
#define LACUNA_BUFFER_ARG(X) \
  X(kPointer, pack)          \
  X(kPointer, unpack)        \
  X(kPointer, unpack_prefix) \
  X(kPointer, shape)         \
  X(kPointer, stack)         \
  X(kNumber, room)           \
  X(kNumber, bytes)          \
  X(kNumber, most)           \
  X(kPointer, in_place)      \
  X(kHandle, unit)           \
  X(kNumber, unit_bytes)     \
  X(kNumber, is_host)        \
  X(kNumber, one_bytes)      \
  X(kPointer, pending)       \
  X(kPointer, held)          \
  X(kNumber, is_preloads)    \
  X(kNumber, with_gap)

// struct Kernels (templates/registry.hpp).
#define LACUNA_KERNELS(X)    \
  X(kPointer, pack)          \
  X(kPointer, unpack)        \
  X(kPointer, unpack_prefix) \
  X(kPointer, handlers)      \
  X(kHandle, unit)           \
  X(kNumber, unit_bytes)     \
  X(kPointer, spent)

// struct Each (templates/calls/alltoallw.cpp).
#define LACUNA_EACH(X) \
  X(kPointer, move)    \
  X(kPointer, numbers) \
  X(kHandle, type)     \
  X(kNumber, bytes)    \
  X(kHandle, unit)     \
  X(kNumber, unit_bytes)

// ---- Tables in the bitcode of the templates that the pass reads. (C++ type, name).

// lacuna_basics (templates/values/c.cpp): a predefined type.
#define LACUNA_BASIC_TYPE(X) \
  X(MPI_Datatype, handle)    \
  X(const char*, name)       \
  X(int64_t, bytes)          \
  X(int64_t, alignment)

// lacuna_constants (templates/values/c.cpp).
#define LACUNA_CONSTANTS(X)  \
  X(MPI_Datatype, type_null) \
  X(MPI_Comm, comm_self)     \
  X(int, proc_null)          \
  X(int, any_source)         \
  X(int, any_tag)            \
  X(int, order_c)            \
  X(int, order_fortran)      \
  X(int, status_bytes)       \
  X(MPI_Status*, status_ignore)

// lacuna_fortran_basics (templates/values/fortran.cpp): Fortran's handle, and C's for the same.
#define LACUNA_FORTRAN_TYPE(X) \
  X(int, handle)               \
  X(MPI_Datatype, type)        \
  X(const char*, name)         \
  X(int64_t, bytes)

// lacuna_fortran_sentinels (templates/values/fortran.cpp): an address in a common block of mpif.h
// that stands for MPI_STATUS_IGNORE (is_of_status), or for MPI_BOTTOM or MPI_IN_PLACE.
#define LACUNA_FORTRAN_SENTINEL(X) \
  X(const char*, block)            \
  X(int64_t, offset)               \
  X(int64_t, is_of_status)

namespace lacuna::interface {

enum class Kind { kPointer, kNumber, kHandle };
#define LACUNA_KIND(kind, name) lacuna::interface::Kind::kind,

LACUNA_MEMBER_NUMBERS(BufferArgMember, LACUNA_BUFFER_ARG);
LACUNA_MEMBER_NUMBERS(KernelsMember, LACUNA_KERNELS);
LACUNA_MEMBER_NUMBERS(EachMember, LACUNA_EACH);
LACUNA_MEMBER_NUMBERS(BasicTypeMember, LACUNA_BASIC_TYPE);
LACUNA_MEMBER_NUMBERS(ConstantsMember, LACUNA_CONSTANTS);
LACUNA_MEMBER_NUMBERS(FortranTypeMember, LACUNA_FORTRAN_TYPE);
LACUNA_MEMBER_NUMBERS(FortranSentinelMember, LACUNA_FORTRAN_SENTINEL);

// Who handles messages of a type and size, by the tables of `lacuna tune --compiled`: bits of the
// result of a kernel's `handlers` function.
enum Flag : int64_t {
  kSendIsLibrarys = 1,
  kReceiveIsLibrarys = 2,
  kSendIsPreloads = 4,
  kReceiveIsPreloads = 8,
  kSendWithGap = 16  // packed here, but sent with a gap
};

constexpr int64_t kMostUnitBytes = 64;  // of any predefined type
constexpr int64_t kMostNumbers = 8;     // run-time numbers of a type that is registered
constexpr uint64_t kLookupWords = 14;   // struct Lookup (templates/registry.hpp), in 8 bytes

// The most packed bytes: of MPI_Pack (more is bound by memory, where the library does as well), of
// a collective, and of what Alltoall sends to all ranks together. A library copies a rank's message
// to itself without packing it, so above 2 KiB packing first does not pay there (docs/experiments).
constexpr int64_t kMostPackBytes = int64_t(1) << 20;
constexpr int64_t kMostCollectiveBytes = 65536;
constexpr int64_t kMostToEachBytes = 2048;

// The most bytes of several types that all libraries can receive into a struct when they come
// packed (templates/structs.cpp); as in interpose/policy/policy.cpp.
constexpr int64_t kMostOfStructs = 8000;

}  // namespace lacuna::interface

#endif  // LACUNA_OPTIMIZER_INTERFACE_HPP_
