// SPDX-License-Identifier: BSD-3-Clause
//
// Turn: one collective call in a room. Each rank that gives something has a region with a window
// for each other one, or one for all, through which it packs what it gives, piece by piece, while
// it unpacks what comes through theirs: two passes over the data, whatever their size.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_EXCHANGE_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_EXCHANGE_HPP_

#include "interpose/direct/rooms/room.hpp"

namespace lacuna::direct {

// After the door was open. `willing`: the lots of all members are described. False: nothing has
// happened, for anybody. True: the call is done, and `error_class` says how.
bool take_turn(Room* room, const Call& call, bool willing, int* error_class) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_EXCHANGE_HPP_
