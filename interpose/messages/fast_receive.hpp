// SPDX-License-Identifier: BSD-3-Clause
//
// Quick: what receives cost that will hardly ever meet a token: blocking ones into a predefined
// type or into one that does not pay, and nonblocking ones into the former. Here it is the
// library's call with a look at the status behind it; everything else goes the long way
// (messages/message.hpp).
//
// Each function does the whole call, or leaves it to the next step and has done nothing. They are
// most of what lacuna costs a program that sends contiguous data only. Where threads may call at
// once, nothing here is reached (gate.hpp, `irregular`).
#ifndef LACUNA_INTERPOSE_MESSAGES_FAST_RECEIVE_HPP_
#define LACUNA_INTERPOSE_MESSAGES_FAST_RECEIVE_HPP_

#include "interpose/direct/messages/probe.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/node/arena.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/messages/short_message.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {
namespace direct {

// Whether a message of that many bytes is less than a token, as far as a handle says that without a
// question: MPICH's have the size of a predefined type in their second byte.
inline bool is_too_short([[maybe_unused]] MPI_Datatype datatype, [[maybe_unused]] int count) {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  constexpr int kToken = kTokenBytes;
  return count < kToken && count * static_cast<int>(handle_bits(datatype) & 0xFF00) < kToken << 8;
#else
  return false;
#endif
}

// The same of a message of a derived type that is known to be the library's, if a token survives in
// it. Only where the type is sure to live until the call ends.
inline bool is_futile_receive(MPI_Datatype datatype, int count) {
  const TypeRecord* record = lacuna::detail::cached_record(datatype);
  return record != nullptr &&
         (is_futile(*record, count, Operation::kReceive) || is_left_as_it_is(*record) ||
          (count == 1 && record->one_passes)) &&
         !loses_bytes(*record, count) && !anything_irregular();
}

// Whether to ask further: of one that has failed the status says anything.
inline bool may_be_token(const MPI_Status& status) {
  return __builtin_expect(brings_token_bytes(status), 0);
}

// The call has returned `code` and, if it has ended well, brought as many bytes as a token has:
// what it returns, after the communicator's error handler has heard of it.
int redeem(const Watch& watch, MPI_Status* status, int code);
// The same of one that is watched, and now no more; it may be one of the library's own, which has
// no token.
int redeem_watched(Watch* watch, MPI_Status* status, int code);
// The same for the only request of a call that has a status for each.
int redeem_only(Watch* watch, MPI_Status* status, int code);
// What to give them where no status was asked for, and a token may have come meanwhile: one that
// says so if the receive has brought it.
MPI_Status assumed_status(const Watch& watch);
// Whether receives are asked what they bring, for there may be tokens that have not been landed:
// from the first time that one may have come in a call that did not ask, until all are seen to have
// been, which is looked at once in a while.
LACUNA_HIDDEN extern bool g_asks;
LACUNA_HIDDEN extern int g_asks_left;
// Counts one down: at 0 it is time to look (settle_and_ask).
inline bool has_to_ask() { return __builtin_expect(--g_asks_left > 0, 1); }
void ask_more();
void ask_less();
// Of a call that may have ended well, or not, or not at all.
int end_after_all(Watch* watch, const MPI_Request* request, int code,
                  int (*redeem)(Watch*, MPI_Status*, int));

}  // namespace direct

// What each step has for what it leaves: the next one, with the same arguments. Steps have no frame
// but those that end in a watch, and are jumped to, so that arguments stay where they are and the
// return address is the program's. None of them is, which nothing can be jumped to from.
using NextFunctions = const Next& (*)() noexcept;
using IrecvStep = int(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
using WaitStep = int(MPI_Request*, MPI_Status*);
using TestStep = int(MPI_Request*, int*, MPI_Status*);
using WaitallStep = int(int, MPI_Request*, MPI_Status*);

// The library's call and the look behind it.
template <NextFunctions next>
__attribute__((noinline)) int watched_recv(void* buf, int count, MPI_Datatype datatype, int source,
                                           int tag, MPI_Comm comm, MPI_Status* status) {
  direct::Watch watch;
  watch.buf = buf;
  watch.datatype = datatype;
  watch.comm = comm;
  watch.count = count;
  // In memory, which takes fewer instructions than registers that are saved. (So does a step of its
  // own: inlined into the wrapper, which then has a frame from its start, Irecv and Wait together
  // took 25 more.)
  asm("" : "+m"(watch.buf), "+m"(watch.datatype), "+m"(watch.comm), "+m"(watch.count));
  MPI_Status own;  // set by a receive that ends well
  MPI_Status* told = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = next().MPI_Recv(buf, count, datatype, source, tag, comm, told);
  return direct::may_be_token(*told) ? direct::redeem(watch, told, code) : code;
}

// For the steps of wrappers: there are so many that a compiler would not, and then arguments move.
#define LACUNA_INLINED __attribute__((always_inline)) inline

template <NextFunctions next>
LACUNA_INLINED int quick_recv(RecvStep* otherwise, void* buf, int count, MPI_Datatype datatype,
                              int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!plainly_predefined(datatype))
    return otherwise(buf, count, datatype, source, tag, comm, status);
  if (direct::is_too_short(datatype, count))
    return next().MPI_Recv(buf, count, datatype, source, tag, comm, status);
  return watched_recv<next>(buf, count, datatype, source, tag, comm, status);
}

