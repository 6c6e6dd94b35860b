// SPDX-License-Identifier: BSD-3-Clause
//
// Bcast and Alltoall. Each stays the same collective call, with the same count and a type of the
// same signature and size (DenseType), so that ranks that pack and ranks that do not match.
#include "optimizer/templates/registry.hpp"

using lacuna::compiled::BufferArg;
using lacuna::compiled::CallLookup;
using lacuna::compiled::DenseType;
using lacuna::compiled::is_registered;
using lacuna::compiled::is_small;
using lacuna::compiled::Lookup;
using lacuna::compiled::Staging;

LACUNA_ORIGINAL(MPI_Bcast);
LACUNA_ORIGINAL(MPI_Alltoall);

// Whether the communicator is an intracommunicator.
static inline bool is_within(MPI_Comm comm) {
  int is_between = 1;
  return comm != MPI_COMM_NULL && MPI_Comm_test_inter(comm, &is_between) == MPI_SUCCESS &&
         is_between == 0;
}

// The ranks of an intracommunicator; 0 otherwise, so that nothing is packed.
LACUNA_TEMPLATE(ranks)(MPI_Comm comm) {
  int size = 0;
  return is_within(comm) && MPI_Comm_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

LACUNA_TEMPLATE(MPI_Bcast)
(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, const BufferArg& arg) {
  int rank = MPI_PROC_NULL;
  if (arg.takes_from(buffer, comm) && count > 0 && arg.bytes > 0 && is_within(comm) &&
      MPI_Comm_rank(comm, &rank) == MPI_SUCCESS) {
    const Staging staging(arg);
    const DenseType dense(arg);
    if (staging.data != nullptr && dense.type != MPI_DATATYPE_NULL) {
      if (rank == root) arg.gather(buffer, staging.data);
      const int code = MPI_Bcast(staging.data, count, dense.type, root, comm);
      if (code == MPI_SUCCESS && rank != root)
        arg.unpack(lacuna::compiled::bytes_of(buffer), staging.data, arg.shape);
      return code;
    }
  }
  return lacuna_original_MPI_Bcast(buffer, count, type, root, comm);
}

// For a type that is looked up. Other ranks may use the type itself, so data of several basic
// types, which are sent as MPI_PACKED, must not be packed.
LACUNA_LOOKUP_FOUND(MPI_Bcast)
(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const CallLookup all(type, count, Lookup::kNoMessage, lacuna::interface::kMostCollectiveBytes);
  if (!all.is_known || all.arg.unit == MPI_PACKED)
    return MPI_Bcast(buffer, count, type, root, comm);
  return lacuna_template_MPI_Bcast(buffer, count, type, root, comm, all.arg);
}

LACUNA_LOOKUP(MPI_Bcast)(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!is_registered(type)) return MPI_Bcast(buffer, count, type, root, comm);
  return lacuna_lookup_1_found_MPI_Bcast(buffer, count, type, root, comm);
}

// The pass has multiplied the counts by the ranks, so `bytes` are those of all ranks together.
LACUNA_TEMPLATE(MPI_Alltoall)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
 MPI_Datatype recvtype, MPI_Comm comm, const BufferArg& sent, const BufferArg& got) {
  const bool packs = sent.pack != nullptr, unpacks = got.pack != nullptr;
  if (sendbuf != MPI_IN_PLACE && (!packs || (sent.takes(sendbuf) && sent.bytes > 0)) &&
      (!unpacks || (got.takes_from(recvbuf, comm) && got.bytes > 0))) {
    const Staging out(sent), in(got);
    const DenseType outward(sent), inward(got, &sent, &outward);
    if ((!packs || (out.data != nullptr && outward.type != MPI_DATATYPE_NULL)) &&
        (!unpacks || (in.data != nullptr && inward.type != MPI_DATATYPE_NULL))) {
      if (packs) sent.gather(sendbuf, out.data);
      const int code = MPI_Alltoall(packs ? out.data : sendbuf, sendcount,
                                    packs ? outward.type : sendtype, unpacks ? in.data : recvbuf,
                                    recvcount, unpacks ? inward.type : recvtype, comm);
      if (unpacks && code == MPI_SUCCESS)
        got.unpack(lacuna::compiled::bytes_of(recvbuf), in.data, got.shape);
      return code;
    }
  }
  return lacuna_original_MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                      comm);
}

// For types that are looked up: one that is not registered stays as it is.
LACUNA_LOOKUP_FOUND(MPI_Alltoall)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
 MPI_Datatype recvtype, MPI_Comm comm) {
  const int64_t ranks = lacuna_template_ranks(comm);
  CallLookup sent(sendtype, sendcount * ranks, Lookup::kNoMessage,
                  lacuna::interface::kMostToEachBytes);
  CallLookup got(recvtype, recvcount * ranks, Lookup::kNoMessage,
                 lacuna::interface::kMostToEachBytes);
  if (sent.arg.unit == MPI_PACKED) sent.arg.pack = nullptr;
  if (got.arg.unit == MPI_PACKED) got.arg.pack = nullptr;
  return lacuna_template_MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                      comm, sent.arg, got.arg);
}

LACUNA_LOOKUP(MPI_Alltoall)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
 MPI_Datatype recvtype, MPI_Comm comm) {
  if (!is_registered(sendtype) && !is_registered(recvtype))
    return MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  return lacuna_lookup_1_found_MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                            recvtype, comm);
}

#if MPI_VERSION >= 4
LACUNA_LOOKUP(MPI_Bcast_c)
(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!is_registered(type) || !is_small(count)) return MPI_Bcast_c(buffer, count, type, root, comm);
  return lacuna_lookup_1_found_MPI_Bcast(buffer, int(count), type, root, comm);
}

LACUNA_LOOKUP(MPI_Alltoall_c)
(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
 MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  if ((!is_registered(sendtype) && !is_registered(recvtype)) || !is_small(sendcount) ||
      !is_small(recvcount))
    return MPI_Alltoall_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  return lacuna_lookup_1_found_MPI_Alltoall(sendbuf, int(sendcount), sendtype, recvbuf,
                                            int(recvcount), recvtype, comm);
}
#endif
