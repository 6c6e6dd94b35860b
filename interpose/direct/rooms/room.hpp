// SPDX-License-Identifier: BSD-3-Clause
//
// Room: a communicator whose ranks are all peers, so that its collectives may go through shared
// memory. At each blocking collective every rank writes a vote to a slot at the front of its arena.
// A rank that votes no calls the library at once. A rank that votes yes waits for the votes of the
// others. One no is enough, so a rank may vote no for reasons of its own (types, memory, sizes),
// and all come to the same decision, also in a program that is wrong.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_ROOM_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_ROOM_HPP_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "interpose/direct/rooms/window.hpp"
#include "interpose/policy/policy.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

// The calls that may go through rooms. Each kind has its own back-off.
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

// Kind and root, in which all ranks must agree; and what this rank knows before it looks at its
// data.
struct Call {
  Kind kind;
  int root = 0;
  bool is_plain = false;  // this rank's types are predefined, so its data have no gaps
};

// Whether a rank sends the same data to all receivers.
constexpr bool sends_one(Kind kind) noexcept {
  return kind == Kind::kBcast || kind == Kind::kAllgather || kind == Kind::kAllgatherv ||
         kind == Kind::kNeighborAllgather || kind == Kind::kNeighborAllgatherv;
}

constexpr bool is_of_neighbors(Kind kind) noexcept { return kind >= Kind::kNeighborAllgather; }

// Whether each rank both sends and receives, so that all are busy with their own data first.
constexpr bool is_exchange(Kind kind) noexcept {
  return kind != Kind::kBcast && kind != Kind::kGather && kind != Kind::kGatherv &&
         kind != Kind::kScatter && kind != Kind::kScatterv;
}

// Where a room is faster than the library: from `least_bytes` between two ranks on, in runs of up
// to `most_run_bytes`; in runs longer than kLongRun from `least_in_long_runs` on. Data of a device
// have a limit of their own, whatever their runs.
struct SizeLimits {
  int64_t least_bytes;
  double most_run_bytes;
  int64_t least_in_long_runs = 0;

  static constexpr double kLongRun = 64;
  bool is_enough(const PairData& pair_data) const noexcept {
    if (pair_data.is_on_device()) return pair_data.bytes >= kLeastDirectOfDevice;
    const bool is_long =
        pair_data.with_gaps == nullptr || pair_data.with_gaps->mean_run_bytes > kLongRun;
    return pair_data.bytes >= least_bytes && (!is_long || pair_data.bytes >= least_in_long_runs);
  }
  bool is_of_gaps(const PairData& pair_data) const noexcept {
    return pair_data.with_gaps != nullptr &&
           (pair_data.is_on_device() || pair_data.with_gaps->mean_run_bytes <= most_run_bytes);
  }
};

// What the members exchange to find a set of slots that is free in all arenas.
struct SlotUse {
  // First round: a bit for each set in use. Second round: whether the set could be taken.
  uint64_t used = 0;
  uint64_t last_call = 0;
};

// A rank, and its part in the current call.
struct Member {
  uint32_t peer = 0;
  bool sends_to = false;       // this rank sends to it, perhaps 0 bytes
  bool receives_from = false;  // this rank receives from it
  PairData out;
  PairData in;
  WindowWriter writer;
  WindowReader reader;
  bool has_voted = false;
  int64_t offset = 0;  // of its region in its arena
};

// Back-off: votes take time. After some votes that led to no call a rank votes no at once, up
// to the next multiple of `next_interval` calls, which doubles each time. Ranks that began to do so
// at different times thus vote together again.
struct BackOff {
  int votes_in_vain = 0;  // votes that led to no call in the room, one after the other
  uint64_t no_vote_until = 0;
  uint64_t next_interval = kFirstInterval;
  bool is_small = false;  // the last vote: nobody said no, but there was nothing to gain

  static constexpr uint64_t kFirstInterval = 32;
};

