// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives among the neighbours of a topology. MPI_IN_PLACE does not exist here.
#include "interpose/carry.hpp"
#include "interpose/next.hpp"

namespace lacuna {
namespace {

// False: `answer` is the answer.
bool share_neighbors(MPI_Comm comm, const Start& start, Neighbors* neighbors, Share* gives,
                     Share* gets, Answer* answer) noexcept {
  if (!may_begin(start)) return false;
  int code = 0;
  if (!ask_neighbors(comm, neighbors, &code)) {
    *answer = taken(code);
    return false;
  }
  gives->pairs = neighbors->targets;
  gets->pairs = neighbors->sources;
  gives->flows.all = Flow::kOut;
  gets->flows.all = Flow::kIn;
  if (!neighbors->absent_targets.empty()) gives->flows.absent = &neighbors->absent_targets;
  if (!neighbors->absent_sources.empty()) gets->flows.absent = &neighbors->absent_sources;
  return true;
}

// The same data to all neighbours.
bool share_one(MPI_Comm comm, const Start& start, Neighbors* neighbors, Share* gives, Share* gets,
               Answer* answer) noexcept {
  if (!share_neighbors(comm, start, neighbors, gives, gets, answer)) return false;
  gives->pairs = neighbors->targets > 0 ? 1 : 0;
  gives->flows.absent = nullptr;
  return true;
}

}  // namespace

template <typename Count>
Answer take_neighbor_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                               Start start) noexcept {
  Neighbors neighbors;
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_one(comm, start, &neighbors, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Block<Count> in(recvbuf, recvcount, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Neighbor_allgather, next.MPI_Neighbor_allgather_c)(
          out.buf, out.count, out.type, in.buf, in.count, in.type, comm);
    }
    return form_of<Count>(next.MPI_Ineighbor_allgather, next.MPI_Ineighbor_allgather_c)(
        out.buf, out.count, out.type, in.buf, in.count, in.type, comm, request);
  });
}

template <typename Count, typename Displacement>
Answer take_neighbor_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                void* recvbuf, const Count* recvcounts, const Displacement* displs,
                                MPI_Datatype recvtype, MPI_Comm comm, Start start) noexcept {
  Neighbors neighbors;
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_one(comm, start, &neighbors, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Blocks<Count, Displacement> in(recvbuf, recvcounts, displs, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Neighbor_allgatherv, next.MPI_Neighbor_allgatherv_c)(
          out.buf, out.count, out.type, in.buf, in.counts, in.displacements, in.type, comm);
    }
    return form_of<Count>(next.MPI_Ineighbor_allgatherv, next.MPI_Ineighbor_allgatherv_c)(
        out.buf, out.count, out.type, in.buf, in.counts, in.displacements, in.type, comm, request);
  });
}

template <typename Count>
Answer take_neighbor_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                              Start start) noexcept {
  Neighbors neighbors;
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_neighbors(comm, start, &neighbors, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Block<Count> in(recvbuf, recvcount, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Neighbor_alltoall, next.MPI_Neighbor_alltoall_c)(
          out.buf, out.count, out.type, in.buf, in.count, in.type, comm);
    }
    return form_of<Count>(next.MPI_Ineighbor_alltoall, next.MPI_Ineighbor_alltoall_c)(
        out.buf, out.count, out.type, in.buf, in.count, in.type, comm, request);
  });
}

template <typename Count, typename Displacement>
Answer take_neighbor_alltoallv(const void* sendbuf, const Count* sendcounts,
                               const Displacement* sdispls, MPI_Datatype sendtype, void* recvbuf,
                               const Count* recvcounts, const Displacement* rdispls,
                               MPI_Datatype recvtype, MPI_Comm comm, Start start) noexcept {
  Neighbors neighbors;
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_neighbors(comm, start, &neighbors, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Blocks<Count, Displacement> out(sendbuf, sendcounts, sdispls, sendtype);
  Blocks<Count, Displacement> in(recvbuf, recvcounts, rdispls, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Neighbor_alltoallv, next.MPI_Neighbor_alltoallv_c)(
          out.buf, out.counts, out.displacements, out.type, in.buf, in.counts, in.displacements,
          in.type, comm);
    }
    return form_of<Count>(next.MPI_Ineighbor_alltoallv, next.MPI_Ineighbor_alltoallv_c)(
        out.buf, out.counts, out.displacements, out.type, in.buf, in.counts, in.displacements,
        in.type, comm, request);
  });
}

template <typename Count>
Answer take_neighbor_alltoallw(const void* sendbuf, const Count* sendcounts,
                               const MPI_Aint* sdispls, const MPI_Datatype* sendtypes,
                               void* recvbuf, const Count* recvcounts, const MPI_Aint* rdispls,
                               const MPI_Datatype* recvtypes, MPI_Comm comm, Start start) noexcept {
  Neighbors neighbors;
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_neighbors(comm, start, &neighbors, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  TypedBlocks<Count, MPI_Aint> out(sendbuf, sendcounts, sdispls, sendtypes);
  TypedBlocks<Count, MPI_Aint> in(recvbuf, recvcounts, rdispls, recvtypes);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Neighbor_alltoallw, next.MPI_Neighbor_alltoallw_c)(
          out.buf, out.counts, out.displacements, out.types, in.buf, in.counts, in.displacements,
          in.types, comm);
    }
    return form_of<Count>(next.MPI_Ineighbor_alltoallw, next.MPI_Ineighbor_alltoallw_c)(
        out.buf, out.counts, out.displacements, out.types, in.buf, in.counts, in.displacements,
        in.types, comm, request);
  });
}

template Answer take_neighbor_allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                                        MPI_Comm, Start) noexcept;
template Answer take_neighbor_allgather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count,
                                        MPI_Datatype, MPI_Comm, Start) noexcept;
template Answer take_neighbor_allgatherv(const void*, int, MPI_Datatype, void*, const int*,
                                         const int*, MPI_Datatype, MPI_Comm, Start) noexcept;
template Answer take_neighbor_allgatherv(const void*, MPI_Count, MPI_Datatype, void*,
                                         const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm,
                                         Start) noexcept;
template Answer take_neighbor_alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype,
                                       MPI_Comm, Start) noexcept;
template Answer take_neighbor_alltoall(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count,
                                       MPI_Datatype, MPI_Comm, Start) noexcept;
template Answer take_neighbor_alltoallv(const void*, const int*, const int*, MPI_Datatype, void*,
                                        const int*, const int*, MPI_Datatype, MPI_Comm,
                                        Start) noexcept;
template Answer take_neighbor_alltoallv(const void*, const MPI_Count*, const MPI_Aint*,
                                        MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*,
                                        MPI_Datatype, MPI_Comm, Start) noexcept;
template Answer take_neighbor_alltoallw(const void*, const int*, const MPI_Aint*,
                                        const MPI_Datatype*, void*, const int*, const MPI_Aint*,
                                        const MPI_Datatype*, MPI_Comm, Start) noexcept;
template Answer take_neighbor_alltoallw(const void*, const MPI_Count*, const MPI_Aint*,
                                        const MPI_Datatype*, void*, const MPI_Count*,
                                        const MPI_Aint*, const MPI_Datatype*, MPI_Comm,
                                        Start) noexcept;

}  // namespace lacuna
