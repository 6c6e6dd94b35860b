// SPDX-License-Identifier: BSD-3-Clause
//
// Passing: collectives of a room (room.hpp) that are the library's and were so the last time, as
// they bring few bytes, or votes are closed for now, and no side of them would be packed. Of those
// all that is left to do is to say no. The long way to the same end takes 300 to 600 instructions,
// and the libraries take 50 to 500 ns for the whole call.
//
// To pass is always right, also where what is remembered holds no more: the library does the call,
// and this rank has said so. It might only be slower than it could be.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_REPEAT_DECLINE_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_REPEAT_DECLINE_HPP_

#include <algorithm>

#include "interpose/direct/rooms/seat.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/types/record.hpp"

namespace lacuna::direct {

inline constexpr uint64_t kSpread = 0x9E3779B97F4A7C15U;

// The rooms of the last collectives that did not pass, by their communicators. No room: there was
// none, it has been closed since, or there are threads, each of which may have come from another
// one.
struct LastRoom {
  MPI_Comm comm;
  Room* room;
};
inline constexpr unsigned kLastRoomBits = 2;
LACUNA_HIDDEN extern LastRoom g_last_rooms[1U << kLastRoomBits];

__attribute__((always_inline)) inline LastRoom& last_room(MPI_Comm comm) noexcept {
  return g_last_rooms[(handle_bits(comm) * kSpread) >> (64 - kLastRoomBits)];
}

// Whether the handle means this type until `recycled_records()` says otherwise: another one may
// have it later.
inline bool keeps_handle(MPI_Datatype datatype) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  if (datatype == MPI_DATATYPE_NULL) return true;  // in place
#endif
  return plainly_predefined(datatype) || lacuna::detail::cached_record(datatype) != nullptr;
}

// What a side of a call moves, as one number. Different ones may have the same, which costs no more
// than time.
using Mark = uint64_t;
__attribute__((always_inline)) inline Mark mark_of(MPI_Datatype datatype, int64_t count) noexcept {
  return handle_bits(datatype) * kSpread + static_cast<uint64_t>(count);
}

// Sides in the forms that collectives/call.hpp has, and none. Each has its mark for so many pairs,
// and whether that may be kept.
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

// Whether a side's arguments mean something in this rank.
constexpr bool gives(const Room& room, const Call& call) noexcept {
  const bool roots = call.kind == Kind::kScatter || call.kind == Kind::kScatterv;
  return !roots || static_cast<size_t>(call.root) == room.rank;
}
constexpr bool gets(const Room& room, const Call& call) noexcept {
  const bool roots = call.kind == Kind::kGather || call.kind == Kind::kGatherv;
  return !roots || static_cast<size_t>(call.root) == room.rank;
}

// Of arrays on either side; members are counted by what is as large as a power of two. Among
// neighbours: once they have been asked for.
inline bool knows_pairs(const Room& room, Kind kind) noexcept {
  return kind < Kind::kNeighborAllgather || room.neighborhood != Neighborhood::kUnasked;
}
inline size_t targets_of(const Room& room, Kind kind) noexcept {
  return kind < Kind::kNeighborAllgather ? room.offers.size() : room.targets.size();
}
inline size_t sources_of(const Room& room, Kind kind) noexcept {
  return kind < Kind::kNeighborAllgather ? room.offers.size() : room.sources.size();
}

template <typename Out>
__attribute__((always_inline)) inline Mark mark_out(const Room& room, const Call& call,
                                                    const Out& out) noexcept {
  return gives(room, call) ? out.mark(targets_of(room, call.kind)) : NoSide::mark(0);
}
template <typename In>
__attribute__((always_inline)) inline Mark mark_in(const Room& room, const Call& call,
                                                   const In& in) noexcept {
  return gets(room, call) ? in.mark(sources_of(room, call.kind)) : NoSide::mark(0);
}
template <typename Out, typename In>
bool keeps_marks(const Room& room, const Call& call, const Out& out, const In& in) noexcept {
  return (!gives(room, call) || out.keeps_mark(targets_of(room, call.kind))) &&
         (!gets(room, call) || in.keeps_mark(sources_of(room, call.kind)));
}

// One that called_by_mpi() has said no of, lately.
__attribute__((always_inline)) inline bool is_known_caller(const void* caller) noexcept {
  using lacuna::detail::g_program_callers;
  const auto& known =
      g_program_callers[reinterpret_cast<uintptr_t>(caller) % lacuna::detail::kCallers];
  return known.load(std::memory_order_relaxed) == caller;
}

// True: the call has said no, and is the library's. All is inlined, and nothing is called: so
// wrappers save no registers. Who is not known as a caller is left to the long way.
template <typename Out, typename In>
__attribute__((always_inline)) inline bool passes_by(const Call& call, MPI_Comm comm,
                                                     const Out& out, const In& in,
                                                     const void* caller) noexcept {
  const LastRoom& found = last_room(comm);
  Room* const room = found.room;
  if (room == nullptr || found.comm != comm) return false;
  const Passed& last = room->passed[static_cast<size_t>(call.kind)];
  const uint64_t turn = room->turn + 1;
  if (turn >= last.until || room->taken != 0 || call.root != last.root ||
      recycled_records() != last.recycled || mark_out(*room, call, out) != last.out ||
      mark_in(*room, call, in) != last.in || !is_known_caller(caller)) {
    return false;
  }
  begin_with_no(room, call, turn);
  return true;
}

// The call has come to the library by the long way, and calls like it will, for as long as
// `room->shut_until` says.
void remember_passed(const Call& call, Room* room, Mark out, Mark in) noexcept;
template <typename Out, typename In>
void remember_passed(const Call& call, Room* room, const Out& out, const In& in) noexcept {
  if (g_gate.threads || !knows_pairs(*room, call.kind) || !keeps_marks(*room, call, out, in))
    return;
  remember_passed(call, room, mark_out(*room, call, out), mark_in(*room, call, in));
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_REPEAT_DECLINE_HPP_
