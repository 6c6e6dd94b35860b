// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives with the same count for all ranks.
#include "interpose/carry.hpp"
#include "interpose/next.hpp"

namespace lacuna {

template <typename Count>
Answer take_bcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  Start start) noexcept {
  if (!may_begin(start)) return kDeclined;
  Group group;
  int code = 0;
  if (!ask_group(comm, &group, &code)) return taken(code);
  const Role role = group.role(root);
  if (role == Role::kNone || (!group.inter && group.pairs == 1)) return kDeclined;
  Block<Count> data(buffer, count, datatype);
  Exchange exchange;
  if (role == Role::kRoot) {
    data.take(Operation::kSend, 1, {Flow::kOut}, start.blocking(), &exchange.out);
  } else {
    data.take(Operation::kReceive, 1, {Flow::kIn}, start.blocking(), &exchange.in);
  }
  const Next& next = next_functions();
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Bcast, next.MPI_Bcast_c)(data.buf, data.count, data.type, root,
                                                              comm);
    }
    return form_of<Count>(next.MPI_Ibcast, next.MPI_Ibcast_c)(data.buf, data.count, data.type, root,
                                                              comm, request);
  });
}

template <typename Count>
Answer take_gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                   Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_gather(sendbuf, root, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Block<Count> in(recvbuf, recvcount, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Gather, next.MPI_Gather_c)(
          out.buf, out.count, out.type, in.buf, in.count, in.type, root, comm);
    }
    return form_of<Count>(next.MPI_Igather, next.MPI_Igather_c)(
        out.buf, out.count, out.type, in.buf, in.count, in.type, root, comm, request);
  });
}

template <typename Count>
Answer take_scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                    Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_scatter(recvbuf, root, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Block<Count> in(recvbuf, recvcount, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Scatter, next.MPI_Scatter_c)(
          out.buf, out.count, out.type, in.buf, in.count, in.type, root, comm);
    }
    return form_of<Count>(next.MPI_Iscatter, next.MPI_Iscatter_c)(
        out.buf, out.count, out.type, in.buf, in.count, in.type, root, comm, request);
  });
}

template <typename Count>
Answer take_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_allgather(sendbuf, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Block<Count> in(recvbuf, recvcount, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Allgather, next.MPI_Allgather_c)(
          out.buf, out.count, out.type, in.buf, in.count, in.type, comm);
    }
    return form_of<Count>(next.MPI_Iallgather, next.MPI_Iallgather_c)(
        out.buf, out.count, out.type, in.buf, in.count, in.type, comm, request);
  });
}

template <typename Count>
Answer take_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, Start start) noexcept {
  Share gives, gets;
  Answer answer = kDeclined;
  if (!share_alltoall(sendbuf, comm, start, &gives, &gets, &answer)) return answer;
  const Next& next = next_functions();
  Block<Count> out(sendbuf, sendcount, sendtype);
  Block<Count> in(recvbuf, recvcount, recvtype);
  Exchange exchange;
  take_sides(&out, gives, &in, gets, start.blocking(), &exchange);
  return carry(&exchange, start, [&](MPI_Request* request) noexcept {
    if (request == nullptr) {
      return form_of<Count>(next.MPI_Alltoall, next.MPI_Alltoall_c)(
          out.buf, out.count, out.type, in.buf, in.count, in.type, comm);
    }
    return form_of<Count>(next.MPI_Ialltoall, next.MPI_Ialltoall_c)(
        out.buf, out.count, out.type, in.buf, in.count, in.type, comm, request);
  });
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
