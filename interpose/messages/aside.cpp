// SPDX-License-Identifier: BSD-3-Clause
//
// Copies send data to a buffer before a receive may overwrite them (MPI_Sendrecv_replace).
#include <algorithm>
#include <optional>

#include "interpose/device/moves.hpp"
#include "interpose/library/from_bottom.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/types/guard.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {
namespace {

// By the device that has the data: whether that succeeded. Nothing: it is none that lacuna uses.
std::optional<bool> pack_by_device(const void* buf, MPI_Count count, MPI_Datatype datatype,
                                   Outgoing* outgoing) {
  Decision decision;
  if (!is_watched(kDevices) || plainly_predefined(datatype) ||
      !examine(Operation::kSend, buf, count, datatype, &decision) || !decision.is_on_device())
    return {};
  outgoing->staging = device::borrow_pinned(decision.bytes);
  if (!outgoing->staging || !pack_for(account_of(decision), *decision.record->plan, buf, count,
                                      outgoing->staging.data())) {
    static_cast<void>(device::take_failure());
    return false;
  }
  outgoing->data = outgoing->staging.data();
  outgoing->wire = {runtime().packed, decision.bytes};
  return decision.bytes <= kNeverOverruns || guard(&outgoing->wire);
}

}  // namespace

bool pack_aside(const void* buf, MPI_Count count, MPI_Datatype datatype,
                Outgoing* outgoing) noexcept {
  // After a failure the library must not read the device's memory by the CPU.
  if (const auto is_packed = pack_by_device(buf, count, datatype, outgoing)) return *is_packed;
  const Next& next = next_functions();
  const MPI_Comm self = runtime().probe_comm;
  const bool large = next_has_large();
  MPI_Count bytes = 0;
  int few = 0;
  if (large) {
    if (next.MPI_Pack_size_c(count, datatype, self, &bytes) != MPI_SUCCESS) return false;
  } else {
    if (!fits_int(count) || next.MPI_Type_size_x(datatype, &bytes) != MPI_SUCCESS ||
        __builtin_mul_overflow(bytes, count, &bytes) || !fits_int(bytes) ||
        next.MPI_Pack_size(static_cast<int>(count), datatype, self, &few) != MPI_SUCCESS) {
      return false;
    }
    bytes = few;
  }
  if (bytes < 0) return false;
  outgoing->staging = need_staging(std::max<MPI_Count>(bytes, 1), false);
  if (!outgoing->staging) return false;
  const PackedFrom from(const_cast<void*>(buf), datatype);
  MPI_Count end = 0;
  int position = 0;
  const int code = large ? next.MPI_Pack_c(from.mem(), count, from.type(), outgoing->staging.data(),
                                           bytes, &end, self)
                         : next.MPI_Pack(from.mem(), static_cast<int>(count), from.type(),
                                         outgoing->staging.data(), few, &position, self);
  if (!large) end = position;
  MPI_Count size = 0;
  if (code != MPI_SUCCESS || next.MPI_Type_size_x(datatype, &size) != MPI_SUCCESS ||
      (end == 0 && count > 0 && size > 0)) {
    return false;
  }
  outgoing->data = outgoing->staging.data();
  outgoing->wire = {runtime().packed, end};
  return outgoing->wire.count <= kNeverOverruns || guard(&outgoing->wire);
}

}  // namespace lacuna
