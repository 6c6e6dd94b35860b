// SPDX-License-Identifier: BSD-3-Clause
//
// Quick path of receives that will hardly ever get a token: blocking ones into predefined types, or
// into types for which lacuna does not pay; and nonblocking ones into predefined types. It is the
// library's call, then a check of the status. All others take the full path (messages/message.hpp).
//
// Each function ("step") does the whole call, or does nothing and jumps to the next step. These
// steps are most of what lacuna costs a program that sends contiguous data only. They are not used
// with threads (gate.hpp, `irregular`).
#ifndef LACUNA_INTERPOSE_MESSAGES_FAST_RECEIVE_HPP_
#define LACUNA_INTERPOSE_MESSAGES_FAST_RECEIVE_HPP_

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/messages/probe.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/messages/short_message.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {
namespace direct {

// Whether a receive has less room than a token, as far as the handle alone says it: MPICH's handles
// have the size of a predefined type in their second byte.
inline bool is_too_short([[maybe_unused]] MPI_Datatype datatype, [[maybe_unused]] int count) {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  constexpr int kToken = kTokenBytes;
  return count < kToken && count * static_cast<int>(handle_bits(datatype) & 0xFF00) < kToken << 8;
#else
  return false;
#endif
}

// With pipelined messages: whether that of a receive into a predefined type may come in pieces,
// which not all calls may wait for (is_incomplete() in requests/table.hpp). No such type has more
// than 32 bytes.
inline bool may_be_in_pieces([[maybe_unused]] MPI_Datatype datatype, int count) {
  if (__builtin_expect(runtime().always, 0)) return true;
#if defined(LACUNA_MPI_FAMILY_MPICH)
  return int64_t{count} * static_cast<int64_t>((handle_bits(datatype) & 0xFF00) >> 8) >=
         kLeastPipelined;
#else
  return count >= kLeastPipelined / 32;
#endif
}

// Whether a receive into a derived type is known to be left to the library, in a type that keeps
// all bytes of a token. Only where the type is sure to live until the call ends.
inline bool is_futile_receive(MPI_Datatype datatype, int count) {
  const TypeRecord* record = lacuna::detail::cached_record(datatype);
  return record != nullptr &&
         (is_futile(*record, count, Operation::kReceive) || is_left_as_it_is(*record) ||
          (count == 1 && record->one_passes)) &&
         !loses_bytes(*record, count) && !anything_irregular();
}

// Whether to look for a token. After a failed call the status may say anything.
inline bool may_be_token(const MPI_Status& status) {
  return __builtin_expect(has_token_size(status), 0);
}

// For a receive that returned `code` and, if successful, brought as many bytes as a token has:
// fetches the payload of a token. Returns what the call returns; errors are raised before.
int receive_payload(const Watch& watch, MPI_Status* status, int code);
// The same for a watched request; ends the watch. Receives that the library itself posted bring no
// token.
int receive_watched_payload(Watch* watch, MPI_Status* status, int code);
// The same for the one request of a call with an array of statuses.
int receive_only_payload(Watch* watch, MPI_Status* status, int code);
// For calls without a status, if a token may have come: a status that says so if the receive has
// brought one.
MPI_Status assumed_status(const Watch& watch);
// Whether receives ask for a status, because a token may be outstanding. Set when a token may have
// come in a call without a status; cleared by a check, made now and then, that finds that all have
// arrived.
LACUNA_HIDDEN extern bool g_needs_status;
LACUNA_HIDDEN extern int g_calls_until_check;
// Counts down to the next check (check_then_call()).
inline bool is_status_needed() { return __builtin_expect(--g_calls_until_check > 0, 1); }
void need_statuses();
void check_need_of_statuses();
// For a call with any result, or whose request is still incomplete.
int end_after_all(Watch* watch, const MPI_Request* request, int code,
                  int (*receive_payload)(Watch*, MPI_Status*, int));

}  // namespace direct

// Each step gets the next one as `otherwise`, with the same arguments. Only steps that end in a
// watch have a stack frame; the others are reached by tail calls, so that arguments stay in their
// registers and the return address is the program's. No step is noexcept, as a noexcept function
// cannot end in a tail call.
using NextFunctions = const Next& (*)() noexcept;
using IrecvStep = int(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
using WaitStep = int(MPI_Request*, MPI_Status*);
using TestStep = int(MPI_Request*, int*, MPI_Status*);
using WaitallStep = int(int, MPI_Request*, MPI_Status*);

// The library's call, then the check of the status.
template <NextFunctions next>
__attribute__((noinline)) int watched_recv(void* buf, int count, MPI_Datatype datatype, int source,
                                           int tag, MPI_Comm comm, MPI_Status* status) {
  direct::Watch watch;
  watch.buf = buf;
  watch.datatype = datatype;
  watch.comm = comm;
  watch.count = count;
  // Kept in memory: that takes fewer instructions than saving registers. (So does a function of its
  // own: inlined into the wrapper, which then has a frame from its start, it takes more.)
  asm("" : "+m"(watch.buf), "+m"(watch.datatype), "+m"(watch.comm), "+m"(watch.count));
  MPI_Status own;  // set by a receive that ends well
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = next().MPI_Recv(buf, count, datatype, source, tag, comm, used);
  return direct::may_be_token(*used) ? direct::receive_payload(watch, used, code) : code;
}

// Steps must be inlined into wrappers, or arguments move. Compilers would not, as there are so
// many.
#define LACUNA_INLINED __attribute__((always_inline)) inline

template <NextFunctions next>
LACUNA_INLINED int fast_recv(RecvStep* otherwise, void* buf, int count, MPI_Datatype datatype,
                             int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!plainly_predefined(datatype))
    return otherwise(buf, count, datatype, source, tag, comm, status);
  if (direct::is_too_short(datatype, count))
    return next().MPI_Recv(buf, count, datatype, source, tag, comm, status);
  return watched_recv<next>(buf, count, datatype, source, tag, comm, status);
}

template <NextFunctions next>
inline int fast_derived_recv(RecvStep* otherwise, void* buf, int count, MPI_Datatype datatype,
                             int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!direct::is_futile_receive(datatype, count))
    return short_recv<next>(otherwise, buf, count, datatype, source, tag, comm, status);
  return watched_recv<next>(buf, count, datatype, source, tag, comm, status);
}

