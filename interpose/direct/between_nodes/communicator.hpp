// SPDX-License-Identifier: BSD-3-Clause
//
// A communicator whose ranks are on several nodes and all run lacuna, so that its collectives may
// go in pieces (exchange.hpp). At each such call all ranks vote: one that votes no is enough, so a
// rank may do so for reasons of its own (types, memory), and all come to the same decision, also in
// a program that is wrong.
#ifndef LACUNA_INTERPOSE_DIRECT_BETWEEN_NODES_COMMUNICATOR_HPP_
#define LACUNA_INTERPOSE_DIRECT_BETWEEN_NODES_COMMUNICATOR_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/direct/rooms/room.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

// What a rank says of a call. What moves no data with gaps, or few, is done as well by the library.
enum class Wish : uint8_t { kNo = 0, kIndifferent = 1, kYes = 2 };

struct NodesComm {
  Room room;                // members and neighbours alone: nothing goes through shared memory
  std::vector<int> world;   // the ranks of its members in MPI_COMM_WORLD
  int tag = kFirstCallTag;  // of the pieces of the current call

  // Votes take time. After a vote that led to no call, some calls of this kind are left to the
  // library without one: so many that votes take a small share of the program's time.
  struct BackOff {
    uint64_t calls = 0;
    uint64_t no_vote_until = 0;
    std::chrono::nanoseconds vote_time{};  // of the last vote
    std::chrono::steady_clock::time_point last_vote;
    uint64_t calls_then = 0;
  };
  BackOff back_offs[kKinds];
};

// From one vote to the next there should be two to the power of this many calls, by this rank's
// clock.
uint8_t log_of_interval(const NodesComm::BackOff& back_off,
                        std::chrono::steady_clock::time_point now) noexcept;

// Whether a call of this kind may go in pieces. Not MPI_Allgather and kin, which the library sends
// from node to node once, nor those with a root.
constexpr bool goes_between_nodes(Kind kind) noexcept {
  return kind == Kind::kAlltoall || kind == Kind::kAlltoallv || kind == Kind::kAlltoallw ||
         kind >= Kind::kNeighborAllgather;
}

// Call in all ranks before pipelined messages are agreed on. False: the library refused.
bool make_comm_key() noexcept;
void free_comm_key() noexcept;

// Null: an intercommunicator, or one with ranks that are not in MPI_COMM_WORLD, or with all on this
// node, or one of them had no memory. All ranks get the same answer. Collective at the first call
// for a communicator.
NodesComm* comm_between_nodes(MPI_Comm comm) noexcept;

// Begins a call. False: no vote is to be made, in no rank.
bool must_vote(NodesComm* nodes, Kind kind) noexcept;
// Collective. True: no rank said no, and one said yes.
bool vote(MPI_Comm comm, NodesComm* nodes, Kind kind, Wish wish) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_BETWEEN_NODES_COMMUNICATOR_HPP_
