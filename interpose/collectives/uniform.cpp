// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives with the same count for all ranks.
#include "interpose/collectives/call.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {

using direct::Kind;

template <typename Count>
Answer handle_bcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                    Start start) {
  Block<Count> data(buffer, count, datatype);
  const auto bytes = [&](const direct::Room&) { return data.bytes(); };
  const auto fill = [&](MemberData* places) { return places->bcast(data, root); };
  const direct::Call call{Kind::kBcast, root, is_plain(data, data)};
  direct::Room* room = nullptr;
  if (const auto answer = call_in_room(call, comm, start, bytes, fill, &room)) return *answer;
  if (fails_gate(call, room, data, data)) {
    if (room != nullptr) direct::remember_decline(call, room, data.side(), direct::side());
    return kDeclined;
  }
  const CallPairs call_pairs = pairs_of_bcast(root, comm, start);
  if (!call_pairs.known) return call_pairs.answer;
  const bool sends = call_pairs.sends.pairs > 0;
  const SidePairs& side_pairs = sends ? call_pairs.sends : call_pairs.receives;
  Sides sides;
  data.handle(sends ? Operation::kSend : Operation::kReceive, side_pairs.pairs, side_pairs.flows,
              start.blocking(), sends ? &sides.out : &sides.in);
  return call_library(
      &sides, start,
      forms<Count>(&Next::MPI_Bcast, &Next::MPI_Bcast_c, &Next::MPI_Ibcast, &Next::MPI_Ibcast_c,
                   &Next::MPI_Bcast_init, &Next::MPI_Bcast_init_c),
      std::tuple_cat(data.arguments(), std::make_tuple(root, comm)));
}

template <typename Count>
Answer handle_gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kGather, root}, comm,
      [&](const direct::Room& room) { return is_root(room, root) ? in.bytes() : out.bytes(); },
      [&](MemberData* places) { return places->gather(out, in, root); },
      [&] { return pairs_of_rooted(Flow::kIn, sendbuf, root, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Gather, &Next::MPI_Gather_c, &Next::MPI_Igather, &Next::MPI_Igather_c,
                   &Next::MPI_Gather_init, &Next::MPI_Gather_init_c),
      root, comm);
}

template <typename Count>
Answer handle_scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                      Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kScatter, root}, comm,
      [&](const direct::Room& room) { return is_root(room, root) ? out.bytes() : in.bytes(); },
      [&](MemberData* places) { return places->scatter(out, in, root); },
      [&] { return pairs_of_rooted(Flow::kOut, recvbuf, root, comm, start); }, out, in, start,
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
Answer handle_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kAllgather}, comm, [&](const direct::Room&) { return in.bytes(); },
      [&](MemberData* places) { return places->allgather(out, in); },
      [&] {
        return may_lose_gaps(sendbuf, sendcount, recvcount, start)
                   ? pairs_of_allgather(sendbuf, comm, start)
                   : CallPairs();
      },
      out, in, start,
      forms<Count>(&Next::MPI_Allgather, &Next::MPI_Allgather_c, &Next::MPI_Iallgather,
                   &Next::MPI_Iallgather_c, &Next::MPI_Allgather_init, &Next::MPI_Allgather_init_c),
      comm);
}

template <typename Count>
Answer handle_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start) {
  const Block<Count> out(sendbuf, sendcount, sendtype);
  const Block<Count> in(recvbuf, recvcount, recvtype);
  return do_call(
      {Kind::kAlltoall}, comm, [&](const direct::Room&) { return in.bytes(); },
      [&](MemberData* places) { return places->alltoall(out, in); },
      [&] { return pairs_of_alltoall(sendbuf, comm, start); }, out, in, start,
      forms<Count>(&Next::MPI_Alltoall, &Next::MPI_Alltoall_c, &Next::MPI_Ialltoall,
                   &Next::MPI_Ialltoall_c, &Next::MPI_Alltoall_init, &Next::MPI_Alltoall_init_c),
      comm);
}

template Answer handle_bcast(void*, int, MPI_Datatype, int, MPI_Comm, Start);
template Answer handle_bcast(void*, MPI_Count, MPI_Datatype, int, MPI_Comm, Start);
template Answer handle_gather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int,
                              MPI_Comm, Start);
template Answer handle_gather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                              int, MPI_Comm, Start);
template Answer handle_scatter(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int,
                               MPI_Comm, Start);
template Answer handle_scatter(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                               int, MPI_Comm, Start);
template Answer handle_allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                                 Start);
template Answer handle_allgather(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count,
                                 MPI_Datatype, MPI_Comm, Start);
template Answer handle_alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                                Start);
template Answer handle_alltoall(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count,
                                MPI_Datatype, MPI_Comm, Start);

}  // namespace lacuna
