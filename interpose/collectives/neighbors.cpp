// SPDX-License-Identifier: BSD-3-Clause
//
// Neighbourhood collectives. They have no MPI_IN_PLACE.
#include "interpose/collectives/call.hpp"

namespace lacuna {

using direct::Kind;

namespace {

CallPairs pairs_of_neighbors(MPI_Comm comm, const Start& start, Neighbors* neighbors) {
  CallPairs call_pairs;
  if (!may_begin(start)) return call_pairs;
  int code = 0;
  if (!direct::neighbors_of(comm, neighbors, &code)) {
    call_pairs.answer = handled(code);
    return call_pairs;
  }
  call_pairs.sends = {neighbors->targets, {Flow::kOut}};
  call_pairs.receives = {neighbors->sources, {Flow::kIn}};
  if (!neighbors->absent_targets.empty())
    call_pairs.sends.flows.absent = &neighbors->absent_targets;
  if (!neighbors->absent_sources.empty())
    call_pairs.receives.flows.absent = &neighbors->absent_sources;
  call_pairs.known = true;
  return call_pairs;
}

// The same data to all neighbours.
CallPairs share_one(MPI_Comm comm, const Start& start, Neighbors* neighbors) {
  CallPairs call_pairs = pairs_of_neighbors(comm, start, neighbors);
  call_pairs.sends.pairs = neighbors->targets > 0 ? 1 : 0;
  call_pairs.sends.flows.absent = nullptr;
  return call_pairs;
}

}  // namespace

template <typename Count>
Answer handle_neighbor_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                                 MPI_Comm comm, Start start) {
  Neighbors neighbors;
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kNeighborAllgather}, comm, any_bytes,
      [&](MemberData* places) { return places->neighbors(out, in, true, comm); },
      [&] { return share_one(comm, start, &neighbors); }, out, in, start,
      forms<Count>(&Next::MPI_Neighbor_allgather, &Next::MPI_Neighbor_allgather_c,
                   &Next::MPI_Ineighbor_allgather, &Next::MPI_Ineighbor_allgather_c,
                   &Next::MPI_Neighbor_allgather_init, &Next::MPI_Neighbor_allgather_init_c),
      comm);
}

template <typename Count, typename Displacement>
Answer handle_neighbor_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const Count* recvcounts,
                                  const Displacement* displs, MPI_Datatype recvtype, MPI_Comm comm,
                                  Start start) {
  Neighbors neighbors;
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Blocks<Count, Displacement> in(recvbuf, recvcounts, displs, recvtype);
  return do_call(
      {Kind::kNeighborAllgatherv}, comm, any_bytes,
      [&](MemberData* places) { return places->neighbors(out, in, true, comm); },
      [&] { return share_one(comm, start, &neighbors); }, out, in, start,
      forms<Count>(&Next::MPI_Neighbor_allgatherv, &Next::MPI_Neighbor_allgatherv_c,
                   &Next::MPI_Ineighbor_allgatherv, &Next::MPI_Ineighbor_allgatherv_c,
                   &Next::MPI_Neighbor_allgatherv_init, &Next::MPI_Neighbor_allgatherv_init_c),
      comm);
}

template <typename Count>
Answer handle_neighbor_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                                MPI_Comm comm, Start start) {
  Neighbors neighbors;
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kNeighborAlltoall}, comm, any_bytes,
      [&](MemberData* places) { return places->neighbors(out, in, false, comm); },
      [&] { return pairs_of_neighbors(comm, start, &neighbors); }, out, in, start,
      forms<Count>(&Next::MPI_Neighbor_alltoall, &Next::MPI_Neighbor_alltoall_c,
                   &Next::MPI_Ineighbor_alltoall, &Next::MPI_Ineighbor_alltoall_c,
                   &Next::MPI_Neighbor_alltoall_init, &Next::MPI_Neighbor_alltoall_init_c),
      comm);
}

