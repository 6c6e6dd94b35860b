// SPDX-License-Identifier: BSD-3-Clause
//
// Votes no at once in a collective call of a room whose last equal call was declined (few bytes, or
// votes closed by back-off) and in which no side would be packed. The full path to the same
// decision would take a large part of the time of the libraries' whole call
// (docs/experiments/2026-11-26-direct-path-choices.md).
//
// A no is always correct, also if what is remembered no longer holds: the library then does a call
// that could have been faster.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_REPEAT_DECLINE_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_REPEAT_DECLINE_HPP_

#include <algorithm>

#include "base/hash.hpp"
#include "interpose/direct/rooms/vote_slot.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/types/record.hpp"

namespace lacuna::direct {

// The rooms of the last collectives that took the full path, by communicator. Null room: none, or
// closed since. Not filled if there are threads, as each may use another communicator.
struct LastRoom {
  MPI_Comm comm;
  Room* room;
};
inline constexpr unsigned kLastRoomBits = 2;
LACUNA_HIDDEN extern LastRoom g_last_rooms[1U << kLastRoomBits];

__attribute__((always_inline)) inline LastRoom& last_room(MPI_Comm comm) noexcept {
  return g_last_rooms[hash_slot(handle_bits(comm), kLastRoomBits)];
}

// Whether the handle means the same type until recycled_records() changes.
inline bool keeps_handle(MPI_Datatype datatype) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  if (datatype == MPI_DATATYPE_NULL) return true;  // in place
#endif
  return plainly_predefined(datatype) || lacuna::detail::cached_record(datatype) != nullptr;
}

// A hash of a side's types and counts. A collision only costs time.
using Mark = uint64_t;
__attribute__((always_inline)) inline Mark mark_of(MPI_Datatype datatype, int64_t count) noexcept {
  return handle_bits(datatype) * kGoldenRatio + static_cast<uint64_t>(count);
}

// The forms of a side (collectives/call.hpp), and none. Each has mark(): its hash over so many
// pairs; and keeps_mark(): whether the hash may be remembered.
struct NoSide {
  static Mark mark(size_t) noexcept { return 0; }
  static bool keeps_mark(size_t) noexcept { return true; }
};
template <typename Count>
struct OneSide {
  MPI_Datatype type;
  Count count;
  __attribute__((always_inline)) Mark mark(size_t) const noexcept { return mark_of(type, count); }
  bool keeps_mark(size_t) const noexcept { return keeps_handle(type); }
};
template <typename Count>
struct SideOfCounts {
  MPI_Datatype type;
  const Count* counts;
  __attribute__((always_inline)) Mark mark(size_t pairs) const noexcept {
    if (counts == nullptr) return 0;
    Mark sum = 0;
    for (size_t i = 0; i < pairs; ++i) {
      const Mark one = mark_of(type, counts[i]);
      sum += one * one;
    }
    return sum;
  }
  bool keeps_mark(size_t) const noexcept { return counts != nullptr && keeps_handle(type); }
};
template <typename Count>
struct SideOfTypes {
  const MPI_Datatype* types;
  const Count* counts;
  __attribute__((always_inline)) Mark mark(size_t pairs) const noexcept {
    if (types == nullptr || counts == nullptr) return 0;
    Mark sum = 0;
    for (size_t i = 0; i < pairs; ++i) {
      const Mark one = mark_of(types[i], counts[i]);
      sum += one * one;
    }
    return sum;
  }
  bool keeps_mark(size_t pairs) const noexcept {
    return types != nullptr && counts != nullptr && std::all_of(types, types + pairs, keeps_handle);
  }
};
inline NoSide side() noexcept { return {}; }
template <typename Count>
OneSide<Count> side(MPI_Datatype type, Count count) noexcept {
  return {type, count};
}
template <typename Count>
SideOfCounts<Count> side(MPI_Datatype type, const Count* counts) noexcept {
  return {type, counts};
}
template <typename Count>
SideOfTypes<Count> side(const MPI_Datatype* types, const Count* counts) noexcept {
  return {types, counts};
}

