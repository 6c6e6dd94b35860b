// SPDX-License-Identifier: BSD-3-Clause
//
// Short: blocking messages of few bytes in a program of one thread, where every instruction besides
// packing and the library's call shows. The decision for the last call with the same type and count
// is reused (types/record.hpp, `verdict`). Unusual calls take the full path (blocking.cpp).
#ifndef LACUNA_INTERPOSE_MESSAGES_SHORT_MESSAGE_HPP_
#define LACUNA_INTERPOSE_MESSAGES_SHORT_MESSAGE_HPP_

#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/memory/staging.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

using SendStep = int(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using RecvStep = int(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);

// Whether the last call with this type and count was packed (sends: and not by the direct path).
inline bool is_short(MPI_Datatype datatype, int count, Operation operation) {
  const TypeRecord* record = detail::cached_record(datatype);
  if (record == nullptr) return false;
  const int64_t yes = verdict_bit(operation);
  const int64_t asked = operation == Operation::kSend ? yes | verdict_bit(Operation::kDirect) : yes;
  const int64_t verdict = record->verdict.load(std::memory_order_relaxed);
  return count > 0 && verdict >> kVerdictBits == count && (verdict & asked) == yes &&
         record->uniform && count * record->size_bytes <= kKeptBytes && !anything_irregular() &&
         !is_watched(kAnyWatched);
}

// The whole call, if is_short().
int send_short(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int receive_short(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Status* status);

// Steps of the wrappers (messages/fast_receive.hpp). Only under the MPI_ name: calls under the
// PMPI_ name follow other rules.
template <const Next& (*next)() noexcept>
inline int short_send(SendStep* otherwise, const void* buf, int count, MPI_Datatype datatype,
                      int dest, int tag, MPI_Comm comm) {
  if (next == next_functions && is_short(datatype, count, Operation::kSend) &&
      dest != MPI_PROC_NULL && !called_by_mpi(LACUNA_CALLER()))
    return send_short(buf, count, datatype, dest, tag, comm);
  return otherwise(buf, count, datatype, dest, tag, comm);
}

template <const Next& (*next)() noexcept>
inline int short_recv(RecvStep* otherwise, void* buf, int count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, MPI_Status* status) {
  if (next == next_functions && is_short(datatype, count, Operation::kReceive) &&
      is_open(kP2pSwitch) && source != MPI_PROC_NULL && !called_by_mpi(LACUNA_CALLER()))
    return receive_short(buf, count, datatype, source, tag, comm, status);
  return otherwise(buf, count, datatype, source, tag, comm, status);
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MESSAGES_SHORT_MESSAGE_HPP_