// The value of a request before the library has set one.
inline MPI_Request no_request() {
#if defined(LACUNA_MPI_FAMILY_OMPI)
  return g_gate.request_null;  // else a symbol lookup
#else
  return MPI_REQUEST_NULL;
#endif
}

// Stores the caller and looks at it only if a token has come, which is rare.
template <NextFunctions next>
__attribute__((noinline)) int watched_irecv(void* buf, int count, MPI_Datatype datatype, int source,
                                            int tag, MPI_Comm comm, MPI_Request* request) {
  if (__builtin_expect(request == nullptr, 0))
    return next().MPI_Irecv(buf, count, datatype, source, tag, comm, request);
  direct::Watch watch;
  watch.buf = buf;
  watch.datatype = datatype;
  watch.comm = comm;
  watch.count = count;
  watch.caller = LACUNA_CALLER();
  asm("" : "+m"(watch), "+m"(request));  // as above
  // A variable of lacuna's own until the library has set it (messages/nonblocking.cpp).
  MPI_Request started = no_request();
  const int code = next().MPI_Irecv(buf, count, datatype, source, tag, comm, &started);
  if (started == no_request()) return code;
  *request = started;
  add_watch(watch, started);
  return code;
}

template <NextFunctions next>
LACUNA_INLINED int fast_irecv(IrecvStep* otherwise, void* buf, int count, MPI_Datatype datatype,
                              int source, int tag, MPI_Comm comm, MPI_Request* request) {
  if (!plainly_predefined(datatype))
    return otherwise(buf, count, datatype, source, tag, comm, request);
  if (direct::is_too_short(datatype, count))
    return next().MPI_Irecv(buf, count, datatype, source, tag, comm, request);
  return watched_irecv<next>(buf, count, datatype, source, tag, comm, request);
}

