// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives with counts and displacements for each rank.
#include "interpose/collectives/call.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna {

using direct::Kind;

namespace {

// MPICH cuts the messages of MPI_Allgatherv and MPI_Iallgatherv at multiples of the receiving
// type's extent, and Intel MPI may. So it must be the same in all ranks. Packed data have another
// extent, and no rank knows whether all others pack: one may have been refused memory. (Open MPI
// sends whole blocks.)
bool is_cut_by_extent(MPI_Datatype type) {
  if (runtime().flavour == Flavour::kOpenMpi) return false;
  const TypeRecord* record = type_record(type);
  if (record == nullptr) return true;  // another thread may be analysing the type
  if (record->extent_bytes == record->size_bytes) return false;
  log_type(*record, Outcome::kCutByExtent);
  return true;
}

}  // namespace

template <typename Count, typename Displacement>
Answer handle_gatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype,
                      int root, MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Blocks<Count, Displacement> in(recvbuf, recvcounts, displs, recvtype);
  return do_call(
      {Kind::kGatherv, root}, comm, any_bytes,
      [&](MemberData* places) { return places->gather(out, in, root); },
      [&] { return pairs_of_rooted(Flow::kIn, sendbuf, root, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Gatherv, &Next::MPI_Gatherv_c, &Next::MPI_Igatherv,
                   &Next::MPI_Igatherv_c, &Next::MPI_Gatherv_init, &Next::MPI_Gatherv_init_c),
      root, comm);
}

template <typename Count, typename Displacement>
Answer handle_scatterv(const void* sendbuf, const Count* sendcounts, const Displacement* displs,
                       MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                       int root, MPI_Comm comm, Start start) {
  const Blocks<Count, Displacement> out(sendbuf, sendcounts, displs, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kScatterv, root}, comm, any_bytes,
      [&](MemberData* places) { return places->scatter(out, in, root); },
      [&] { return pairs_of_rooted(Flow::kOut, recvbuf, root, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Scatterv, &Next::MPI_Scatterv_c, &Next::MPI_Iscatterv,
                   &Next::MPI_Iscatterv_c, &Next::MPI_Scatterv_init, &Next::MPI_Scatterv_init_c),
      root, comm);
}

template <typename Count, typename Displacement>
Answer handle_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype,
                         MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Blocks<Count, Displacement> in(recvbuf, recvcounts, displs, recvtype);
  return do_call(
      {Kind::kAllgatherv}, comm, [&](const direct::Room& room) { return in.most_bytes(room); },
      [&](MemberData* places) { return places->allgather(out, in); },
      [&] {
        CallPairs call_pairs = pairs_of_allgather(sendbuf, comm, start);
        call_pairs.receives.keeps_type = is_cut_by_extent(recvtype);
        return call_pairs;
      },
      out, in, start,
      forms<Count>(&Next::MPI_Allgatherv, &Next::MPI_Allgatherv_c, &Next::MPI_Iallgatherv,
                   &Next::MPI_Iallgatherv_c, &Next::MPI_Allgatherv_init,
                   &Next::MPI_Allgatherv_init_c),
      comm);
}

template <typename Count, typename Displacement>
Answer handle_alltoallv(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                        MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                        const Displacement* rdispls, MPI_Datatype recvtype, MPI_Comm comm,
                        Start start) {
  const Blocks<Count, Displacement> out(sendbuf, sendcounts, sdispls, sendtype);
  const Blocks<Count, Displacement> in(recvbuf, recvcounts, rdispls, recvtype);
  return do_call(
      {Kind::kAlltoallv}, comm, any_bytes,
      [&](MemberData* places) { return places->alltoall(out, in); },
      [&] { return pairs_of_alltoall(sendbuf, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Alltoallv, &Next::MPI_Alltoallv_c, &Next::MPI_Ialltoallv,
                   &Next::MPI_Ialltoallv_c, &Next::MPI_Alltoallv_init, &Next::MPI_Alltoallv_init_c),
      comm);
}

template <typename Count, typename Displacement>
Answer handle_alltoallw(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                        const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts,
                        const Displacement* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm,
                        Start start) {
  const TypedBlocks<Count, Displacement> out(sendbuf, sendcounts, sdispls, sendtypes);
  const TypedBlocks<Count, Displacement> in(recvbuf, recvcounts, rdispls, recvtypes);
  return do_call(
      {Kind::kAlltoallw}, comm, any_bytes,
      [&](MemberData* places) { return places->alltoall(out, in); },
      [&] { return pairs_of_alltoall(sendbuf, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Alltoallw, &Next::MPI_Alltoallw_c, &Next::MPI_Ialltoallw,
                   &Next::MPI_Ialltoallw_c, &Next::MPI_Alltoallw_init, &Next::MPI_Alltoallw_init_c),
      comm);
}

template Answer handle_gatherv(const void*, int, MPI_Datatype, void*, const int*, const int*,
                               MPI_Datatype, int, MPI_Comm, Start);
template Answer handle_gatherv(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                               const MPI_Aint*, MPI_Datatype, int, MPI_Comm, Start);
template Answer handle_scatterv(const void*, const int*, const int*, MPI_Datatype, void*, int,
                                MPI_Datatype, int, MPI_Comm, Start);
template Answer handle_scatterv(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
                                MPI_Count, MPI_Datatype, int, MPI_Comm, Start);
template Answer handle_allgatherv(const void*, int, MPI_Datatype, void*, const int*, const int*,
                                  MPI_Datatype, MPI_Comm, Start);
template Answer handle_allgatherv(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                                  const MPI_Aint*, MPI_Datatype, MPI_Comm, Start);
template Answer handle_alltoallv(const void*, const int*, const int*, MPI_Datatype, void*,
                                 const int*, const int*, MPI_Datatype, MPI_Comm, Start);
template Answer handle_alltoallv(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype,
                                 void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm,
                                 Start);
template Answer handle_alltoallw(const void*, const int*, const int*, const MPI_Datatype*, void*,
                                 const int*, const int*, const MPI_Datatype*, MPI_Comm, Start);
template Answer handle_alltoallw(const void*, const MPI_Count*, const MPI_Aint*,
                                 const MPI_Datatype*, void*, const MPI_Count*, const MPI_Aint*,
                                 const MPI_Datatype*, MPI_Comm, Start);

}  // namespace lacuna
