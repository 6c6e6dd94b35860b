// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives with the same count for all ranks.
#include "interpose/collectives/call.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {

using direct::Kind;

template <typename Count>
Answer take_bcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  Start start) {
  Block<Count> data(buffer, count, datatype);
  const auto bytes = [&](const direct::Room&) { return data.bytes(); };
  const auto fill = [&](Places* places) { return places->bcast(data, root); };
  const direct::Call call{Kind::kBcast, root, is_plain(data, data)};
  direct::Room* room = nullptr;
  if (const auto answer = call_in_room(call, comm, start, bytes, fill, &room)) return *answer;
  if (is_for_library(call, room, data, data)) {
    if (room != nullptr) direct::remember_passed(call, room, data.side(), direct::side());
    return kDeclined;
  }
  const Shares shares = share_bcast(root, comm, start);
  if (!shares.known) return shares.answer;
  const bool gives = shares.gives.pairs > 0;
  const Share& share = gives ? shares.gives : shares.gets;
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
                   Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kGather, root}, comm,
      [&](const direct::Room& room) { return is_root(room, root) ? in.bytes() : out.bytes(); },
      [&](Places* places) { return places->gather(out, in, root); },
      [&] { return share_rooted(Flow::kIn, sendbuf, root, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Gather, &Next::MPI_Gather_c, &Next::MPI_Igather, &Next::MPI_Igather_c,
                   &Next::MPI_Gather_init, &Next::MPI_Gather_init_c),
      root, comm);
}

template <typename Count>
Answer take_scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kScatter, root}, comm,
      [&](const direct::Room& room) { return is_root(room, root) ? out.bytes() : in.bytes(); },
      [&](Places* places) { return places->scatter(out, in, root); },
      [&] { return share_rooted(Flow::kOut, recvbuf, root, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Scatter, &Next::MPI_Scatter_c, &Next::MPI_Iscatter,
                   &Next::MPI_Iscatter_c, &Next::MPI_Scatter_init, &Next::MPI_Scatter_init_c),
      root, comm);
}

namespace {

// Intel MPI 2021.19, four ranks: MPI_Allgather of 8 numbers into two contiguous types of four, or
// the reverse, brings wrong data. With gaps it does not, nor does any other collective.
template <typename Count>
bool may_lose_gaps(const void* sendbuf, Count sendcount, Count recvcount, const Start& start) {
  return runtime().flavour != Flavour::kIntelMpi || !start.blocking() || sendbuf == MPI_IN_PLACE ||
         sendcount == recvcount;
}

}  // namespace

template <typename Count>
Answer take_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kAllgather}, comm, [&](const direct::Room&) { return in.bytes(); },
      [&](Places* places) { return places->allgather(out, in); },
      [&] {
        return may_lose_gaps(sendbuf, sendcount, recvcount, start)
                   ? share_allgather(sendbuf, comm, start)
                   : Shares();
      },
      out, in, start,
      forms<Count>(&Next::MPI_Allgather, &Next::MPI_Allgather_c, &Next::MPI_Iallgather,
                   &Next::MPI_Iallgather_c, &Next::MPI_Allgather_init, &Next::MPI_Allgather_init_c),
      comm);
}

template <typename Count>
Answer take_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kAlltoall}, comm, [&](const direct::Room&) { return in.bytes(); },
      [&](Places* places) { return places->alltoall(out, in); },
      [&] { return share_alltoall(sendbuf, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Alltoall, &Next::MPI_Alltoall_c, &Next::MPI_Ialltoall,
                   &Next::MPI_Ialltoall_c, &Next::MPI_Alltoall_init, &Next::MPI_Alltoall_init_c),
      comm);
}

template Answer take_bcast(void*, int, MPI_Datatype, int, MPI_Comm, Start);
template Answer take_bcast(void*, MPI_Count, MPI_Datatype, int, MPI_Comm, Start);
template Answer take_gather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm,
                            Start);
template Answer take_gather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                            int, MPI_Comm, Start);
template Answer take_scatter(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int,
                             MPI_Comm, Start);
template Answer take_scatter(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                             int, MPI_Comm, Start);
template Answer take_allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                               Start);
template Answer take_allgather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                               MPI_Comm, Start);
template Answer take_alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                              Start);
template Answer take_alltoall(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                              MPI_Comm, Start);

}  // namespace lacuna
