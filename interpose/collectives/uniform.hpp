// SPDX-License-Identifier: BSD-3-Clause
//
// The bodies of the collectives' wrappers (bodies.hpp has the others). Count is int or MPI_Count,
// Displacement is int or MPI_Aint; the library is called by the same form as the program has used.
// Arguments that are not significant in a rank are not read.
#ifndef LACUNA_INTERPOSE_COLLECTIVES_UNIFORM_HPP_
#define LACUNA_INTERPOSE_COLLECTIVES_UNIFORM_HPP_

#include <cstdint>

#include "interpose/functions/answer.hpp"
#include "mpi/header.hpp"

namespace lacuna {

// Whether the call is blocking, nonblocking, or persistent.
class Start {
 public:
  Start() = default;
  explicit Start(MPI_Request* request) : kind_(Kind::kNow), request_(request) {}
  Start(MPI_Info info, MPI_Request* request)
      : kind_(Kind::kLater), info_(info), request_(request) {}
  bool blocking() const { return kind_ == Kind::kBlocking; }
  bool persistent() const { return kind_ == Kind::kLater; }
  MPI_Info info() const { return info_; }
  MPI_Request* request() const { return request_; }

 private:
  enum class Kind : uint8_t { kBlocking, kNow, kLater };
  Kind kind_ = Kind::kBlocking;
  MPI_Info info_{};
  MPI_Request* request_ = nullptr;
};

// uniform.cpp
template <typename Count>
Answer handle_bcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                    Start start);
template <typename Count>
Answer handle_gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, Start start);
template <typename Count>
Answer handle_scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, Start start);
template <typename Count>
Answer handle_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start);
template <typename Count>
Answer handle_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start);

// varying.cpp
template <typename Count, typename Displacement>
Answer handle_gatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype,
                      int root, MPI_Comm comm, Start start);
template <typename Count, typename Displacement>
Answer handle_scatterv(const void* sendbuf, const Count* sendcounts, const Displacement* displs,
                       MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                       int root, MPI_Comm comm, Start start);
template <typename Count, typename Displacement>
Answer handle_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const Count* recvcounts, const Displacement* displs, MPI_Datatype recvtype,
                         MPI_Comm comm, Start start);
template <typename Count, typename Displacement>
Answer handle_alltoallv(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                        MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                        const Displacement* rdispls, MPI_Datatype recvtype, MPI_Comm comm,
                        Start start);
template <typename Count, typename Displacement>
Answer handle_alltoallw(const void* sendbuf, const Count* sendcounts, const Displacement* sdispls,
                        const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts,
                        const Displacement* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm,
                        Start start);

// neighbors.cpp
template <typename Count>
Answer handle_neighbor_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                                 MPI_Comm comm, Start start);
template <typename Count, typename Displacement>
Answer handle_neighbor_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, const Count* recvcounts,
                                  const Displacement* displs, MPI_Datatype recvtype, MPI_Comm comm,
                                  Start start);
template <typename Count>
Answer handle_neighbor_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                                MPI_Comm comm, Start start);
template <typename Count, typename Displacement>
Answer handle_neighbor_alltoallv(const void* sendbuf, const Count* sendcounts,
                                 const Displacement* sdispls, MPI_Datatype sendtype, void* recvbuf,
                                 const Count* recvcounts, const Displacement* rdispls,
                                 MPI_Datatype recvtype, MPI_Comm comm, Start start);
template <typename Count>
Answer handle_neighbor_alltoallw(const void* sendbuf, const Count* sendcounts,
                                 const MPI_Aint* sdispls, const MPI_Datatype* sendtypes,
                                 void* recvbuf, const Count* recvcounts, const MPI_Aint* rdispls,
                                 const MPI_Datatype* recvtypes, MPI_Comm comm, Start start);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_COLLECTIVES_UNIFORM_HPP_
