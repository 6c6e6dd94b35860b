// SPDX-License-Identifier: BSD-3-Clause
//
// Which ranks of a communicator are peers, and the room of a communicator all of whose ranks are.
// Found out once for each communicator, and kept as an attribute of it until it is freed.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_RANKS_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_RANKS_HPP_

#include <cstdint>

#include "interpose/library/communicator.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

struct Peer;
struct Room;

// Makes the MPI handles that this needs; none of the calls is collective. False: the library
// refused one. Call after start_peers(), and before anything below.
bool start_ranks() noexcept;
void stop_ranks() noexcept;

// The peer that this rank of `comm` is (of its remote group, for an intercommunicator). Null: it is
// on another node, or is this process itself.
const Peer* peer_of(MPI_Comm comm, int rank) noexcept;

// Whether a message from this rank of `comm` may be a token: a token from there is on its way. True
// in doubt, and always in jobs with pipelined messages.
bool may_send_token(MPI_Comm comm, int rank) noexcept;

// A number for the lifetime of `comm`, different for communicators that have the same handle one
// after the other. 0: not known (it was freed, or has not been used lately).
uint64_t serial_of(MPI_Comm comm) noexcept;

// The room of `comm`. Null: some of its ranks are not peers, or it is an intercommunicator. All
// ranks get the same answer.
Room* room_on(MPI_Comm comm) noexcept;
// The same without a library call. False: not known, as `comm` has not been used lately.
bool known_room(MPI_Comm comm, Room** room) noexcept;

// query_comm() and query_neighbors(), without library calls where the room has the answer.
bool comm_info_of(MPI_Comm comm, CommInfo* group, int* code);
bool neighbors_of(MPI_Comm comm, Neighbors* neighbors, int* code);

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_RANKS_HPP_