// For a library `call` with a status that may complete a watched request. If it has (the request is
// MPI_REQUEST_NULL), and the message has as many bytes as a token, calls `receive_payload`.
template <auto receive_payload = direct::receive_watched_payload, typename Call>
LACUNA_INLINED int end_if_over(direct::Watch* watch, const MPI_Request* request, MPI_Status* status,
                               const Call& call) {
  MPI_Status* used = status;
  asm("" : "+m"(request), "+m"(used), "+m"(watch));  // as above
  const int code = call(status);
  if (__builtin_expect(*request != no_request(), 0)) return code;
  if (direct::may_be_token(*used)) return receive_payload(watch, used, code);
  detail::end_watch(watch);
  return code;
}

// The same without a status, where all tokens sent here have arrived, as libraries spend
// instructions on a status (docs/internals/direct-tokens.md). `ends`: a successful call leaves no
// request incomplete.
template <bool ends, auto receive_payload = direct::receive_watched_payload, typename Call>
LACUNA_INLINED int end_without_status(direct::Watch* watch, const MPI_Request* request,
                                      const Call& call) {
  asm("" : "+m"(request), "+m"(watch));  // as above
  const int code = call();
  if (!ends && __builtin_expect(*request != no_request(), 0)) return code;
  if (__builtin_expect((ends && code != MPI_SUCCESS) || direct::may_have_tokens(), 0))
    return direct::end_after_all(watch, request, code, receive_payload);
  detail::end_watch(watch);
  return code;
}

// Hides a value from the compiler after a comparison with a constant: else it would load the
// constant again.
template <typename Value>
LACUNA_INLINED Value keep_in_register(Value value) {
  asm("" : "+r"(value));
  return value;
}

// Whether a request that is not watched is none of lacuna's either. False: it may be.
inline bool is_not_lacunas(MPI_Request request) {
  asm("" : "+r"(request));  // else the bucket is computed earlier, which costs watched requests
  return !needs_full_path() && !detail::has_entries(request);
}

template <NextFunctions next>
__attribute__((noinline)) int watched_wait(MPI_Request* request, MPI_Status* status,
                                           direct::Watch* watch) {
  return end_if_over(watch, request, status,
                     [=](MPI_Status* used) { return next().MPI_Wait(request, used); });
}

template <NextFunctions next>
__attribute__((noinline)) int status_wait(MPI_Request* request, MPI_Status*, direct::Watch* watch) {
  MPI_Status own;  // set if it ends well
  return end_if_over(watch, request, &own,
                     [=](MPI_Status* used) { return next().MPI_Wait(request, used); });
}

// Calls `asking`, after a check whether statuses are still needed.
template <auto step, typename... Arguments>
__attribute__((noinline)) int check_then_call(Arguments... arguments) {
  direct::check_need_of_statuses();
  return step(arguments...);
}

template <NextFunctions next>
__attribute__((noinline)) int statusless_wait(MPI_Request* request, MPI_Status* none,
                                              direct::Watch* watch) {
  return end_without_status<true>(watch, request, [=] { return next().MPI_Wait(request, none); });
}

template <NextFunctions next>
LACUNA_INLINED int fast_wait(WaitStep* otherwise, MPI_Request* request, MPI_Status* status) {
  if (request == nullptr) return otherwise(request, status);
  direct::Watch* watch = detail::find_watch(*request);
  if (watch != nullptr) {
    if (status != MPI_STATUS_IGNORE) return watched_wait<next>(request, status, watch);
    status = keep_in_register(status);
    if (!direct::g_needs_status) return statusless_wait<next>(request, status, watch);
    return direct::is_status_needed() ? status_wait<next>(request, status, watch)
                                      : check_then_call<status_wait<next>>(request, status, watch);
  }
  return is_not_lacunas(*request) ? next().MPI_Wait(request, status) : otherwise(request, status);
}

template <NextFunctions next>
__attribute__((noinline)) int watched_test(MPI_Request* request, int* flag, MPI_Status* status,
                                           direct::Watch* watch) {
  return end_if_over(watch, request, status,
                     [=](MPI_Status* used) { return next().MPI_Test(request, flag, used); });
}

template <NextFunctions next>
__attribute__((noinline)) int status_test(MPI_Request* request, int* flag, MPI_Status*,
                                          direct::Watch* watch) {
  MPI_Status own;  // set if it ends well
  return end_if_over(watch, request, &own,
                     [=](MPI_Status* used) { return next().MPI_Test(request, flag, used); });
}

