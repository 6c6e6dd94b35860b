// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives in a room (direct/rooms/room.hpp): what each kind sends to which rank and receives
// from which. `Out` and `In` are the arguments of a side (call.hpp).
#ifndef LACUNA_INTERPOSE_COLLECTIVES_ROOM_CALL_HPP_
#define LACUNA_INTERPOSE_COLLECTIVES_ROOM_CALL_HPP_

#include <algorithm>
#include <optional>

#include "interpose/collectives/uniform.hpp"
#include "interpose/direct/between_nodes/exchange.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/exchange.hpp"
#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/direct/rooms/repeat_decline.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {

// Whether the library may refuse a call because both buffers are the same: MPICH and its kin do if
// types and counts are the same, too. In other calls, parts of one array are sent and received, as
// in a halo exchange, which is right if they do not overlap. `Out` and `In` are as in call.hpp.
template <typename Out, typename In>
bool is_aliased(direct::Kind kind, const Out& out, const In& in) {
  if (out.buf != in.buf || direct::is_of_neighbors(kind)) return false;
  if constexpr (requires { out.types; })
    return out.types == in.types && out.counts == in.counts;
  else if constexpr (requires { out.counts == in.counts; })
    return out.type == in.type && out.counts == in.counts;
  else
    return out.type == in.type;
}

// Describes the data of one call in the members of a room. Each function returns whether this rank
// can take part; false also for arguments that the library may report as an error.
class MemberData {
 public:
  explicit MemberData(direct::Room* room) : room_(room) {
    for (direct::Member& member : room->members) {
      member.sends_to = member.receives_from = false;
      member.out = member.in = direct::PairData{};
    }
    room->to_all = direct::PairData{};
  }

  // Whether no data are a device's.
  bool are_on_host() const {
    return !room_->to_all.is_on_device() &&
           std::none_of(room_->members.begin(), room_->members.end(), [](const auto& member) {
             return member.out.is_on_device() || member.in.is_on_device();
           });
  }

  template <typename Data>
  bool bcast(const Data& data, int root) {
    if (!is_rank(root)) return false;
    if (!is_own(root)) return receives_from(root, data, 0);
    for (size_t i = 0; i < size(); ++i) at(i).sends_to = i != room_->rank;
    return data.describe(0, &room_->to_all);
  }
  template <typename Out, typename In>
  bool gather(const Out& out, const In& in, int root) {
    if (!is_rank(root)) return false;
    if (!is_own(root)) return sends_to(root, out, 0);
    const bool stays = out.buf == MPI_IN_PLACE;
    bool ok = !is_aliased(direct::Kind::kGather, out, in) && (stays || sends_to(root, out, 0));
    for (size_t i = 0; ok && i < size(); ++i)
      ok = (stays && i == room_->rank) || receives_from(i, in, i);
    return ok;
  }
  template <typename Out, typename In>
  bool scatter(const Out& out, const In& in, int root) {
    if (!is_rank(root)) return false;
    if (!is_own(root)) return receives_from(root, in, 0);
    const bool stays = in.buf == MPI_IN_PLACE;
    bool ok = !is_aliased(direct::Kind::kScatter, out, in) && (stays || receives_from(root, in, 0));
    for (size_t i = 0; ok && i < size(); ++i)
      ok = (stays && i == room_->rank) || sends_to(i, out, i);
    return ok;
  }
  template <typename Out, typename In>
  bool allgather(const Out& out, const In& in) {
    const bool stays = out.buf == MPI_IN_PLACE;
    if (is_aliased(direct::Kind::kAllgather, out, in)) return false;
    bool ok = stays ? in.describe(room_->rank, &room_->to_all) : out.describe(0, &room_->to_all);
    for (size_t i = 0; ok && i < size(); ++i) {
      if (stays && i == room_->rank) continue;
      at(i).sends_to = true;
      ok = receives_from(i, in, i);
    }
    at(room_->rank).out = room_->to_all;
    return ok;
  }
  // Not in place: all data would be sent and overwritten.
  template <typename Out, typename In>
  bool alltoall(const Out& out, const In& in) {
    bool ok = out.buf != MPI_IN_PLACE && !is_aliased(direct::Kind::kAlltoall, out, in);
    for (size_t i = 0; ok && i < size(); ++i) ok = sends_to(i, out, i) && receives_from(i, in, i);
    return ok;
  }
  // `one`: all neighbours get the same data.
  template <typename Out, typename In>
  bool neighbors(const Out& out, const In& in, bool one, MPI_Comm comm) {
    if (room_->neighborhood == direct::Neighborhood::kUnknown) query_room_neighbors(comm);
    if (room_->neighborhood != direct::Neighborhood::kSuitable) return false;
    bool ok = true;
    if (one && !room_->targets.empty()) ok = out.describe(0, &room_->to_all);
    for (size_t i = 0; ok && i < room_->targets.size(); ++i) {
      const int rank = room_->targets[i];
      if (rank == MPI_PROC_NULL) continue;
      if (one) {
        at(rank).sends_to = true;
        at(rank).out = room_->to_all;
      } else {
        ok = sends_to(rank, out, i);
      }
    }
    for (size_t i = 0; ok && i < room_->sources.size(); ++i) {
      const int rank = room_->sources[i];
      ok = rank == MPI_PROC_NULL || receives_from(rank, in, i);
    }
    const direct::Member& self = at(room_->rank);
    return ok && self.sends_to == self.receives_from;
  }

