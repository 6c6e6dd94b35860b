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

inline bool is_plain(MPI_Datatype datatype) noexcept {
  return receives_direct() && plainly_predefined(datatype) && !any_held();
}

// Where the type is sure to live until the call ends: also messages that are known to be the
// library's, if a token survives in them.
inline bool is_plain(MPI_Datatype datatype, int count) noexcept {
  if (is_plain(datatype)) return true;
  const TypeRecord* record = lacuna::detail::cached_record(datatype);
  return record != nullptr && is_futile(*record, count, Operation::kReceive) &&
         !loses_bytes(*record) && receives_direct() && !any_held();
}

// A receive has ended well.
inline bool may_be_token(int code, const MPI_Status& status) noexcept {
  return __builtin_expect(bytes_of(status) == kTokenBytes && code == MPI_SUCCESS, 0);
}

// It has brought as many bytes as a token has: what its call returns, after the communicator's
// error handler has heard of it.
int redeem(const Watch& watch, MPI_Status* status) noexcept;

}  // namespace direct

inline bool quick_recv(const Next& next, void* buf, int count, MPI_Datatype datatype, int source,
                       int tag, MPI_Comm comm, MPI_Status* status, int* code) noexcept {
  if (!direct::is_plain(datatype, count) || any_freed_requests() || g_gate.threads) return false;
  direct::Watch watch{0, buf, datatype, comm, count};
  asm("" : "+m"(watch));  // in memory, which takes fewer instructions than registers that are saved
  MPI_Status own{};
  MPI_Status* told = status == MPI_STATUS_IGNORE ? &own : status;
  *code = next.MPI_Recv(buf, count, datatype, source, tag, comm, told);
  if (direct::may_be_token(*code, *told)) *code = direct::redeem(watch, told);
  return true;
}

inline bool quick_irecv(const Next& next, const void* caller, void* buf, int count,
                        MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Request* request, int* code) noexcept {
  if (!direct::is_plain(datatype) || any_freed_requests() || g_gate.threads || request == nullptr ||
      called_by_mpi(caller))
    return false;
  // The call's request is ours until the library has given one (request.cpp).
  MPI_Request started = g_gate.request_null;
  *code = next.MPI_Irecv(buf, count, datatype, source, tag, comm, &started);
  if (started == g_gate.request_null) return true;
  *request = started;
  add_watch(started, buf, count, datatype, comm);
  return true;
}

inline bool quick_wait(const Next& next, MPI_Request* request, MPI_Status* status,
                       int* code) noexcept {
  if (request == nullptr || any_freed_requests()) return false;
  direct::Watch* watch = detail::find_watch(*request);
  if (watch == nullptr) return false;
  MPI_Status own{};
  MPI_Status* told = status == MPI_STATUS_IGNORE ? &own : status;
  *code = next.MPI_Wait(request, told);
  if (handle_bits(*request) == watch->key) return true;
  detail::end_watch(watch);
  if (direct::may_be_token(*code, *told)) *code = direct::redeem(*watch, told);
  return true;
}

inline bool quick_test(const Next& next, MPI_Request* request, int* flag, MPI_Status* status,
                       int* code) noexcept {
  if (request == nullptr || flag == nullptr || any_freed_requests()) return false;
  direct::Watch* watch = detail::find_watch(*request);
  if (watch == nullptr) return false;
  MPI_Status own{};
  MPI_Status* told = status == MPI_STATUS_IGNORE ? &own : status;
  *code = next.MPI_Test(request, flag, told);
  if (handle_bits(*request) == watch->key) return true;
  detail::end_watch(watch);
  if (direct::may_be_token(*code, *told)) *code = direct::redeem(*watch, told);
  return true;
}

bool quick_waitall(const Next& next, int count, MPI_Request* requests, MPI_Status* statuses,
                   int* code) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_DIRECT_QUICK_HPP_
