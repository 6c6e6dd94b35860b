// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/short.hpp"

#include <utility>

#include "exec/exec.hpp"
#include "interpose/device.hpp"
#include "interpose/direct/receive.hpp"
#include "interpose/handlers.hpp"
#include "interpose/look.hpp"
#include "interpose/runtime.hpp"
#include "interpose/transfer.hpp"

namespace lacuna {
namespace {

// What examine() asks of the data themselves.
bool may_be_moved(const void* buf, int count, const TypeRecord& record, int64_t* bytes) {
  const void* first = nullptr;
  return locate(buf, count, record, bytes, &first) && !may_be_on_device(first);
}

int wire_count(const TypeRecord& record, int64_t bytes) {
  return static_cast<int>(static_cast<uint32_t>(bytes) / static_cast<uint32_t>(record.wire_bytes));
}

// What came is not all that there was room for, or it may be a token.
[[gnu::noinline]] int finish_unusual(const Wire& wire, PlanPtr plan, Staging staging, void* buf,
                                     int count, int64_t bytes, MPI_Comm comm, int code,
                                     OwnStatus* own) {
  Incoming incoming;
  incoming.data = staging.data();
  incoming.wire = wire;
  incoming.staging = std::move(staging);
  incoming.plan = std::move(plan);
  incoming.buf = buf;
  incoming.count = count;
  incoming.bytes = bytes;
  incoming.comm = comm;
  return own->finish(incoming, code);
}

}  // namespace

int send_short(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm) {
  const Next& next = next_functions();
  const TypeRecord& record = *detail::cached_record(datatype);
  int64_t bytes = 0;
  const Staging staging = borrow_kept();
  if (!staging || !may_be_moved(buf, count, record, &bytes) ||
      (bytes > kNeverOverruns && may_overrun(comm))) {
    note(FunctionId::kMPI_Send, kDeclined);
    return next.MPI_Send(buf, count, datatype, dest, tag, comm);
  }
  pack(*record.plan, buf, count, staging.data());
  note(FunctionId::kMPI_Send, taken(MPI_SUCCESS));
  return next.MPI_Send(staging.data(), wire_count(record, bytes), record.wire, dest, tag, comm);
}

int receive_short(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Status* status) {
  const TypeRecord& record = *detail::cached_record(datatype);
  int64_t bytes = 0;
  Staging staging = may_overrun(comm) ? Staging() : borrow_kept();
  if (!staging || !may_be_moved(buf, count, record, &bytes)) {
    // A token may come all the same.
    const Answer answer = take_recv(buf, count, datatype, source, tag, comm, status);
    note(FunctionId::kMPI_Recv, answer);
    return answer.taken
               ? answer.code
               : next_functions().MPI_Recv(buf, count, datatype, source, tag, comm, status);
  }
  note(FunctionId::kMPI_Recv, taken(MPI_SUCCESS));
  // A callback of the program's may free the type.
  PlanPtr plan = record.plan;
  const int sent = wire_count(record, bytes);
  const MPI_Datatype wire = record.wire;
  OwnStatus own(status);
  const int code =
      next_functions().MPI_Recv(staging.data(), sent, wire, source, tag, comm, own.get());
  if (code != MPI_SUCCESS || !own.is_written() || direct::bytes_of(*own.get()) != bytes ||
      (bytes == direct::kTokenBytes && direct::begins_as_token(staging.data()))) {
    return finish_unusual({wire, sent}, std::move(plan), std::move(staging), buf, count, bytes,
                          comm, code, &own);
  }
  unpack(*plan, staging.data(), count, buf);
  own.tell();
  return code;
}

}  // namespace lacuna
