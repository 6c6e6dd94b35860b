// SPDX-License-Identifier: BSD-3-Clause
//
// Turn: one collective call in a room. Each rank has a region with a window for each other one,
// through which it packs what it sends, piece by piece, while it unpacks what comes through theirs:
// two passes over the data, whatever their size.
#ifndef LACUNA_INTERPOSE_DIRECT_TURN_HPP_
#define LACUNA_INTERPOSE_DIRECT_TURN_HPP_

#include "interpose/direct/room.hpp"

namespace lacuna::direct {

// Everybody in the room must come here for the same call. `willing`: the lots of all members are
// described. False: nothing has happened, for anybody. True: the call is done, and `error_class`
// says how.
bool take_turn(Room* room, bool willing, int* error_class) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_TURN_HPP_