template <NextFunctions next>
__attribute__((noinline)) int statusless_test(MPI_Request* request, int* flag, MPI_Status* none,
                                              direct::Watch* watch) {
  return end_without_status<false>(watch, request,
                                   [=] { return next().MPI_Test(request, flag, none); });
}

template <NextFunctions next>
__attribute__((noinline)) int pipelined_test(TestStep* otherwise, MPI_Request* request, int* flag,
                                             MPI_Status* status, direct::Watch* watch) {
  if (direct::may_be_in_pieces(watch->datatype, watch->count))
    return otherwise(request, flag, status);
  return status != MPI_STATUS_IGNORE ? watched_test<next>(request, flag, status, watch)
                                     : status_test<next>(request, flag, status, watch);
}

template <NextFunctions next>
LACUNA_INLINED int fast_test(TestStep* otherwise, MPI_Request* request, int* flag,
                             MPI_Status* status) {
  if (request == nullptr) return otherwise(request, flag, status);
  direct::Watch* watch = detail::find_watch(*request);
  if (watch != nullptr) {
    if (direct::has_pipeline())
      return pipelined_test<next>(otherwise, request, flag, status, watch);
    if (status != MPI_STATUS_IGNORE) return watched_test<next>(request, flag, status, watch);
    status = keep_in_register(status);
    if (!direct::g_needs_status) return statusless_test<next>(request, flag, status, watch);
    return direct::is_status_needed()
               ? status_test<next>(request, flag, status, watch)
               : check_then_call<status_test<next>>(request, flag, status, watch);
  }
  return is_not_lacunas(*request) ? next().MPI_Test(request, flag, status)
                                  : otherwise(request, flag, status);
}

template <NextFunctions next>
__attribute__((noinline)) int watched_waitall(int one, MPI_Request* request, MPI_Status* status,
                                              direct::Watch* watch) {
  return end_if_over<direct::receive_only_payload>(watch, request, status, [=](MPI_Status* used) {
    return next().MPI_Waitall(one, request, used);
  });
}

template <NextFunctions next>
__attribute__((noinline)) int status_waitall(int one, MPI_Request* request, MPI_Status*,
                                             direct::Watch* watch) {
  MPI_Status own;  // set if it ends well
  return end_if_over<direct::receive_only_payload>(watch, request, &own, [=](MPI_Status* used) {
    return next().MPI_Waitall(one, request, used);
  });
}

template <NextFunctions next>
__attribute__((noinline)) int statusless_waitall(int one, MPI_Request* request, MPI_Status* none,
                                                 direct::Watch* watch) {
  return end_without_status<true, direct::receive_only_payload>(
      watch, request, [=] { return next().MPI_Waitall(one, request, none); });
}

// False: nothing has been done.
bool complete_all(const Next& next, const void* caller, int count, MPI_Request* requests,
                  MPI_Status* statuses, int* code);

template <NextFunctions next>
__attribute__((noinline)) int fast_waitall_many(int count, MPI_Request* requests,
                                                MPI_Status* statuses, WaitallStep* otherwise) {
  int code = MPI_SUCCESS;
  return complete_all(next(), LACUNA_CALLER(), count, requests, statuses, &code)
             ? code
             : otherwise(count, requests, statuses);
}

template <NextFunctions next>
LACUNA_INLINED int fast_waitall(WaitallStep* otherwise, int count, MPI_Request* requests,
                                MPI_Status* statuses) {
  if (count == 1 && requests != nullptr && is_watching()) {
    if (direct::Watch* watch = detail::find_watch(*requests)) {
      count = keep_in_register(count);
      if (statuses != MPI_STATUSES_IGNORE)
        return watched_waitall<next>(count, requests, statuses, watch);
      statuses = keep_in_register(statuses);
      if (!direct::g_needs_status)
        return statusless_waitall<next>(count, requests, statuses, watch);
      return direct::is_status_needed()
                 ? status_waitall<next>(count, requests, statuses, watch)
                 : check_then_call<status_waitall<next>>(count, requests, statuses, watch);
    }
  }
  return fast_waitall_many<next>(count, requests, statuses, otherwise);
}

#undef LACUNA_INLINED

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MESSAGES_FAST_RECEIVE_HPP_
