// SPDX-License-Identifier: BSD-3-Clause
//
// Room: a communicator whose ranks are all peers, where collectives may go without the library. All
// of its ranks come to each of them, whatever their own data are like: each puts its vote and the
// place of its region on a seat at the front of its arena, looks at the seats of the others, and so
// all know the same. Only collectives in which every rank waits for every other one may do that.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOM_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOM_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "interpose/direct/region.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

enum class Vote : uint32_t {
  kNo,     // for this rank the library must do it
  kYes,    // either way
  kWants,  // here it would be faster
};

// What a member has said in a turn: where its region is in its arena.
struct Said {
  Vote vote = Vote::kNo;
  int64_t offset = 0;
};

// What the members tell each other to find a number that is free in all arenas.
struct Offer {
  uint64_t used;  // all ones: no room
  uint64_t last_turn;
};

struct Room {
  std::vector<uint32_t> members;  // which peer each rank is
  std::vector<Offer> offers;      // of each, and what it has said: here, so that
  std::vector<Said> said;         // no memory is needed where all have come
  size_t rank = 0;                // this process
  int number = kUnasked;          // of its seats in each arena
  uint64_t turn = 0;              // how many votes there have been

  static constexpr int kUnasked = -1;
  static constexpr int kRefused = -2;
};

// The room of a communicator; null: there is none, as all its ranks know. Collective, as its ranks
// agree on the seats when they first ask; that is the one message of lacuna's on a communicator of
// the program's.
Room* enter_room(MPI_Comm comm) noexcept;
// The communicator is being freed.
void close_room(Room* room) noexcept;

// Whether nobody says no and somebody wants it. `alive`: no member has ended.
bool vote(Room* room, const Said& own, bool* alive) noexcept;

// Waiting for members, who may have to be heard by the library first, or need this core.
class Patience {
 public:
  explicit Patience(const Room& room) noexcept : room_(room) {}
  // False: a member has ended.
  bool wait() noexcept;
  void reset() noexcept { rounds_ = 0; }

 private:
  const Room& room_;
  int rounds_ = 0;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOM_HPP_
