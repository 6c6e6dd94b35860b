// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna_type_from_mpi: decodes with the MPI library the program is linked to.
#include <utility>

#include "api/handles.hpp"
#include "lacuna/lacuna_mpi.h"
#include "mpi/decode.hpp"
#include "mpi/direct.hpp"

extern "C" lacuna_status lacuna_type_from_mpi(MPI_Datatype datatype, lacuna_type** type) {
  return lacuna::api::guarded([&] {
    if (type == nullptr) return lacuna::api::invalid("lacuna_type_from_mpi: type is NULL");
    static const lacuna::PredefinedTypes predefined;
    if (datatype == predefined.null())
      return lacuna::api::invalid("lacuna_type_from_mpi: datatype is MPI_DATATYPE_NULL");
    lacuna::Result<lacuna::DecodedType> decoded =
        lacuna::decode_type(datatype, lacuna::direct_mpi_functions(), predefined);
    if (!decoded) return lacuna::api::fail(decoded.error().status, decoded.error().message);
    return lacuna::api::give(std::move(decoded).value().type, type);
  });
}