template <typename Count, typename Displacement>
Answer handle_neighbor_alltoallv(const void* sendbuf, const Count* sendcounts,
                                 const Displacement* sdispls, MPI_Datatype sendtype, void* recvbuf,
                                 const Count* recvcounts, const Displacement* rdispls,
                                 MPI_Datatype recvtype, MPI_Comm comm, Start start) {
  Neighbors neighbors;
  const Blocks<Count, Displacement> out(sendbuf, sendcounts, sdispls, sendtype);
  const Blocks<Count, Displacement> in(recvbuf, recvcounts, rdispls, recvtype);
  return do_call(
      {Kind::kNeighborAlltoallv}, comm, any_bytes,
      [&](MemberData* places) { return places->neighbors(out, in, false, comm); },
      [&] { return pairs_of_neighbors(comm, start, &neighbors); }, out, in, start,
      forms<Count>(&Next::MPI_Neighbor_alltoallv, &Next::MPI_Neighbor_alltoallv_c,
                   &Next::MPI_Ineighbor_alltoallv, &Next::MPI_Ineighbor_alltoallv_c,
                   &Next::MPI_Neighbor_alltoallv_init, &Next::MPI_Neighbor_alltoallv_init_c),
      comm);
}

template <typename Count>
Answer handle_neighbor_alltoallw(const void* sendbuf, const Count* sendcounts,
                                 const MPI_Aint* sdispls, const MPI_Datatype* sendtypes,
                                 void* recvbuf, const Count* recvcounts, const MPI_Aint* rdispls,
                                 const MPI_Datatype* recvtypes, MPI_Comm comm, Start start) {
  Neighbors neighbors;
  const TypedBlocks<Count, MPI_Aint> out(sendbuf, sendcounts, sdispls, sendtypes);
  const TypedBlocks<Count, MPI_Aint> in(recvbuf, recvcounts, rdispls, recvtypes);
  return do_call(
      {Kind::kNeighborAlltoallw}, comm, any_bytes,
      [&](MemberData* places) { return places->neighbors(out, in, false, comm); },
      [&] { return pairs_of_neighbors(comm, start, &neighbors); }, out, in, start,
      forms<Count>(&Next::MPI_Neighbor_alltoallw, &Next::MPI_Neighbor_alltoallw_c,
                   &Next::MPI_Ineighbor_alltoallw, &Next::MPI_Ineighbor_alltoallw_c,
                   &Next::MPI_Neighbor_alltoallw_init, &Next::MPI_Neighbor_alltoallw_init_c),
      comm);
}

template Answer handle_neighbor_allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                                          MPI_Comm, Start);
template Answer handle_neighbor_allgather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count,
                                          MPI_Datatype, MPI_Comm, Start);
template Answer handle_neighbor_allgatherv(const void*, int, MPI_Datatype, void*, const int*,
                                           const int*, MPI_Datatype, MPI_Comm, Start);
template Answer handle_neighbor_allgatherv(const void*, MPI_Count, MPI_Datatype, void*,
                                           const MPI_Count*, const MPI_Aint*, MPI_Datatype,
                                           MPI_Comm, Start);
template Answer handle_neighbor_alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                                         MPI_Comm, Start);
template Answer handle_neighbor_alltoall(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count,
                                         MPI_Datatype, MPI_Comm, Start);
template Answer handle_neighbor_alltoallv(const void*, const int*, const int*, MPI_Datatype, void*,
                                          const int*, const int*, MPI_Datatype, MPI_Comm, Start);
template Answer handle_neighbor_alltoallv(const void*, const MPI_Count*, const MPI_Aint*,
                                          MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                                          MPI_Datatype, MPI_Comm, Start);
template Answer handle_neighbor_alltoallw(const void*, const int*, const MPI_Aint*,
                                          const MPI_Datatype*, void*, const int*, const MPI_Aint*,
                                          const MPI_Datatype*, MPI_Comm, Start);
template Answer handle_neighbor_alltoallw(const void*, const MPI_Count*, const MPI_Aint*,
                                          const MPI_Datatype*, void*, const MPI_Count*,
                                          const MPI_Aint*, const MPI_Datatype*, MPI_Comm, Start);

}  // namespace lacuna
