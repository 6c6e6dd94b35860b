// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives: Bcast and Alltoall. Each stays the one collective that it was, with the same count
// and a type of the same signature and size (Twin): so a rank that packs, and one that could not,
// belong together.
#include "optimizer/templates/noted.hpp"

using lacuna::Asked;
using lacuna::AskedNow;
using lacuna::is_noted;
using lacuna::is_small;
using lacuna::Part;
using lacuna::Staging;
using lacuna::Twin;

LACUNA_ORIGINAL(MPI_Bcast);
LACUNA_ORIGINAL(MPI_Alltoall);

// Whether the call is among the ranks of one group.
static inline bool is_within(MPI_Comm comm) {
  int is_between = 1;
  return comm != MPI_COMM_NULL && MPI_Comm_test_inter(comm, &is_between) == MPI_SUCCESS &&
         is_between == 0;
}

// How many ranks have data for each other; 0 where that is not this simple.
LACUNA_TEMPLATE(ranks)(MPI_Comm comm) {
  int size = 0;
  return is_within(comm) && MPI_Comm_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

LACUNA_TEMPLATE(MPI_Bcast)
(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, const Part& part) {
  int rank = MPI_PROC_NULL;
  if (part.takes_from(buffer, comm) && count > 0 && part.bytes > 0 && is_within(comm) &&
      MPI_Comm_rank(comm, &rank) == MPI_SUCCESS) {
    const Staging staging(part);
    const Twin twin(part);
    if (staging.data != nullptr && twin.type != MPI_DATATYPE_NULL) {
      if (rank == root) part.gather(buffer, staging.data);
      const int code = MPI_Bcast(staging.data, count, twin.type, root, comm);
      if (code == MPI_SUCCESS && rank != root)
        part.unpack(lacuna::bytes_of(buffer), staging.data, part.shape);
      return code;
    }
  }
  return lacuna_original_MPI_Bcast(buffer, count, type, root, comm);
}

// The same for a type that is looked up. The other ranks may have the type itself, so that what is
// sent must be of its signature.
LACUNA_ASKS_FOUND(MPI_Bcast)
(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const AskedNow all(type, count, Asked::kNoMessage, lacuna::kMostOfCollective);
  if (!all.is_known || all.part.unit == MPI_PACKED)
    return MPI_Bcast(buffer, count, type, root, comm);
  return lacuna_template_MPI_Bcast(buffer, count, type, root, comm, all.part);
}

LACUNA_ASKS(MPI_Bcast)(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!is_noted(type)) return MPI_Bcast(buffer, count, type, root, comm);
  return lacuna_asks_2_found_MPI_Bcast(buffer, count, type, root, comm);
}

// The pass has multiplied the counts by the ranks: without ranks there are no bytes.
LACUNA_TEMPLATE(MPI_Alltoall)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
 MPI_Datatype recvtype, MPI_Comm comm, const Part& sent, const Part& got) {
  const bool packs = sent.pack != nullptr, unpacks = got.pack != nullptr;
  if (sendbuf != MPI_IN_PLACE && (!packs || (sent.takes(sendbuf) && sent.bytes > 0)) &&
      (!unpacks || (got.takes_from(recvbuf, comm) && got.bytes > 0))) {
    const Staging out(sent), in(got);
    const Twin outward(sent), inward(got, &sent, &outward);
    if ((!packs || (out.data != nullptr && outward.type != MPI_DATATYPE_NULL)) &&
        (!unpacks || (in.data != nullptr && inward.type != MPI_DATATYPE_NULL))) {
      if (packs) sent.gather(sendbuf, out.data);
      const int code = MPI_Alltoall(packs ? out.data : sendbuf, sendcount,
                                    packs ? outward.type : sendtype, unpacks ? in.data : recvbuf,
                                    recvcount, unpacks ? inward.type : recvtype, comm);
      if (unpacks && code == MPI_SUCCESS) got.unpack(lacuna::bytes_of(recvbuf), in.data, got.shape);
      return code;
    }
  }
  return lacuna_original_MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                      comm);
}

// Of two types that are looked up the other one stays as it is where one only is noted.
LACUNA_ASKS_FOUND(MPI_Alltoall)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
 MPI_Datatype recvtype, MPI_Comm comm) {
  const int64_t ranks = lacuna_template_ranks(comm);
  AskedNow sent(sendtype, sendcount * ranks, Asked::kNoMessage, lacuna::kMostToEach);
  AskedNow got(recvtype, recvcount * ranks, Asked::kNoMessage, lacuna::kMostToEach);
  if (sent.part.unit == MPI_PACKED) sent.part.pack = nullptr;
  if (got.part.unit == MPI_PACKED) got.part.pack = nullptr;
  return lacuna_template_MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                      comm, sent.part, got.part);
}

LACUNA_ASKS(MPI_Alltoall)
(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
 MPI_Datatype recvtype, MPI_Comm comm) {
  if (!is_noted(sendtype) && !is_noted(recvtype))
    return MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  return lacuna_asks_2_found_MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                          recvtype, comm);
}

#if MPI_VERSION >= 4
LACUNA_ASKS(MPI_Bcast_c)
(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (!is_noted(type) || !is_small(count)) return MPI_Bcast_c(buffer, count, type, root, comm);
  return lacuna_asks_2_found_MPI_Bcast(buffer, int(count), type, root, comm);
}

LACUNA_ASKS(MPI_Alltoall_c)
(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
 MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  if ((!is_noted(sendtype) && !is_noted(recvtype)) || !is_small(sendcount) || !is_small(recvcount))
    return MPI_Alltoall_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  return lacuna_asks_2_found_MPI_Alltoall(sendbuf, int(sendcount), sendtype, recvbuf,
                                          int(recvcount), recvtype, comm);
}
#endif