 private:
  size_t size() const { return room_->members.size(); }
  bool is_rank(int root) const { return root >= 0 && static_cast<size_t>(root) < size(); }
  bool is_own(int root) const { return static_cast<size_t>(root) == room_->rank; }
  template <typename Rank>
  direct::Member& at(Rank rank) {
    return room_->members[static_cast<size_t>(rank)];
  }
  template <typename Rank, typename Data>
  bool sends_to(Rank rank, const Data& data, size_t pair) {
    at(rank).sends_to = true;
    return data.describe(pair, &at(rank).out);
  }
  template <typename Rank, typename Data>
  bool receives_from(Rank rank, const Data& data, size_t pair) {
    at(rank).receives_from = true;
    return data.describe(pair, &at(rank).in);
  }
  // Finds out the neighbours. Neighbours that occur twice do not fit: libraries differ in how they
  // match several messages between two ranks.
  void query_room_neighbors(MPI_Comm comm);

  direct::Room* room_;
};

// For calls in which the ranks do not know the same size.
inline int64_t any_bytes(const direct::Room&) { return direct::kUnknownBytes; }
inline bool is_root(const direct::Room& room, int root) {
  return root >= 0 && static_cast<size_t>(root) == room.rank;
}

// Does a whole call among ranks of several nodes, in pieces, if none votes no. No answer: nothing
// has happened. All ranks must call it, whatever their data.
template <typename Fill>
std::optional<Answer> call_between_nodes(const direct::Call& call, MPI_Comm comm,
                                         const Fill& fill) {
  if (!direct::goes_between_nodes(call.kind)) return std::nullopt;
  direct::NodesComm* const nodes = direct::comm_between_nodes(comm);
  if (nodes == nullptr || !direct::must_vote(nodes, call.kind)) return std::nullopt;
  finish_freed_requests();
  int error_class = MPI_SUCCESS;
  MemberData places(&nodes->room);
  const bool is_willing = is_open(kCollectiveSwitch) && fill(&places) && places.are_on_host();
  const InLibrary inside;
  if (!direct::exchange_between_nodes(comm, nodes, call, is_willing, &error_class))
    return std::nullopt;
  return handled(error_class == MPI_SUCCESS ? MPI_SUCCESS : raise_error(comm, error_class));
}

// Does a whole call in a room, if all ranks are peers and none votes no. No answer: nothing has
// happened. All ranks must call it first, whatever their data. `bytes(room)`: bytes between two
// ranks; below 0 for an error that the library must report. `fill`: describes the data. `entered`:
// gets the room in which a vote was made, or null.
template <typename Bytes, typename Fill>
std::optional<Answer> call_in_room(const direct::Call& call, MPI_Comm comm, const Start& start,
                                   const Bytes& bytes, const Fill& fill, direct::Room** entered) {
  *entered = nullptr;
  if (!start.blocking() || !receives_direct()) return std::nullopt;
  direct::Room* room = nullptr;
  if (!direct::known_room(comm, &room)) {
    CommInfo group;
    int code = 0;
    if (!direct::comm_info_of(comm, &group, &code)) return handled(code);
    if (!direct::pipeline().within_nodes) room = direct::room_on(comm);
  }
  if (direct::pipeline().within_nodes) room = nullptr;
  if (room == nullptr) return call_between_nodes(call, comm, fill);
  *entered = room;
  if (!g_gate.threads) direct::last_room(comm) = {comm, room};
  const direct::Entry entry = direct::enter_room(comm, room, call, bytes(*room));
  // With log, report or verification the data are reported outside the room. There data of devices
  // are packed, too, which the library may not be able to read.
  if (entry == direct::Entry::kBackedOff && !is_watched(kAnyWatched | kDevices)) return kDeclined;
  if (entry != direct::Entry::kMustVote) return std::nullopt;
  finish_freed_requests();
  int error_class = MPI_SUCCESS;
  MemberData places(room);
  if (!direct::exchange_data(room, call, fill(&places), &error_class)) return std::nullopt;
  return handled(error_class == MPI_SUCCESS ? MPI_SUCCESS : raise_error(comm, error_class));
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_COLLECTIVES_ROOM_CALL_HPP_