// Whether a side's arguments are significant in this rank.
constexpr bool sends(const Room& room, const Call& call) noexcept {
  const bool roots = call.kind == Kind::kScatter || call.kind == Kind::kScatterv;
  return !roots || static_cast<size_t>(call.root) == room.rank;
}
constexpr bool receives(const Room& room, const Call& call) noexcept {
  const bool roots = call.kind == Kind::kGather || call.kind == Kind::kGatherv;
  return !roots || static_cast<size_t>(call.root) == room.rank;
}

// Lengths of the arrays of either side. Neighbourhoods: once the neighbours are known. (The size of
// `offers` is used, not of `members`: an element's size is a power of two, so no division is
// needed.)
inline bool knows_pairs(const Room& room, Kind kind) noexcept {
  return !is_of_neighbors(kind) || room.neighborhood != Neighborhood::kUnknown;
}
inline size_t targets_of(const Room& room, Kind kind) noexcept {
  return !is_of_neighbors(kind) ? room.slot_uses.size() : room.targets.size();
}
inline size_t sources_of(const Room& room, Kind kind) noexcept {
  return !is_of_neighbors(kind) ? room.slot_uses.size() : room.sources.size();
}

template <typename Out>
__attribute__((always_inline)) inline Mark mark_out(const Room& room, const Call& call,
                                                    const Out& out) noexcept {
  return sends(room, call) ? out.mark(targets_of(room, call.kind)) : NoSide::mark(0);
}
template <typename In>
__attribute__((always_inline)) inline Mark mark_in(const Room& room, const Call& call,
                                                   const In& in) noexcept {
  return receives(room, call) ? in.mark(sources_of(room, call.kind)) : NoSide::mark(0);
}
template <typename Out, typename In>
bool keeps_marks(const Room& room, const Call& call, const Out& out, const In& in) noexcept {
  return (!sends(room, call) || out.keeps_mark(targets_of(room, call.kind))) &&
         (!receives(room, call) || in.keeps_mark(sources_of(room, call.kind)));
}

// Whether called_by_mpi() has lately found this caller to be the program.
__attribute__((always_inline)) inline bool is_known_caller(const void* caller) noexcept {
  using lacuna::detail::g_program_callers;
  const auto& known =
      g_program_callers[reinterpret_cast<uintptr_t>(caller) % lacuna::detail::kCallers];
  return known.load(std::memory_order_relaxed) == caller;
}

// True: this rank has voted no, and the library does the call. All is inlined and nothing is
// called, so that wrappers save no registers. Unknown callers take the full path.
template <typename Out, typename In>
__attribute__((always_inline)) inline bool repeats_decline(const Call& call, MPI_Comm comm,
                                                           const Out& out, const In& in,
                                                           const void* caller) noexcept {
  const LastRoom& found = last_room(comm);
  Room* const room = found.room;
  if (room == nullptr || found.comm != comm) return false;
  const LastDecline& last = room->last_declines[static_cast<size_t>(call.kind)];
  const uint64_t call_number = room->call_number + 1;
  if (call_number >= last.until || room->last_done != 0 || call.root != last.root ||
      recycled_records() != last.recycled || mark_out(*room, call, out) != last.out ||
      mark_in(*room, call, in) != last.in || !is_known_caller(caller)) {
    return false;
  }
  vote_no(room, call, call_number);
  return true;
}

// Remembers a call that was left to the library by the full path, until `room->none_needed_until`.
void remember_decline(const Call& call, Room* room, Mark out, Mark in) noexcept;
template <typename Out, typename In>
void remember_decline(const Call& call, Room* room, const Out& out, const In& in) noexcept {
  if (g_gate.threads || is_watched(kDevices) || !knows_pairs(*room, call.kind) ||
      !keeps_marks(*room, call, out, in))
    return;
  remember_decline(call, room, mark_out(*room, call, out), mark_in(*room, call, in));
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_REPEAT_DECLINE_HPP_
