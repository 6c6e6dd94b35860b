// SPDX-License-Identifier: BSD-3-Clause
//
// Pack and Unpack: no call is left. What may be an error is the MPI library's to tell.
#include "optimizer/templates/part.hpp"

using lacuna::Part;

LACUNA_ORIGINAL(MPI_Pack);
LACUNA_ORIGINAL(MPI_Unpack);

// Whether `bytes` fit between position and size.
static inline bool fits(int64_t bytes, int size, int position) {
  return position >= 0 && bytes <= int64_t(size) - position;
}

LACUNA_TEMPLATE(MPI_Pack)
(const void* inbuf, int incount, MPI_Datatype type, void* outbuf, int outsize, int* position,
 MPI_Comm comm, const Part& part) {
  if (!part.takes(inbuf) || outbuf == nullptr || position == nullptr || comm == MPI_COMM_NULL ||
      !fits(part.bytes, outsize, *position)) {
    return lacuna_original_MPI_Pack(inbuf, incount, type, outbuf, outsize, position, comm);
  }
  part.pack(lacuna::bytes_of(inbuf), lacuna::bytes_of(outbuf) + *position, part.shape);
  *position += int(part.bytes);
  return MPI_SUCCESS;
}

LACUNA_TEMPLATE(MPI_Unpack)
(const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype type,
 MPI_Comm comm, const Part& part) {
  if (!part.takes(outbuf) || inbuf == nullptr || position == nullptr || comm == MPI_COMM_NULL ||
      !fits(part.bytes, insize, *position)) {
    return lacuna_original_MPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm);
  }
  part.unpack(lacuna::bytes_of(outbuf), lacuna::bytes_of(inbuf) + *position, part.shape);
  *position += int(part.bytes);
  return MPI_SUCCESS;
}
