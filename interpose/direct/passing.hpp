// SPDX-License-Identifier: BSD-3-Clause
//
// Passing: collectives of a room (room.hpp) that are the library's and were so the last time, as
// they bring few bytes, or votes are closed for now, and no side of them would be packed. Of those
// all that is left to do is to say no. The long way to the same end takes 300 to 600 instructions,
// and the libraries take 50 to 500 ns for the whole call.
//
// To pass is always right, also where what is remembered holds no more: the library does the call,
// and this rank has said so. It might only be slower than it could be.
#ifndef LACUNA_INTERPOSE_DIRECT_PASSING_HPP_
#define LACUNA_INTERPOSE_DIRECT_PASSING_HPP_

#include "interpose/direct/seat.hpp"
#include "interpose/gate.hpp"
#include "interpose/next.hpp"
#include "interpose/types.hpp"

namespace lacuna::direct {

// The room of the last collective that did not pass. No room: there was none, it has been closed
// since, or there are threads, each of which may have come from another one.
struct LastRoom {
  MPI_Comm comm;
  Room* room;
};
LACUNA_HIDDEN extern LastRoom g_last_room;

inline bool is_same_life(MPI_Datatype datatype, uint64_t serial) noexcept {
  if (plainly_predefined(datatype)) return true;
  const TypeRecord* record = lacuna::detail::cached_record(datatype);
  return record != nullptr && record->serial.load(std::memory_order_relaxed) == serial;
}

// True: the call has said no, and is the library's. 95 to 154 instructions, out of line as many.
__attribute__((always_inline)) inline bool passes_by(const Call& call, MPI_Comm comm,
                                                     const Shape& shape,
                                                     const void* caller) noexcept {
  Room* const room = g_last_room.room;
  if (room == nullptr || g_last_room.comm != comm) return false;
  const Passed& last = room->passed[static_cast<size_t>(call.kind)];
  if (room->turn + 1 >= last.until || call.root != last.root || shape != last.shape ||
      room->taken != 0 || !is_same_life(shape.in, last.in_serial) ||
      (shape.out != shape.in && !is_same_life(shape.out, last.out_serial)) ||
      called_by_mpi(caller)) {
    return false;
  }
  begin_turn(room);
  say(*room, call, 0, 0);
  return true;
}

// The call has come to the library by the long way, and calls like it will, for as long as
// `room->shut_until` says.
void remember_passed(const Call& call, MPI_Comm comm, const Shape& shape) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_PASSING_HPP_