template <NextFunctions next>
inline int light_recv(RecvStep* otherwise, void* buf, int count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, MPI_Status* status) {
  if (!direct::is_futile_receive(datatype, count))
    return short_recv<next>(otherwise, buf, count, datatype, source, tag, comm, status);
  return watched_recv<next>(buf, count, datatype, source, tag, comm, status);
}

// Where the library has none to give.
inline MPI_Request no_request() {
#if defined(LACUNA_MPI_FAMILY_OMPI)
  return g_gate.request_null;  // else a symbol lookup
#else
  return MPI_REQUEST_NULL;
#endif
}

// Who has called is kept, not asked about: it matters where there is a token, which is rare.
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
  watch.caller = __builtin_return_address(0);
  asm("" : "+m"(watch), "+m"(request));  // as above
  // The call's request is ours until the library has given one (messages/nonblocking.cpp).
  MPI_Request started = no_request();
  const int code = next().MPI_Irecv(buf, count, datatype, source, tag, comm, &started);
  if (started == no_request()) return code;
  *request = started;
  add_watch(watch, started);
  return code;
}

template <NextFunctions next>
LACUNA_INLINED int quick_irecv(IrecvStep* otherwise, void* buf, int count, MPI_Datatype datatype,
                               int source, int tag, MPI_Comm comm, MPI_Request* request) {
  if (!plainly_predefined(datatype))
    return otherwise(buf, count, datatype, source, tag, comm, request);
  if (direct::is_too_short(datatype, count))
    return next().MPI_Irecv(buf, count, datatype, source, tag, comm, request);
  return watched_irecv<next>(buf, count, datatype, source, tag, comm, request);
}

// The library's `call`, which takes a status, may complete a watched request: then it has left
// MPI_REQUEST_NULL behind, and `redeem` is asked about one with as many bytes as a token has.
template <auto redeem = direct::redeem_watched, typename Call>
LACUNA_INLINED int end_if_over(direct::Watch* watch, const MPI_Request* request, MPI_Status* status,
                               const Call& call) {
  MPI_Status* told = status;
  asm("" : "+m"(request), "+m"(told), "+m"(watch));  // as above
  const int code = call(status);
  if (__builtin_expect(*request != no_request(), 0)) return code;
  if (direct::may_be_token(*told)) return redeem(watch, told, code);
  detail::end_watch(watch);
  return code;
}

// The same where all tokens that were sent to this process have been landed and no status is asked
// for, which libraries write for 6 to 11 instructions, and in MPI_Waitall for 50. A call that
// `ends` leaves nothing under way if it goes well.
template <bool ends, auto redeem = direct::redeem_watched, typename Call>
LACUNA_INLINED int end_blindly(direct::Watch* watch, const MPI_Request* request, const Call& call) {
  asm("" : "+m"(request), "+m"(watch));  // as above
  const int code = call();
  if (!ends && __builtin_expect(*request != no_request(), 0)) return code;
  if (__builtin_expect((ends && code != MPI_SUCCESS) || direct::may_have_tokens(), 0))
    return direct::end_after_all(watch, request, code, redeem);
  detail::end_watch(watch);
  return code;
}

// What is no constant to the compiler behind a comparison with one: else it would set anew what is
// equal to it.
template <typename Value>
LACUNA_INLINED Value still(Value value) {
  asm("" : "+r"(value));
  return value;
}

// A request, not watched, that is none of lacuna's. False: it may be.
inline bool is_strange(MPI_Request request) {
  asm("" : "+r"(request));  // else its bucket is kept from before, at the cost of those watched
  return !takes_long_way() && !detail::has_entries(request);
}

template <NextFunctions next>
__attribute__((noinline)) int watched_wait(MPI_Request* request, MPI_Status* status,
                                           direct::Watch* watch) {
  return end_if_over(watch, request, status,
                     [=](MPI_Status* told) { return next().MPI_Wait(request, told); });
}

template <NextFunctions next>
__attribute__((noinline)) int asking_wait(MPI_Request* request, MPI_Status*, direct::Watch* watch) {
  MPI_Status own;  // set if it ends well
  return end_if_over(watch, request, &own,
                     [=](MPI_Status* told) { return next().MPI_Wait(request, told); });
}

// Asks, having seen whether it must be.
template <auto asking, typename... Arguments>
__attribute__((noinline)) int settle_and_ask(Arguments... arguments) {
  direct::ask_less();
  return asking(arguments...);
}

template <NextFunctions next>
__attribute__((noinline)) int blind_wait(MPI_Request* request, MPI_Status* none,
                                         direct::Watch* watch) {
  return end_blindly<true>(watch, request, [=] { return next().MPI_Wait(request, none); });
}

