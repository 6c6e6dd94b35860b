// SPDX-License-Identifier: BSD-3-Clause
//
// Pack and Unpack: no call is left. What may be an error is the MPI library's to tell.
#include "optimizer/templates/noted.hpp"

using lacuna::Asked;
using lacuna::AskedNow;
using lacuna::is_noted;
using lacuna::Part;

LACUNA_ORIGINAL(MPI_Pack);
LACUNA_ORIGINAL(MPI_Unpack);

// Whether the packed data are between position and size; Count: int or MPI_Count.
template <class Count>
static inline bool fits(const Part& part, const void* packed, Count size, const Count* position,
                        MPI_Comm comm) {
  return packed != nullptr && position != nullptr && comm != MPI_COMM_NULL && *position >= 0 &&
         part.bytes <= int64_t(size) - *position;
}

template <class Count>
static inline int pack(const Part& part, const void* inbuf, void* outbuf, Count* position) {
  part.pack(lacuna::bytes_of(inbuf), lacuna::bytes_of(outbuf) + *position, part.shape);
  *position += Count(part.bytes);
  return MPI_SUCCESS;
}

template <class Count>
static inline int unpack(const Part& part, const void* inbuf, void* outbuf, Count* position) {
  part.unpack(lacuna::bytes_of(outbuf), lacuna::bytes_of(inbuf) + *position, part.shape);
  *position += Count(part.bytes);
  return MPI_SUCCESS;
}

LACUNA_TEMPLATE(MPI_Pack)
(const void* inbuf, int incount, MPI_Datatype type, void* outbuf, int outsize, int* position,
 MPI_Comm comm, const Part& part) {
  if (!part.takes(inbuf) || !fits(part, outbuf, outsize, position, comm))
    return lacuna_original_MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm);
  return pack(part, inbuf, outbuf, position);
}

LACUNA_TEMPLATE(MPI_Unpack)
(const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype type,
 MPI_Comm comm, const Part& part) {
  if (!part.takes(outbuf) || !fits(part, inbuf, insize, position, comm))
    return lacuna_original_MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm);
  return unpack(part, inbuf, outbuf, position);
}

// The same for types that are looked up.
LACUNA_ASKS_FOUND(MPI_Pack)
(const void* inbuf, int incount, MPI_Datatype type, void* outbuf, int outsize, int* position,
 MPI_Comm comm) {
  const AskedNow packed(type, incount, Asked::kNoMessage, lacuna::kMostPacked);
  return lacuna_template_MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm,
                                  packed.part);
}

LACUNA_ASKS(MPI_Pack)
(const void* inbuf, int incount, MPI_Datatype type, void* outbuf, int outsize, int* position,
 MPI_Comm comm) {
  if (!is_noted(type)) return MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm);
  return lacuna_asks_2_found_MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm);
}

LACUNA_ASKS_FOUND(MPI_Unpack)
(const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype type,
 MPI_Comm comm) {
  const AskedNow unpacked(type, outcount, Asked::kNoMessage, lacuna::kMostPacked);
  return lacuna_template_MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm,
                                    unpacked.part);
}

LACUNA_ASKS(MPI_Unpack)
(const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype type,
 MPI_Comm comm) {
  if (!is_noted(type)) return MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm);
  return lacuna_asks_2_found_MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm);
}

// What is sent in large counts goes by the templates of the small ones: a message that is packed
// first is small. Here positions are MPI_Counts.
#if MPI_VERSION >= 4
LACUNA_ORIGINAL(MPI_Pack_c);
LACUNA_ORIGINAL(MPI_Unpack_c);

LACUNA_TEMPLATE(MPI_Pack_c)
(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
 MPI_Count* position, MPI_Comm comm, const Part& part) {
  if (!part.takes(inbuf) || !fits(part, outbuf, outsize, position, comm))
    return lacuna_original_MPI_Pack_c(inbuf, incount, type, outbuf, outsize, position, comm);
  return pack(part, inbuf, outbuf, position);
}

LACUNA_TEMPLATE(MPI_Unpack_c)
(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
 MPI_Datatype type, MPI_Comm comm, const Part& part) {
  if (!part.takes(outbuf) || !fits(part, inbuf, insize, position, comm))
    return lacuna_original_MPI_Unpack_c(inbuf, insize, position, outbuf, outcount, type, comm);
  return unpack(part, inbuf, outbuf, position);
}

LACUNA_ASKS(MPI_Pack_c)
(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
 MPI_Count* position, MPI_Comm comm) {
  if (!is_noted(type)) return MPI_Pack_c(inbuf, incount, type, outbuf, outsize, position, comm);
  const AskedNow packed(type, incount, Asked::kNoMessage, lacuna::kMostPacked);
  return lacuna_template_MPI_Pack_c(inbuf, incount, type, outbuf, outsize, position, comm,
                                    packed.part);
}

LACUNA_ASKS(MPI_Unpack_c)
(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
 MPI_Datatype type, MPI_Comm comm) {
  if (!is_noted(type)) return MPI_Unpack_c(inbuf, insize, position, outbuf, outcount, type, comm);
  const AskedNow unpacked(type, outcount, Asked::kNoMessage, lacuna::kMostPacked);
  return lacuna_template_MPI_Unpack_c(inbuf, insize, position, outbuf, outcount, type, comm,
                                      unpacked.part);
}
#endif
