// SPDX-License-Identifier: BSD-3-Clause
//
// Turn: one collective call in a room. Each rank has a region with a window for each other one,
// through which it packs what it sends, piece by piece, while it unpacks what comes through theirs:
// two passes over the data, out of the windows' few lines, whatever their size.
#ifndef LACUNA_INTERPOSE_DIRECT_TURN_HPP_
#define LACUNA_INTERPOSE_DIRECT_TURN_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interpose/direct/room.hpp"
#include "interpose/types.hpp"

namespace lacuna::direct {

// What goes to one rank, or comes from it.
struct Lot {
  PlanPtr plan;  // null: contiguous
  std::byte* memory = nullptr;
  int64_t count = 0;
  int64_t bytes = 0;
  Account account;
};

// One side of a call: a lot for each rank.
class Lots {
 public:
  // False: only the library can move these, or nobody, as they are a mistake.
  bool add(const void* place, MPI_Count count, MPI_Datatype datatype) noexcept;
  // Whether there is any data with gaps.
  bool has_gaps() const noexcept { return has_gaps_; }
  size_t size() const noexcept { return lots_.size(); }
  const Lot& operator[](size_t rank) const noexcept { return lots_[rank]; }

 private:
  std::vector<Lot> lots_;
  bool has_gaps_ = false;
};

// Everybody in the room must come here for the same call, with the same number of lots as it has
// members; `willing`: the lots are complete. False: nothing has happened, for anybody. True: the
// call is done, and `code` is its error class.
bool take_turn(Room* room, bool willing, const Lots& out, const Lots& in,
               int* error_class) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_TURN_HPP_
