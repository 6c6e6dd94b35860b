// SPDX-License-Identifier: BSD-3-Clause
//
// One collective call in a room. Each rank that sends data reserves a region with a window for each
// receiver, or one for all. It packs into them, piece by piece, while it unpacks from the windows
// of the others: two passes over the data, whatever their size.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_EXCHANGE_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_EXCHANGE_HPP_

#include "interpose/direct/rooms/room.hpp"

namespace lacuna::direct {

// Call if enter_room() returned kMustVote. `willing`: this rank has described the data of all
// members, and can take part. False: a rank voted no, and nothing has happened in any rank. True:
// the call is done; `error_class` is its result.
bool exchange_data(Room* room, const Call& call, bool willing, int* error_class) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_EXCHANGE_HPP_
