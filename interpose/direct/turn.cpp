// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/turn.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "interpose/direct/arena.hpp"
#include "interpose/direct/peers.hpp"
#include "interpose/log.hpp"
#include "interpose/runtime.hpp"

namespace lacuna::direct {
namespace {

// What a region's payload begins with; the lanes of all members follow.
struct Hall {
  alignas(kLine) std::atomic<uint32_t> readers;  // that are not through yet
};

Lane* lanes_of(Region* region) noexcept {
  return reinterpret_cast<Lane*>(payload(region) + sizeof(Hall));
}

Region* region_of(const Member& member) noexcept {
  return reinterpret_cast<Region*>(peer_at(member.peer)->arena + member.said.offset);
}

int64_t up_to_line(int64_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

// Windows for everything that goes out. Null: there is no room for them.
Region* prepare(Room* room) noexcept {
  const size_t n = room->members.size();
  const auto front = static_cast<int64_t>(sizeof(Hall) + n * sizeof(Lane));
  int64_t bytes = front;
  for (size_t i = 0; i < n; ++i) {
    if (i == room->rank) continue;
    Member& member = room->members[i];
    member.outflow.plan_for(member.out);
    bytes += up_to_line(member.outflow.window_bytes());
  }
  Region* region = reserve(bytes);
  if (region == nullptr) return nullptr;
  new (payload(region)) Hall{static_cast<uint32_t>(n - 1)};
  int64_t offset = front;
  for (size_t i = 0; i < n; ++i) {
    if (i == room->rank) continue;
    Outflow& outflow = room->members[i].outflow;
    outflow.open(new (lanes_of(region) + i) Lane, payload(region), offset);
    offset += up_to_line(outflow.window_bytes());
  }
  if (n == 1) release(region);
  return region;
}

// An error class.
int run(Room* room) noexcept {
  const size_t n = room->members.size();
  const size_t own = room->rank;
  int error_class = MPI_SUCCESS;
  for (size_t i = 0; i < n; ++i) {
    if (i == own) continue;
    Member& member = room->members[i];
    Region* region = region_of(member);
    member.inflow.open(member.in, lanes_of(region) + own, payload(region));
    if (member.inflow.is_truncated()) error_class = MPI_ERR_TRUNCATE;
  }
  Patience patience(*room);
  bool copied = false;
  for (bool over = false; !over;) {
    over = true;
    bool moved = false;
    // To the next rank first, from the one before first: so no two ranks begin with the same.
    for (size_t k = 1; k < n; ++k) {
      Outflow& outflow = room->members[(own + k) % n].outflow;
      if (!outflow.over()) moved = outflow.step() || moved;
      Inflow& inflow = room->members[(own + n - k) % n].inflow;
      if (!inflow.over()) moved = inflow.step() || moved;
      over = over && outflow.over() && inflow.over();
    }
    if (!copied) copy_lot(room->members[own].out, room->members[own].in);  // others' are under way
    copied = true;
    if (moved) {
      patience.reset();
    } else if (!over && !patience.wait()) {
      return MPI_ERR_OTHER;
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (i == own) continue;
    Region* region = region_of(room->members[i]);
    auto* hall = reinterpret_cast<Hall*>(payload(region));
    if (hall->readers.fetch_sub(1, std::memory_order_acq_rel) == 1) release(region);
  }
  return error_class;
}

}  // namespace

bool take_turn(Room* room, bool willing, int* error_class) noexcept {
  const Member& own = room->members[room->rank];
  Region* const region = willing && own.out.bytes == own.in.bytes ? prepare(room) : nullptr;
  Said said;
  if (region != nullptr) {
    said.vote = Vote::kYes;
    said.offset = offset_of(region);
    for (const Member& member : room->members) {
      if (member.out.with_gaps != nullptr || member.in.with_gaps != nullptr)
        said.vote = Vote::kWants;
      said.most_bytes = std::max({said.most_bytes, member.out.bytes, member.in.bytes});
    }
    if (runtime().always) said.most_bytes = std::numeric_limits<int64_t>::max();
  }
  bool alive = true;
  if (vote(room, said, &alive)) {
    for (const Member& member : room->members) {
      for (const Lot* lot : {&member.out, &member.in}) {
        if (lot->with_gaps != nullptr) log_type(*lot->with_gaps, Note::kDirect, lot->bytes);
      }
    }
    *error_class = run(room);
    return true;
  }
  if (region != nullptr) release(region);
  *error_class = MPI_ERR_OTHER;
  return !alive;
}

}  // namespace lacuna::direct