// The last call of a kind that was left to the library (repeat_decline.hpp). Calls like it are left
// to it again, before `until`.
struct LastDecline {
  uint64_t until = 0;     // the number of a call
  uint64_t recycled = 0;  // recycled_records() at that time
  uint64_t out = 0;       // a hash of each side's types and counts
  uint64_t in = 0;
  int root = 0;
};

enum class Neighborhood : uint8_t {
  kUnknown,
  kUnsuitable,  // known, but some neighbour is no member or occurs twice
  kSuitable,
};

struct VoteSlots;  // of slots (vote_slot.hpp)

struct Room {
  std::vector<Member> members;     // by rank, this process too; allocated once
  std::vector<SlotUse> slot_uses;  // of each of them
  size_t rank = 0;                 // this process
  int number = kUnknown;           // of its set of slots in each arena
  VoteSlots* own = nullptr;        // this process's slots, once there is a number
  uint64_t call_number = 0;        // number of the current call
  uint64_t last_done =
      0;  // number of the last call done in the room whose votes may still be read; 0: none
  PairData to_all;  // data of the current call, if the same go to all (sends_one)
  WindowWriter writer_to_all;
  BackOff back_offs[2][kKinds];  // second row: calls in which this rank's types are predefined
  uint64_t none_needed_until =
      0;                   // calls like the current one need no vote before the call of this number
  bool is_broken = false;  // a member has died before it voted: no call will be done here
  LastDecline last_declines[kKinds];
  // Neighbours of a topology, once known.
  std::vector<int> sources;
  std::vector<int> targets;
  Neighborhood neighborhood = Neighborhood::kUnknown;

  static constexpr int kRefused = -1;
  static constexpr int kUnknown = -2;   // one less for each attempt that another thread has spoilt
  static constexpr int kLastTry = -10;  // no further attempt
};

SizeLimits size_limits_of(const Room& room, Kind kind) noexcept;

enum class Entry : uint8_t {
  kMustVote,   // this rank must vote
  kVotedNo,    // it has voted no
  kBackedOff,  // it has voted no, as there was nothing to gain lately: the library is as good
};
// Begins the next collective call of a room. `bytes` between two ranks: the same in all ranks, or
// kUnknownBytes in all. If they are few there is no vote. The first call for a room is collective
// over `comm`.
Entry enter_room(MPI_Comm comm, Room* room, const Call& call, int64_t bytes) noexcept;
inline constexpr int64_t kUnknownBytes = std::numeric_limits<int64_t>::max();
// For a rank that has no memory for a room, in place of the first enter_room(): takes part in the
// collective that the others wait for, and tells them that there will be no room. `of_all`: scratch
// memory, one SlotUse for each rank.
void refuse_room(MPI_Comm comm, SlotUse* of_all) noexcept;
// Call when the communicator is freed. A slow member may still read this member's votes of the last
// call.
void close_room(Room* room) noexcept;
// Call after close_room(), until it returns true: then all members have read the last votes, and
// the slots are free for another room. Until then the room must stay as it is.
bool give_up_if_left(Room* room) noexcept;

// The vote of a rank that is willing.
struct OwnVote {
  bool gaps = false;    // its data have gaps
  bool enough = false;  // and are so many that it pays
  int64_t offset = 0;   // of its region
};
// Writes this rank's vote (`own` null: no) and reads the others'. True: nobody said no, somebody
// has gaps, and somebody has enough data. `alive`: false if a member has died.
bool vote(Room* room, const Call& call, const OwnVote* own, bool* alive) noexcept;
// Call this when a collective fails in this rank after the rank has voted yes. The others may wait
// for this rank's data, or for it to consume theirs: its vote slot tells them.
void give_up_call(const Room& room) noexcept;
// Whether this member has done so in the current call.
bool has_given_up(const Room& room, const Member& member) noexcept;
bool any_has_given_up(const Room& room) noexcept;
// Votes no in all rooms from now on.
void leave_rooms() noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_ROOM_HPP_
