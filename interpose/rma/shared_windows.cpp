// SPDX-License-Identifier: BSD-3-Clause
//
// The library is called first, with no data: it checks rank, window and epoch, raises errors, waits
// if it must, and makes the request. Then the data are copied, as the library would do in the call
// (docs/internals/direct-collectives.md). If the copy is declined after that, the library is called
// again with the data.
#include "interpose/rma/shared_windows.hpp"

#include "interpose/direct/rooms/window.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna {
namespace {

using direct::PairData;

// Asking the library about the window takes as long as copying this much.
constexpr int64_t kLeastBytes = 1024;

bool range_of_type(const void* base, MPI_Count count, MPI_Datatype type,
                   MemoryRange* range) noexcept {
  const TypeRecord* record = type_record(type);
  return record != nullptr && range_of(base, count, *record, range);
}

// Address of the target's data in this process. Null: not wholly inside the target's part of the
// window.
void* target_memory(const SharedMove& move, MemoryRange* range) noexcept {
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  MPI_Aint offset = 0;
  intptr_t place = 0;
  if (next_functions().MPI_Win_shared_query(move.win, move.target, &size, &unit, &base) !=
          MPI_SUCCESS ||
      __builtin_mul_overflow(move.displacement, static_cast<MPI_Aint>(unit), &offset) ||
      __builtin_add_overflow(reinterpret_cast<intptr_t>(base), offset, &place)) {
    return nullptr;
  }
  void* const memory = reinterpret_cast<void*>(place);
  const auto begin = reinterpret_cast<intptr_t>(base);
  const bool inside = range_of_type(memory, move.target_count, move.target_type, range) &&
                      range->begin >= begin && range->end <= begin + size;
  return inside ? memory : nullptr;
}

// Finds both ends of the copy. The target rank is known to be valid.
bool find_ends(const SharedMove& move, PairData* origin, PairData* target) noexcept {
  MemoryRange here;
  MemoryRange there;
  void* const memory = target_memory(move, &there);
  return memory != nullptr &&
         range_of_type(move.origin, move.origin_count, move.origin_type, &here) &&
         (here.end <= there.begin || there.end <= here.begin) &&
         direct::describe(memory, move.target_count, move.target_type, target) &&
         target->bytes == origin->bytes &&
         (origin->with_gaps != nullptr || target->with_gaps != nullptr);
}

int start_empty(const SharedMove& move) noexcept {
  const Next& next = next_functions();
  MPI_Request* request = move.request;
  const MPI_Datatype byte = runtime().byte;
  if (move.access == kPuts) {
    return request == nullptr ? next.MPI_Put(move.origin, 0, byte, move.target, move.displacement,
                                             0, byte, move.win)
                              : next.MPI_Rput(move.origin, 0, byte, move.target, move.displacement,
                                              0, byte, move.win, request);
  }
  return request == nullptr
             ? next.MPI_Get(move.origin, 0, byte, move.target, move.displacement, 0, byte, move.win)
             : next.MPI_Rget(move.origin, 0, byte, move.target, move.displacement, 0, byte,
                             move.win, request);
}

}  // namespace

Answer handle_shared_move(const SharedMove& move) noexcept {
  PairData origin;
  PairData target;
  const int64_t least = runtime().always ? 1 : kLeastBytes;
  if (move.target == MPI_PROC_NULL || move.win == runtime().win_null ||
      window_flavour(move.win) != MPI_WIN_FLAVOR_SHARED ||
      !direct::describe(move.origin, move.origin_count, move.origin_type, &origin) ||
      origin.bytes < least || !tells_errors(move.win)) {
    return kDeclined;
  }
  // First, as it checks the target rank.
  if (const int code = start_empty(move); code != MPI_SUCCESS) return handled(code);
  if (!find_ends(move, &origin, &target)) {
    if (move.request != nullptr) next_functions().MPI_Wait(move.request, MPI_STATUS_IGNORE);
    return kDeclined;
  }
  log_type(origin.with_gaps != nullptr ? *origin.with_gaps : *target.with_gaps, Outcome::kDirect,
           origin.bytes);
  if (move.access == kPuts) {
    direct::copy_pair_data(origin, target);
  } else {
    direct::copy_pair_data(target, origin);
  }
  return handled(MPI_SUCCESS);
}

}  // namespace lacuna
