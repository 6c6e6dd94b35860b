// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/messages/short_message.hpp"

#include <utility>

#include "exec/exec.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/observe/observe.hpp"
#include "interpose/types/guard.hpp"

namespace lacuna {
namespace {

// The checks of examine() that depend on the buffer.
bool may_be_moved(const void* buf, int count, const TypeRecord& record, int64_t* bytes) {
  const void* first = nullptr;
  return locate(buf, count, record, bytes, &first) && !may_be_on_device(first);
}

Wire short_wire(const TypeRecord& record, int64_t bytes) {
  return {record.wire, static_cast<uint32_t>(bytes) / static_cast<uint32_t>(record.wire_bytes)};
}

// For a message that does not fill the receive, or may be a token, and for errors.
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
  const bool moves = staging && may_be_moved(buf, count, record, &bytes);
  Wire wire = short_wire(record, bytes);
  if (!moves || (bytes > kNeverOverruns && !guard(&wire))) {
    const Answer answer = handle_send(SendMode::kStandard, buf, count, datatype, dest, tag, comm);
    count_answer(FunctionId::kMPI_Send, answer);
    return answer.handled ? answer.code : next.MPI_Send(buf, count, datatype, dest, tag, comm);
  }
  pack(*record.plan, buf, count, staging.data());
  count_answer(FunctionId::kMPI_Send, handled(MPI_SUCCESS));
  return next.MPI_Send(staging.data(), static_cast<int>(wire.count), wire.type, dest, tag, comm);
}

int receive_short(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Status* status) {
  const TypeRecord& record = *detail::cached_record(datatype);
  int64_t bytes = 0;
  Staging staging = borrow_kept();
  const bool moves = staging && may_be_moved(buf, count, record, &bytes);
  Wire wire = short_wire(record, bytes);
  if (!moves || !guard(&wire)) {
    // A token may come in any receive.
    const Answer answer = handle_recv(buf, count, datatype, source, tag, comm, status);
    count_answer(FunctionId::kMPI_Recv, answer);
    return answer.handled
               ? answer.code
               : next_functions().MPI_Recv(buf, count, datatype, source, tag, comm, status);
  }
  count_answer(FunctionId::kMPI_Recv, handled(MPI_SUCCESS));
  // Keeps the plan: a callback of the program may free the type during the call.
  PlanPtr plan = record.plan;
  OwnStatus own(status);
  const int code = next_functions().MPI_Recv(staging.data(), static_cast<int>(wire.count),
                                             wire.type, source, tag, comm, own.get());
  if (code != MPI_SUCCESS || !own.is_written() || direct::bytes_of(*own.get()) != bytes ||
      (bytes == direct::kTokenBytes && direct::begins_with_secret(staging.data()))) {
    return finish_unusual(wire, std::move(plan), std::move(staging), buf, count, bytes, comm, code,
                          &own);
  }
  unpack(*plan, staging.data(), count, buf);
  own.copy_to_caller();
  return code;
}

}  // namespace lacuna
