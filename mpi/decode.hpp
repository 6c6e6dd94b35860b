// SPDX-License-Identifier: BSD-3-Clause
//
// From an MPI_Datatype to a lacuna::Type: reads envelope and contents node by node, and compares
// the size and the extents of each node with those that the library gives. So the result is what
// the library would move, or lacuna declines.
#ifndef LACUNA_MPI_DECODE_HPP_
#define LACUNA_MPI_DECODE_HPP_

#include "mpi/functions.hpp"
#include "mpi/predefined.hpp"
#include "type/type.hpp"

namespace lacuna {

struct DecodedType {
  TypePtr type;
  // The predefined type without gaps that all basics of the type are, or MPI_DATATYPE_NULL. A
  // packed message may be sent as an array of it, else as MPI_PACKED.
  MPI_Datatype uniform;
};

// `handle` must be a valid datatype (committed or not) and MPI must be initialized.
// LACUNA_UNSUPPORTED, with the reason, where lacuna declines the type. Frees all handles that it
// gets. Throws nothing but bad_alloc; then handles may leak.
Result<DecodedType> decode_type(MPI_Datatype handle, const MpiFunctions& mpi,
                                const PredefinedTypes& predefined);

}  // namespace lacuna

#endif  // LACUNA_MPI_DECODE_HPP_
