// SPDX-License-Identifier: BSD-3-Clause
//
// Quick: what receives cost that will hardly ever meet a token: blocking ones into a predefined
// type or into one that does not pay, and nonblocking ones into the former. Here it is the
// library's call with a look at the status behind it; everything else goes the long way
// (transfer.hpp).
//
// Each function does the whole call, or returns false and has done nothing. Inline, as they are
// most of what lacuna costs a program that sends contiguous data only.
#ifndef LACUNA_INTERPOSE_DIRECT_QUICK_HPP_
#define LACUNA_INTERPOSE_DIRECT_QUICK_HPP_

#include "interpose/direct/probe.hpp"
#include "interpose/direct/receive.hpp"
#include "interpose/gate.hpp"
#include "interpose/next.hpp"
#include "interpose/requests.hpp"
#include "interpose/types.hpp"

namespace lacuna {
namespace direct {

// The wrappers have asked whether the direct path is open.
inline bool is_plain(MPI_Datatype datatype) noexcept {
  return plainly_predefined(datatype) && !anything_irregular();
}

// The same of a message of a derived type that is known to be the library's, if a token survives in
// it. Only where the type is sure to live until the call ends.
inline bool is_futile_receive(MPI_Datatype datatype, int count) noexcept {
  const TypeRecord* record = lacuna::detail::cached_record(datatype);
  return record != nullptr && is_futile(*record, count, Operation::kReceive) &&
         !loses_bytes(*record) && !anything_irregular();
}

// A receive has ended well.
inline bool may_be_token(int code, const MPI_Status& status) noexcept {
  return __builtin_expect(code == MPI_SUCCESS && brings_token_bytes(status), 0);
}

// It has brought as many bytes as a token has: what its call returns, after the communicator's
// error handler has heard of it.
int redeem(const Watch& watch, MPI_Status* status) noexcept;

}  // namespace direct

// Where to ask for them: late, as it takes a register until the call.
using NextFunctions = const Next& (*)() noexcept;

// The library's call and the look behind it.
inline int watched_recv(const Next& next, void* buf, int count, MPI_Datatype datatype, int source,
                        int tag, MPI_Comm comm, MPI_Status* status) noexcept {
  direct::Watch watch;
  watch.buf = buf;
  watch.datatype = datatype;
  watch.comm = comm;
  watch.count = count;
  // In memory, which takes fewer instructions than registers that are saved.
  asm("" : "+m"(watch.buf), "+m"(watch.datatype), "+m"(watch.comm), "+m"(watch.count));
  MPI_Status own;  // set by a receive that ends well
  MPI_Status* told = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = next.MPI_Recv(buf, count, datatype, source, tag, comm, told);
  return direct::may_be_token(code, *told) ? direct::redeem(watch, told) : code;
}

inline bool quick_recv(NextFunctions next, void* buf, int count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, MPI_Status* status, int* code) noexcept {
  if (!direct::is_plain(datatype)) return false;
  *code = watched_recv(next(), buf, count, datatype, source, tag, comm, status);
  return true;
}

inline bool light_recv(NextFunctions next, void* buf, int count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, MPI_Status* status, int* code) noexcept {
  if (!direct::is_futile_receive(datatype, count)) return false;
  *code = watched_recv(next(), buf, count, datatype, source, tag, comm, status);
  return true;
}

inline bool quick_irecv(NextFunctions next, const void* caller, void* buf, int count,
                        MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Request* request, int* code) noexcept {
  if (!direct::is_plain(datatype) || request == nullptr || called_by_mpi(caller)) return false;
  // The call's request is ours until the library has given one (request.cpp).
  MPI_Request started = g_gate.request_null;
  *code = next().MPI_Irecv(buf, count, datatype, source, tag, comm, &started);
  if (started == g_gate.request_null) return true;
  *request = started;
  add_watch(started, buf, count, datatype, comm);
  return true;
}

// A request that was watched may have completed.
inline int end_if_over(direct::Watch* watch, MPI_Request request, MPI_Status* status,
                       int code) noexcept {
  if (handle_bits(request) == watch->key) return code;
  detail::end_watch(watch);
  return direct::may_be_token(code, *status) ? direct::redeem(*watch, status) : code;
}

inline bool quick_wait(NextFunctions next, MPI_Request* request, MPI_Status* status,
                       int* code) noexcept {
  if (request == nullptr || anything_irregular()) return false;
  direct::Watch* watch = detail::find_watch(*request);
  if (watch == nullptr) {
    if (detail::has_entries(*request)) return false;
    *code = next().MPI_Wait(request, status);
    return true;
  }
  MPI_Status own;  // set if it ends well
  MPI_Status* told = status == MPI_STATUS_IGNORE ? &own : status;
  *code = next().MPI_Wait(request, told);
  *code = end_if_over(watch, *request, told, *code);
  return true;
}

inline bool quick_test(NextFunctions next, MPI_Request* request, int* flag, MPI_Status* status,
                       int* code) noexcept {
  if (request == nullptr || flag == nullptr || anything_irregular()) return false;
  direct::Watch* watch = detail::find_watch(*request);
  if (watch == nullptr) return false;
  MPI_Status own;  // set if it ends well
  MPI_Status* told = status == MPI_STATUS_IGNORE ? &own : status;
  *code = next().MPI_Test(request, flag, told);
  *code = end_if_over(watch, *request, told, *code);
  return true;
}

bool quick_waitall(const Next& next, const void* caller, int count, MPI_Request* requests,
                   MPI_Status* statuses, int* code) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_DIRECT_QUICK_HPP_
