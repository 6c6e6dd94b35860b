// SPDX-License-Identifier: BSD-3-Clause
//
// From an MPI_Datatype to a lacuna::Type: asks the library for envelope and contents, node by node,
// and holds every node against the library's own size and extents, so that what comes out is what
// the library would move, or a decline.
#ifndef LACUNA_MPI_DECODE_HPP_
#define LACUNA_MPI_DECODE_HPP_

#include "mpi/functions.hpp"
#include "mpi/predefined.hpp"
#include "type/type.hpp"

namespace lacuna {

struct DecodedType {
  TypePtr type;
  // The predefined type of which a message with this type's signature is an array, where there is
  // one that has no gaps; MPI_DATATYPE_NULL otherwise. Then MPI_PACKED may stand for it.
  MPI_Datatype uniform;
};

// `handle` must be a valid datatype (committed or not) and MPI must be initialized.
// LACUNA_UNSUPPORTED, with the reason, where lacuna must leave the type to the library. Frees all
// handles it gets. Throws nothing but bad_alloc, and then handles may leak.
Result<DecodedType> decode_type(MPI_Datatype handle, const MpiFunctions& mpi,
                                const PredefinedTypes& predefined);

}  // namespace lacuna

#endif  // LACUNA_MPI_DECODE_HPP_
