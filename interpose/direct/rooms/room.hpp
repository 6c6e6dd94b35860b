// SPDX-License-Identifier: BSD-3-Clause
//
// Room: a communicator whose ranks are all peers, where collectives may go without the library.
// Each rank says at each of its blocking collectives whether it would take part, on a seat at the
// front of its arena. No, and it goes to the library at once; yes, and it waits until it knows what
// the others say. One no is enough: so a rank may say it for reasons of its own (its types, its
// memory, its sizes), and all come to the same decision, also in a program that is wrong.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_ROOM_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_ROOM_HPP_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "interpose/direct/rooms/window.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

// The calls that may go through rooms; each has habits of its own.
enum class Kind : uint8_t {
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
};
inline constexpr int kKinds = 15;

// What the ranks must have in common, and what one of them knows before it looks at its data.
struct Call {
  Kind kind;
  int root = 0;
  bool is_plain = false;  // this rank's types are predefined: it has no gaps
};

// Whether a rank gives the same data to all.
constexpr bool gives_one(Kind kind) noexcept {
  return kind == Kind::kBcast || kind == Kind::kAllgather || kind == Kind::kAllgatherv ||
         kind == Kind::kNeighborAllgather || kind == Kind::kNeighborAllgatherv;
}

// Whether each rank gives and gets: so all are busy with their own data first.
constexpr bool is_exchange(Kind kind) noexcept {
  return kind != Kind::kBcast && kind != Kind::kGather && kind != Kind::kGatherv &&
         kind != Kind::kScatter && kind != Kind::kScatterv;
}

// Where a room is faster than the library: from so many bytes between two ranks on, in runs up to
// so long; and from how many in long runs.
struct Gain {
  int64_t least_bytes;
  double most_run_bytes;
  int64_t least_in_long_runs = 0;

  static constexpr double kLongRun = 64;
  bool is_enough(const Lot& lot) const noexcept {
    const bool is_long = lot.with_gaps == nullptr || lot.with_gaps->mean_run_bytes > kLongRun;
    return lot.bytes >= least_bytes && (!is_long || lot.bytes >= least_in_long_runs);
  }
  bool is_of_gaps(const Lot& lot) const noexcept {
    return lot.with_gaps != nullptr && lot.with_gaps->mean_run_bytes <= most_run_bytes;
  }
};

// What the members tell each other to find a number that is free in all arenas.
struct Offer {
  uint64_t used = 0;  // a bit for each number; or, of one number, whether it is this member's now
  uint64_t last_turn = 0;
};

// A rank, and its part in the current call.
struct Member {
  uint32_t peer = 0;
  bool goes = false;   // something there, perhaps nothing but no bytes
  bool comes = false;  // and from there
  Lot out;
  Lot in;
  Outflow outflow;
  Inflow inflow;
  bool heard = false;
  int64_t offset = 0;  // of its region in its arena
};

// Votes take time. Where they have been in vain a few times, a rank says no for a while, which
// grows: up to a multiple of so many turns, so that ranks which have begun at different times come
// to vote together all the same.
struct Habit {
  int vain = 0;  // one after the other
  uint64_t closed_until = 0;
  uint64_t next_pass = kFirstPass;
  bool is_small = false;  // the last vote: nobody objected, but there was nothing to win

  static constexpr uint64_t kFirstPass = 32;
};

// A call of some kind that was the library's (repeat_decline.hpp): those like it are, before
// `until`.
struct Passed {
  uint64_t until = 0;     // a turn
  uint64_t recycled = 0;  // recycled_records()
  uint64_t out = 0;       // a mark of each side
  uint64_t in = 0;
  int root = 0;
};

enum class Neighborhood : uint8_t {
  kUnasked,
  kUnfit,  // they are known, but not which data of theirs are for this rank, or not all are members
  kFit,
};

struct Row;  // of seats (seat.hpp)

struct Room {
  std::vector<Member> members;  // by rank, this process too; no memory is needed later
  std::vector<Offer> offers;    // of each of them
  size_t rank = 0;              // this process
  int number = kUnasked;        // of its seats in each arena
  Row* own = nullptr;           // those in this process's, as soon as there is a number
  uint64_t turn = 0;            // how many calls there have been
  uint64_t taken = 0;           // one that others may still be voting on
  Lot to_all;                   // of the current call (gives_one)
  Outflow outflow_to_all;
  Habit habits[2][kKinds];  // one row for calls that are plain here: they say nothing of others
  uint64_t shut_until = 0;  // a turn: calls like the current one are not voted on before
  Passed passed[kKinds];
  // Of a topology, once they have been asked for.
  std::vector<int> sources;
  std::vector<int> targets;
  Neighborhood neighborhood = Neighborhood::kUnasked;

  static constexpr int kRefused = -1;
  static constexpr int kUnasked = -2;   // and one less for each time that threads were in the way
  static constexpr int kLastTry = -10;  // then it is given up
};

Gain gain_of(const Room& room, Kind kind) noexcept;

enum class Door : uint8_t {
  kOpen,    // this rank must vote
  kClosed,  // it has said no
  kPassed,  // it has said no, and there was nothing to win lately: the library is as good
};
// Comes to the next call of a room. `bytes` between two ranks, as all ranks know them, or
// kUnknownBytes on all: where they are few, there is no vote. Collective when first called.
Door enter_room(MPI_Comm comm, Room* room, const Call& call, int64_t bytes) noexcept;
inline constexpr int64_t kUnknownBytes = std::numeric_limits<int64_t>::max();
// In the place of the first enter_room(), by a rank that has no memory for a room: all others wait
// for what it offers, and find that there is to be none. `of_all`: to be overwritten, one of each.
void refuse_room(MPI_Comm comm, Offer* of_all) noexcept;
// The communicator is being freed. Others may still be reading this member's seats: a slow one
// reads late that a turn was taken.
void close_room(Room* room) noexcept;
// After that: whether all members have read, so that the seats may be another room's. Until then
// the room must stay as it is.
bool give_up_if_left(Room* room) noexcept;

// What a rank says that is willing.
struct Ballot {
  bool gaps = false;    // it has some
  bool enough = false;  // and so many bytes that it pays
  int64_t offset = 0;   // of its region
};
// Null: no. Whether nobody says no, somebody has gaps, and somebody has enough. `alive`: no member
// has ended.
bool vote(Room* room, const Call& call, const Ballot* own, bool* alive) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_ROOM_HPP_
