// SPDX-License-Identifier: BSD-3-Clause
//
// Receives that the library does as without lacuna, but that may bring a token.
#include "interpose/direct/messages/incoming.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/types/guard.hpp"

namespace lacuna {

bool make_watched(void* buf, MPI_Count count, MPI_Datatype datatype, bool blocking,
                  Incoming* incoming) noexcept {
  if (count < 0) return false;
  incoming->watched = true;
  incoming->data = buf;
  incoming->buf = buf;
  incoming->count = count;
  incoming->wire = {datatype, count};
  incoming->type.name(datatype);
  incoming->bytes = -1;
  if (plainly_predefined(datatype)) return true;
  const auto stage = [&](Wire wire) {
    guard(&wire);  // packed even if there is no guarded type
    if (incoming->bytes > 0 && is_countable(wire))
      incoming->staging = need_staging(incoming->bytes, blocking);
    if (!incoming->staging) return;
    incoming->data = incoming->staging.data();
    incoming->wire = wire;
  };
  // `as_it_is`: the library moves all bytes of a token that is received into this type.
  const auto leave_to_library = [&](bool as_it_is) {
    incoming->by_library = true;
    if (!blocking) incoming->type.keep();
    if (!as_it_is && direct::measure(incoming)) stage({runtime().packed, incoming->bytes});
    return true;
  };
  const TypeRecord* record = watched_type(datatype);
  // Null: out of memory. The sender may still have sent a token.
  if (record == nullptr) return is_committed(datatype) && leave_to_library(false);
  incoming->account = account_of(*record);
  incoming->deferred_log = DeferredLog(*record, count);
  const TypeRecord* packed = packed_receive(*record, count);
  if (packed != nullptr) {
    record = packed;
  } else if (record->plan == nullptr && record->outcome == Outcome::kPredefined) {
    return true;  // its size is asked for when a token has come
  } else if (record->outcome == Outcome::kUndecoded || record->cuts_token) {
    return leave_to_library(false);
  }
  if (__builtin_mul_overflow(static_cast<int64_t>(count), record->size_bytes, &incoming->bytes))
    return false;
  incoming->lb = record->true_lb;
  incoming->plan = record->plan;
  if (may_be_on_device(address(buf, record->true_lb))) return leave_to_library(packed == nullptr);
  if (packed != nullptr) stage(wire_of({record, incoming->bytes}));
  return true;
}

bool watch_receive(void* buf, MPI_Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                   Incoming* incoming) noexcept {
  if (source == MPI_PROC_NULL || !is_open(kDirectSwitch)) return false;
  incoming->comm = comm;
  incoming->by_content = !has_isendrecv_status(runtime().flavour);
  if (!make_watched(buf, count, datatype, false, incoming)) return false;
  if (incoming->by_content) incoming->receive_in_place(datatype);
  return true;
}

bool watch_plain(const direct::Watch& watch, Incoming* incoming) noexcept {
  incoming->comm = watch.comm;
  return make_watched(watch.buf, watch.count, watch.datatype, false, incoming);
}

}  // namespace lacuna
