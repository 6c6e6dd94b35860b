// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives with the same count for all ranks.
#include "interpose/carry.hpp"

namespace lacuna {

template <typename Count>
Answer take_bcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  Start start) noexcept {
  const Shares shares = share_bcast(root, comm, start);
  if (!shares.known) return shares.answer;
  const bool gives = shares.gives.pairs > 0;
  const Share& share = gives ? shares.gives : shares.gets;
  Block<Count> data(buffer, count, datatype);
  Exchange exchange;
  data.take(gives ? Operation::kSend : Operation::kReceive, share.pairs, share.flows,
            start.blocking(), gives ? &exchange.out : &exchange.in);
  return carry(&exchange, start,
               forms<Count>(&Next::MPI_Bcast, &Next::MPI_Bcast_c, &Next::MPI_Ibcast,
                            &Next::MPI_Ibcast_c, &Next::MPI_Bcast_init, &Next::MPI_Bcast_init_c),
               std::tuple_cat(data.arguments(), std::make_tuple(root, comm)));
}

template <typename Count>
Answer take_gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                   Start start) noexcept {
  return carry_sides(
      share_rooted(Flow::kIn, sendbuf, root, comm, start),
      Block<Count>(sendbuf, sendcount, sendtype), Block<Count>(recvbuf, recvcount, recvtype), start,
      forms<Count>(&Next::MPI_Gather, &Next::MPI_Gather_c, &Next::MPI_Igather, &Next::MPI_Igather_c,
                   &Next::MPI_Gather_init, &Next::MPI_Gather_init_c),
      root, comm);
}

template <typename Count>
Answer take_scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                    Start start) noexcept {
  return carry_sides(
      share_rooted(Flow::kOut, recvbuf, root, comm, start),
      Block<Count>(sendbuf, sendcount, sendtype), Block<Count>(recvbuf, recvcount, recvtype), start,
      forms<Count>(&Next::MPI_Scatter, &Next::MPI_Scatter_c, &Next::MPI_Iscatter,
                   &Next::MPI_Iscatter_c, &Next::MPI_Scatter_init, &Next::MPI_Scatter_init_c),
      root, comm);
}

template <typename Count>
Answer take_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start) noexcept {
  return carry_sides(
      share_allgather(sendbuf, comm, start), Block<Count>(sendbuf, sendcount, sendtype),
      Block<Count>(recvbuf, recvcount, recvtype), start,
      forms<Count>(&Next::MPI_Allgather, &Next::MPI_Allgather_c, &Next::MPI_Iallgather,
                   &Next::MPI_Iallgather_c, &Next::MPI_Allgather_init, &Next::MPI_Allgather_init_c),
      comm);
}

template <typename Count>
Answer take_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start) noexcept {
  const Shares shares = share_alltoall(sendbuf, comm, start);
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  // All ranks have the same bytes for each pair.
  if (shares.known && start.blocking() && out.buf != MPI_IN_PLACE && out.bytes() >= kLeastInRoom) {
    const Answer answer = exchange_in_room(out, in, comm, start);
    if (answer.taken) return answer;
  }
  if (!is_open(kCollectiveSwitch)) return kDeclined;
  return carry_sides(
      shares, out, in, start,
      forms<Count>(&Next::MPI_Alltoall, &Next::MPI_Alltoall_c, &Next::MPI_Ialltoall,
                   &Next::MPI_Ialltoall_c, &Next::MPI_Alltoall_init, &Next::MPI_Alltoall_init_c),
      comm);
}

template Answer take_bcast(void*, int, MPI_Datatype, int, MPI_Comm, Start) noexcept;
template Answer take_bcast(void*, MPI_Count, MPI_Datatype, int, MPI_Comm, Start) noexcept;
template Answer take_gather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm,
                            Start) noexcept;
template Answer take_gather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                            int, MPI_Comm, Start) noexcept;
template Answer take_scatter(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int,
                             MPI_Comm, Start) noexcept;
template Answer take_scatter(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                             int, MPI_Comm, Start) noexcept;
template Answer take_allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                               Start) noexcept;
template Answer take_allgather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                               MPI_Comm, Start) noexcept;
template Answer take_alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                              Start) noexcept;
template Answer take_alltoall(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                              MPI_Comm, Start) noexcept;

}  // namespace lacuna
