// SPDX-License-Identifier: BSD-3-Clause
//
// A message keeps its signature: n of the basic type where there is only one, MPI_PACKED otherwise,
// which matches every type. So the peer may be without lacuna, or receive into any type of the same
// signature.
#include "interpose/transfer.hpp"

#include "interpose/log.hpp"
#include "interpose/next.hpp"
#include "interpose/packing.hpp"
#include "interpose/runtime.hpp"

namespace lacuna {
namespace {

// The library can count that far.
bool is_countable(const Wire& wire) noexcept { return fits_int(wire.count) || next_has_large(); }

bool prepare(const Job& job, bool blocking, Staging* staging, Wire* wire) noexcept {
  *wire = wire_of(job);
  if (!is_countable(*wire)) {
    log_type(*job.record, Note::kTooLarge, job.bytes);
    return false;
  }
  *staging = borrow_staging(job.bytes, blocking);
  if (*staging) return true;
  log_type(*job.record, Note::kNoMemory, job.bytes);
  return false;
}

bool begin_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, bool blocking,
                    Incoming* incoming, Job* job) noexcept {
  if (source == MPI_PROC_NULL) return false;
  if (!examine(Operation::kReceive, buf, count, datatype, job)) return false;
  if (!prepare(*job, blocking, &incoming->staging, &incoming->wire)) return false;
  incoming->plan = job->record->plan;
  incoming->buf = buf;
  incoming->count = count;
  incoming->bytes = job->bytes;
  incoming->account = account_of(*job->record);
  return true;
}

}  // namespace

bool make_outgoing(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, bool blocking,
                   Outgoing* outgoing) noexcept {
  if (dest == MPI_PROC_NULL) return false;
  Job job;
  if (!examine(Operation::kSend, buf, count, datatype, &job)) return false;
  if (!prepare(job, blocking, &outgoing->staging, &outgoing->wire)) return false;
  pack_for(account_of(*job.record), *job.record->plan, buf, count, outgoing->staging.data());
  log_type(*job.record, Note::kTaken, job.bytes);
  return true;
}

bool make_source(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                 Staging* staging, Wire* wire, SendSource* source) noexcept {
  if (dest == MPI_PROC_NULL) return false;
  Job job;
  if (!examine(Operation::kSend, buf, count, datatype, &job)) return false;
  if (!prepare(job, false, staging, wire)) return false;
  *source = {job.record->plan, buf, count, account_of(*job.record)};
  log_type(*job.record, Note::kTaken, job.bytes);
  return true;
}

bool make_incoming(void* buf, MPI_Count count, MPI_Datatype datatype, int source, bool blocking,
                   Incoming* incoming) noexcept {
  Job job;
  if (!begin_incoming(buf, count, datatype, source, blocking, incoming, &job)) return false;
  log_type(*job.record, Note::kTaken, job.bytes);
  return true;
}

bool make_replacement(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int source,
                      Staging* outgoing, Incoming* incoming) noexcept {
  Job job;
  if (!begin_incoming(buf, count, datatype, source, true, incoming, &job)) return false;
  *outgoing = borrow_staging(job.bytes, true);
  log_type(*job.record, *outgoing ? Note::kTaken : Note::kNoMemory, job.bytes);
  if (!*outgoing) return false;
  if (dest != MPI_PROC_NULL)
    pack_for(incoming->account, *incoming->plan, buf, count, outgoing->data());
  return true;
}

bool is_message(const MPI_Message* message) noexcept {
  return message != nullptr && *message != runtime().message_null &&
         *message != runtime().message_no_proc;
}

void deliver(const Incoming& incoming, const MPI_Status& status) noexcept {
  const Next& next = next_functions();
  int cancelled = 0;
  if (next.MPI_Test_cancelled(&status, &cancelled) != MPI_SUCCESS || cancelled != 0) return;
  MPI_Count received = 0;
  if (next.MPI_Get_elements_x(&status, runtime().byte, &received) != MPI_SUCCESS || received <= 0)
    return;
  unpack_for(incoming.account, *incoming.plan, incoming.staging.data(), received, incoming.count,
             incoming.buf);
}

}  // namespace lacuna
