// SPDX-License-Identifier: BSD-3-Clause
//
// Pack and Unpack: no MPI call is left. If the arguments may be an error, the library is called,
// which reports it.
#include "optimizer/templates/registry.hpp"

using lacuna::compiled::BufferArg;
using lacuna::compiled::CallLookup;
using lacuna::compiled::is_registered;
using lacuna::compiled::Lookup;

LACUNA_ORIGINAL(MPI_Pack);
LACUNA_ORIGINAL(MPI_Unpack);

// Whether the packed data are between position and size; Count: int or MPI_Count.
template <class Count>
static inline bool fits(const BufferArg& arg, const void* packed, Count size, const Count* position,
                        MPI_Comm comm) {
  return packed != nullptr && position != nullptr && comm != MPI_COMM_NULL && *position >= 0 &&
         arg.bytes <= int64_t(size) - *position;
}

template <class Count>
static inline int pack(const BufferArg& arg, const void* inbuf, void* outbuf, Count* position) {
  arg.pack(lacuna::compiled::bytes_of(inbuf), lacuna::compiled::bytes_of(outbuf) + *position,
           arg.shape);
  *position += Count(arg.bytes);
  return MPI_SUCCESS;
}

template <class Count>
static inline int unpack(const BufferArg& arg, const void* inbuf, void* outbuf, Count* position) {
  arg.unpack(lacuna::compiled::bytes_of(outbuf), lacuna::compiled::bytes_of(inbuf) + *position,
             arg.shape);
  *position += Count(arg.bytes);
  return MPI_SUCCESS;
}

LACUNA_TEMPLATE(MPI_Pack)
(const void* inbuf, int incount, MPI_Datatype type, void* outbuf, int outsize, int* position,
 MPI_Comm comm, const BufferArg& arg) {
  if (!arg.takes(inbuf) || !fits(arg, outbuf, outsize, position, comm))
    return lacuna_original_MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm);
  return pack(arg, inbuf, outbuf, position);
}

LACUNA_TEMPLATE(MPI_Unpack)
(const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype type,
 MPI_Comm comm, const BufferArg& arg) {
  if (!arg.takes(outbuf) || !fits(arg, inbuf, insize, position, comm))
    return lacuna_original_MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm);
  return unpack(arg, inbuf, outbuf, position);
}

// For types that are looked up.
LACUNA_LOOKUP_FOUND(MPI_Pack)
(const void* inbuf, int incount, MPI_Datatype type, void* outbuf, int outsize, int* position,
 MPI_Comm comm) {
  const CallLookup packed(type, incount, Lookup::kNoMessage, lacuna::interface::kMostPackBytes);
  return lacuna_template_MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm,
                                  packed.arg);
}

LACUNA_LOOKUP(MPI_Pack)
(const void* inbuf, int incount, MPI_Datatype type, void* outbuf, int outsize, int* position,
 MPI_Comm comm) {
  if (!is_registered(type)) return MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm);
  return lacuna_lookup_1_found_MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm);
}

LACUNA_LOOKUP_FOUND(MPI_Unpack)
(const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype type,
 MPI_Comm comm) {
  const CallLookup unpacked(type, outcount, Lookup::kNoMessage, lacuna::interface::kMostPackBytes);
  return lacuna_template_MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm,
                                    unpacked.arg);
}

LACUNA_LOOKUP(MPI_Unpack)
(const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype type,
 MPI_Comm comm) {
  if (!is_registered(type))
    return MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm);
  return lacuna_lookup_1_found_MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm);
}

// Messages with MPI_Count use the templates with int: a message that is packed first is small. Pack
// and Unpack need their own, since the position is an MPI_Count, too.
#if MPI_VERSION >= 4
LACUNA_ORIGINAL(MPI_Pack_c);
LACUNA_ORIGINAL(MPI_Unpack_c);

LACUNA_TEMPLATE(MPI_Pack_c)
(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
 MPI_Count* position, MPI_Comm comm, const BufferArg& arg) {
  if (!arg.takes(inbuf) || !fits(arg, outbuf, outsize, position, comm))
    return lacuna_original_MPI_Pack_c(inbuf, incount, type, outbuf, outsize, position, comm);
  return pack(arg, inbuf, outbuf, position);
}

LACUNA_TEMPLATE(MPI_Unpack_c)
(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
 MPI_Datatype type, MPI_Comm comm, const BufferArg& arg) {
  if (!arg.takes(outbuf) || !fits(arg, inbuf, insize, position, comm))
    return lacuna_original_MPI_Unpack_c(inbuf, insize, position, outbuf, outcount, type, comm);
  return unpack(arg, inbuf, outbuf, position);
}

LACUNA_LOOKUP(MPI_Pack_c)
(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
 MPI_Count* position, MPI_Comm comm) {
  if (!is_registered(type))
    return MPI_Pack_c(inbuf, incount, type, outbuf, outsize, position, comm);
  const CallLookup packed(type, incount, Lookup::kNoMessage, lacuna::interface::kMostPackBytes);
  return lacuna_template_MPI_Pack_c(inbuf, incount, type, outbuf, outsize, position, comm,
                                    packed.arg);
}

LACUNA_LOOKUP(MPI_Unpack_c)
(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
 MPI_Datatype type, MPI_Comm comm) {
  if (!is_registered(type))
    return MPI_Unpack_c(inbuf, insize, position, outbuf, outcount, type, comm);
  const CallLookup unpacked(type, outcount, Lookup::kNoMessage, lacuna::interface::kMostPackBytes);
  return lacuna_template_MPI_Unpack_c(inbuf, insize, position, outbuf, outcount, type, comm,
                                      unpacked.arg);
}
#endif
