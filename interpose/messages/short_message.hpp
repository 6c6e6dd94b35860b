// SPDX-License-Identifier: BSD-3-Clause
//
// Short: blocking messages of few bytes that are packed in a program of one thread, where all that
// is done beside packing and the library's call shows. What it takes to do such a call is known
// from the one before with the same type and count (types/record.hpp, `verdict`); whatever is not
// usual goes the long way (blocking.cpp).
#ifndef LACUNA_INTERPOSE_MESSAGES_SHORT_MESSAGE_HPP_
#define LACUNA_INTERPOSE_MESSAGES_SHORT_MESSAGE_HPP_

#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/staging.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

using SendStep = int(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using RecvStep = int(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);

// Whether so many elements are packed, and for sends not by the direct path: the last call on the
// type has said so.
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

// The whole call, where it is_short().
int send_short(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int receive_short(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Status* status);

// A step (messages/fast_receive.hpp) that the wrapper has jumped to. Under its other name a
// call has other rules.
template <const Next& (*next)() noexcept>
inline int short_send(SendStep* otherwise, const void* buf, int count, MPI_Datatype datatype,
                      int dest, int tag, MPI_Comm comm) {
  if (next == next_functions && is_short(datatype, count, Operation::kSend) &&
      dest != MPI_PROC_NULL && !called_by_mpi(__builtin_return_address(0)))
    return send_short(buf, count, datatype, dest, tag, comm);
  return otherwise(buf, count, datatype, dest, tag, comm);
}

template <const Next& (*next)() noexcept>
inline int short_recv(RecvStep* otherwise, void* buf, int count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, MPI_Status* status) {
  if (next == next_functions && is_short(datatype, count, Operation::kReceive) &&
      is_open(kP2pSwitch) && source != MPI_PROC_NULL && !called_by_mpi(__builtin_return_address(0)))
    return receive_short(buf, count, datatype, source, tag, comm, status);
  return otherwise(buf, count, datatype, source, tag, comm, status);
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MESSAGES_SHORT_MESSAGE_HPP_
