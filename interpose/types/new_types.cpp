// SPDX-License-Identifier: BSD-3-Clause
//
// New types. A program that makes a type for each small message would pay for decoding and planning
// each time (docs/experiments/2026-11-26-small-messages.md, "New types"). So MPI_Type_commit only
// registers a type, and its first uses with little data are declined.
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

int around_type_commit(const Next& next, MPI_Datatype* datatype) {
  const int code = next.MPI_Type_commit(datatype);
  const Runtime& rt = runtime();
  if (code != MPI_SUCCESS || !is_open(~0U)) return code;
  if (datatype == nullptr || *datatype == rt.datatype_null) return code;  // MPICH: after an error
  const bool is_inside = is_open(kInsideSwitch);
  const bool is_known =  // committed once more, or analysed at its first use
      g_gate.learns_at_once || detail::cached_record(*datatype) != nullptr;
  if (!is_inside && is_known) return code;
  MPI_Count size = 0;
  const bool has_size = next.MPI_Type_size_x(*datatype, &size) == MPI_SUCCESS && size >= 0;
  // Types that lacuna shall move inside the library must be known before the library sees a
  // message: while it moves data, nothing may be asked of it. (Not with the log, which has a line
  // for the first call on a type only if that analyses it.)
  if (is_inside && !is_watched(kLogged) &&
      (rt.always || (has_size && size >= detail::kLittleData))) {
    type_record(*datatype);
    return code;
  }
  if (is_known) return code;
  const uintptr_t handle = handle_bits(*datatype);
  detail::NewType& type = detail::g_new_types[detail::cache_slot(handle)];
  if (!has_size || size > detail::kLittleData) {
    // The handle may be that of a small type that was freed while it was new.
    uintptr_t freed = handle;
    type.handle.compare_exchange_strong(freed, 0, std::memory_order_relaxed);
    return code;
  }
  type.size_bytes.store(size, std::memory_order_relaxed);
  type.uses.store(0, std::memory_order_relaxed);
  type.handle.store(handle, std::memory_order_release);
  return code;
}

}  // namespace lacuna