template <NextFunctions next>
LACUNA_INLINED int quick_wait(WaitStep* otherwise, MPI_Request* request, MPI_Status* status) {
  if (request == nullptr) return otherwise(request, status);
  direct::Watch* watch = detail::find_watch(*request);
  if (watch != nullptr) {
    if (status != MPI_STATUS_IGNORE) return watched_wait<next>(request, status, watch);
    status = still(status);
    if (!direct::g_asks) return blind_wait<next>(request, status, watch);
    return direct::has_to_ask() ? asking_wait<next>(request, status, watch)
                                : settle_and_ask<asking_wait<next>>(request, status, watch);
  }
  return is_strange(*request) ? next().MPI_Wait(request, status) : otherwise(request, status);
}

template <NextFunctions next>
__attribute__((noinline)) int watched_test(MPI_Request* request, int* flag, MPI_Status* status,
                                           direct::Watch* watch) {
  return end_if_over(watch, request, status,
                     [=](MPI_Status* told) { return next().MPI_Test(request, flag, told); });
}

template <NextFunctions next>
__attribute__((noinline)) int asking_test(MPI_Request* request, int* flag, MPI_Status*,
                                          direct::Watch* watch) {
  MPI_Status own;  // set if it ends well
  return end_if_over(watch, request, &own,
                     [=](MPI_Status* told) { return next().MPI_Test(request, flag, told); });
}

template <NextFunctions next>
__attribute__((noinline)) int blind_test(MPI_Request* request, int* flag, MPI_Status* none,
                                         direct::Watch* watch) {
  return end_blindly<false>(watch, request, [=] { return next().MPI_Test(request, flag, none); });
}

template <NextFunctions next>
LACUNA_INLINED int quick_test(TestStep* otherwise, MPI_Request* request, int* flag,
                              MPI_Status* status) {
  if (request == nullptr) return otherwise(request, flag, status);
  direct::Watch* watch = detail::find_watch(*request);
  if (watch != nullptr) {
    if (status != MPI_STATUS_IGNORE) return watched_test<next>(request, flag, status, watch);
    status = still(status);
    if (!direct::g_asks) return blind_test<next>(request, flag, status, watch);
    return direct::has_to_ask() ? asking_test<next>(request, flag, status, watch)
                                : settle_and_ask<asking_test<next>>(request, flag, status, watch);
  }
  return is_strange(*request) ? next().MPI_Test(request, flag, status)
                              : otherwise(request, flag, status);
}

template <NextFunctions next>
__attribute__((noinline)) int watched_waitall(int one, MPI_Request* request, MPI_Status* status,
                                              direct::Watch* watch) {
  return end_if_over<direct::redeem_only>(watch, request, status, [=](MPI_Status* told) {
    return next().MPI_Waitall(one, request, told);
  });
}

template <NextFunctions next>
__attribute__((noinline)) int asking_waitall(int one, MPI_Request* request, MPI_Status*,
                                             direct::Watch* watch) {
  MPI_Status own;  // set if it ends well
  return end_if_over<direct::redeem_only>(watch, request, &own, [=](MPI_Status* told) {
    return next().MPI_Waitall(one, request, told);
  });
}

template <NextFunctions next>
__attribute__((noinline)) int blind_waitall(int one, MPI_Request* request, MPI_Status* none,
                                            direct::Watch* watch) {
  return end_blindly<true, direct::redeem_only>(
      watch, request, [=] { return next().MPI_Waitall(one, request, none); });
}

// False: nothing has been done.
bool complete_all(const Next& next, const void* caller, int count, MPI_Request* requests,
                  MPI_Status* statuses, int* code);

template <NextFunctions next>
__attribute__((noinline)) int quick_waitall_many(int count, MPI_Request* requests,
                                                 MPI_Status* statuses, WaitallStep* otherwise) {
  int code = MPI_SUCCESS;
  return complete_all(next(), __builtin_return_address(0), count, requests, statuses, &code)
             ? code
             : otherwise(count, requests, statuses);
}

template <NextFunctions next>
LACUNA_INLINED int quick_waitall(WaitallStep* otherwise, int count, MPI_Request* requests,
                                 MPI_Status* statuses) {
  if (count == 1 && requests != nullptr && is_watching()) {
    if (direct::Watch* watch = detail::find_watch(*requests)) {
      count = still(count);
      if (statuses != MPI_STATUSES_IGNORE)
        return watched_waitall<next>(count, requests, statuses, watch);
      statuses = still(statuses);
      if (!direct::g_asks) return blind_waitall<next>(count, requests, statuses, watch);
      return direct::has_to_ask()
                 ? asking_waitall<next>(count, requests, statuses, watch)
                 : settle_and_ask<asking_waitall<next>>(count, requests, statuses, watch);
    }
  }
  return quick_waitall_many<next>(count, requests, statuses, otherwise);
}

#undef LACUNA_INLINED

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MESSAGES_FAST_RECEIVE_HPP_
