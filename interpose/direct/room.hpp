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

#include "interpose/direct/flow.hpp"

namespace lacuna::direct {

enum class Vote : uint32_t {
  kNo,     // for this rank the library must do it
  kYes,    // either way
  kWants,  // here it would be faster
};

// What a member says in a turn.
struct Said {
  Vote vote = Vote::kNo;
  int64_t most_bytes = 0;  // of its lots
  int64_t offset = 0;      // of its region in its arena
};

// What the members tell each other to find a number that is free in all arenas.
struct Offer {
  uint64_t used;  // all ones: no room
  uint64_t last_turn;
};

struct Member {
  uint32_t peer = 0;
  Said said;
  Lot out;  // of the current call: what goes there, and what comes from there
  Lot in;
  Outflow outflow;
  Inflow inflow;
};

struct Room {
  std::vector<Member> members;  // by rank, this process too; no memory is needed later
  std::vector<Offer> offers;    // of each of them
  size_t rank = 0;              // this process
  int number = kUnasked;        // of its seats in each arena
  uint64_t turn = 0;            // how many votes there have been
  // All members know these alike: how many turns in vain there have been, one after the other; how
  // many calls go to the library unasked from now on, and will after the next turns in vain.
  int vain = 0;
  int pass = 0;
  int next_pass = kFirstPass;
  bool is_small = false;  // the last turn: nobody objected, but there was nothing to win

  static constexpr int kUnasked = -1;
  static constexpr int kRefused = -2;
  static constexpr int kFirstPass = 32;
};

// The room of a communicator, for one call; null: the library does it, as all its ranks know.
// Collective, as its ranks agree on the seats when they first ask; that is the one message of
// lacuna's on a communicator of the program's.
Room* enter_room(MPI_Comm comm) noexcept;
// Whether this call is one of those that go to the library because there was nothing to win; to be
// asked first. In a few instructions.
bool is_passed(MPI_Comm comm) noexcept;
// The communicator is being freed.
void close_room(Room* room) noexcept;

// Whether nobody says no, and somebody wants it who has enough. `alive`: no member has ended.
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
