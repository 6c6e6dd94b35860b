// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives with counts and displacements for each rank.
#include "interpose/carry.hpp"
#include "interpose/next.hpp"

namespace lacuna {

template <typename Count, typename Displacement>
Answer take_gatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype,
                    int root, MPI_Comm comm, Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_gather(sendbuf, root, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Blocks<Count, Displacement> in(recvbuf, recvcounts, displs, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Gatherv, next.MPI_Gatherv_c)(
          out.buf, out.count, out.type, in.buf, in.counts, in.displacements, in.type, root, comm);
    }
    return form_of<Count>(next.MPI_Igatherv, next.MPI_Igatherv_c)(
        out.buf, out.count, out.type, in.buf, in.counts, in.displacements, in.type, root, comm,
        request);
  });
}

template <typename Count, typename Displacement>
Answer take_scatterv(const void* sendbuf, const Count* sendcounts, const Displacement* displs,
                     MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                     int root, MPI_Comm comm, Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_scatter(recvbuf, root, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Blocks<Count, Displacement> out(sendbuf, sendcounts, displs, sendtype);
  Block<Count> in(recvbuf, recvcount, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Scatterv, next.MPI_Scatterv_c)(
          out.buf, out.counts, out.displacements, out.type, in.buf, in.count, in.type, root, comm);
    }
    return form_of<Count>(next.MPI_Iscatterv, next.MPI_Iscatterv_c)(
        out.buf, out.counts, out.displacements, out.type, in.buf, in.count, in.type, root, comm,
        request);
  });
}

template <typename Count, typename Displacement>
Answer take_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype,
                       MPI_Comm comm, Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_allgather(sendbuf, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Blocks<Count, Displacement> in(recvbuf, recvcounts, displs, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Allgatherv, next.MPI_Allgatherv_c)(
          out.buf, out.count, out.type, in.buf, in.counts, in.displacements, in.type, comm);
    }
    return form_of<Count>(next.MPI_Iallgatherv, next.MPI_Iallgatherv_c)(
        out.buf, out.count, out.type, in.buf, in.counts, in.displacements, in.type, comm, request);
  });
}

template <typename Count, typename Displacement>
Answer take_alltoallv(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                      MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                      const Displacement* rdispls, MPI_Datatype recvtype, MPI_Comm comm,
                      Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_alltoall(sendbuf, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Blocks<Count, Displacement> out(sendbuf, sendcounts, sdispls, sendtype);
  Blocks<Count, Displacement> in(recvbuf, recvcounts, rdispls, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Alltoallv, next.MPI_Alltoallv_c)(
          out.buf, out.counts, out.displacements, out.type, in.buf, in.counts, in.displacements,
          in.type, comm);
    }
    return form_of<Count>(next.MPI_Ialltoallv, next.MPI_Ialltoallv_c)(
        out.buf, out.counts, out.displacements, out.type, in.buf, in.counts, in.displacements,
        in.type, comm, request);
  });
}

template <typename Count, typename Displacement>
Answer take_alltoallw(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                      const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts,
                      const Displacement* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm,
                      Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_alltoall(sendbuf, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  TypedBlocks<Count, Displacement> out(sendbuf, sendcounts, sdispls, sendtypes);
  TypedBlocks<Count, Displacement> in(recvbuf, recvcounts, rdispls, recvtypes);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Alltoallw, next.MPI_Alltoallw_c)(
          out.buf, out.counts, out.displacements, out.types, in.buf, in.counts, in.displacements,
          in.types, comm);
    }
    return form_of<Count>(next.MPI_Ialltoallw, next.MPI_Ialltoallw_c)(
        out.buf, out.counts, out.displacements, out.types, in.buf, in.counts, in.displacements,
        in.types, comm, request);
  });
}

template Answer take_gatherv(const void*, int, MPI_Datatype, void*, const int*, const int*,
                             MPI_Datatype, int, MPI_Comm, Start) noexcept;
template Answer take_gatherv(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                             const MPI_Aint*, MPI_Datatype, int, MPI_Comm, Start) noexcept;
template Answer take_scatterv(const void*, const int*, const int*, MPI_Datatype, void*, int,
                              MPI_Datatype, int, MPI_Comm, Start) noexcept;
template Answer take_scatterv(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
                              MPI_Count, MPI_Datatype, int, MPI_Comm, Start) noexcept;
template Answer take_allgatherv(const void*, int, MPI_Datatype, void*, const int*, const int*,
                                MPI_Datatype, MPI_Comm, Start) noexcept;
template Answer take_allgatherv(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*,
                                const MPI_Aint*, MPI_Datatype, MPI_Comm, Start) noexcept;
template Answer take_alltoallv(const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                               const int*, MPI_Datatype, MPI_Comm, Start) noexcept;
template Answer take_alltoallv(const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
                               const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm,
                               Start) noexcept;
template Answer take_alltoallw(const void*, const int*, const int*, const MPI_Datatype*, void*,
                               const int*, const int*, const MPI_Datatype*, MPI_Comm,
                               Start) noexcept;
template Answer take_alltoallw(const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*,
                               void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*,
                               MPI_Comm, Start) noexcept;

}  // namespace lacuna
