// SPDX-License-Identifier: BSD-3-Clause
//
// What all collectives share: what a rank sends and receives, the arguments of a side in their
// three forms (lacuna replaces them if it handles the side), and the call itself.
#ifndef LACUNA_INTERPOSE_COLLECTIVES_CALL_HPP_
#define LACUNA_INTERPOSE_COLLECTIVES_CALL_HPP_

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/address.hpp"
#include "interpose/collectives/room_call.hpp"
#include "interpose/collectives/side.hpp"
#include "interpose/collectives/uniform.hpp"
#include "interpose/device/moves.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {

// The library's functions for a call.
template <typename Blocking, typename Nonblocking, typename Persistent>
struct Forms {
  Blocking blocking;
  Nonblocking nonblocking;
  Persistent persistent;
};

// Chooses the functions by the type of counts, int or MPI_Count.
template <typename Count, typename Blocking, typename BlockingLarge, typename Nonblocking,
          typename NonblockingLarge, typename Persistent, typename PersistentLarge>
auto forms(Blocking Next::* blocking, BlockingLarge Next::* blocking_large,
           Nonblocking Next::* nonblocking, NonblockingLarge Next::* nonblocking_large,
           Persistent Next::* persistent, PersistentLarge Next::* persistent_large) {
  const Next& next = next_functions();
  if constexpr (std::is_same_v<Count, int>) {
    return Forms<Blocking, Nonblocking, Persistent>{next.*blocking, next.*nonblocking,
                                                    next.*persistent};
  } else {
    return Forms<BlockingLarge, NonblockingLarge, PersistentLarge>{
        next.*blocking_large, next.*nonblocking_large, next.*persistent_large};
  }
}

// The least bytes between two ranks for which handling a side may pay, for this kind of call.
int64_t least_bytes_of(direct::Kind kind);
// Whether Side::take would decline a message of this size, or it is smaller than `least_bytes`, and
// nobody wants the reason logged.
bool never_pays(Operation operation, MPI_Count count, MPI_Datatype datatype, int64_t least_bytes);

// The same count for each pair of ranks.
template <typename Count>
struct Block {
  Block(const void* memory, Count each, MPI_Datatype datatype)
      : buf(const_cast<void*>(memory)), count(each), type(datatype) {}
  void handle(Operation operation, int pairs, const Flows& flows, bool blocking, Side* side) {
    if (!side->handle(operation, buf, count, type, pairs, flows, blocking)) return;
    buf = side->buffer();
    type = side->datatype();
  }
  bool is_sound_for(int) const { return is_sound(count, type); }
  bool never_pays(Operation operation, int, int64_t least_bytes) const {
    return buf == MPI_IN_PLACE || lacuna::never_pays(operation, count, type, least_bytes);
  }
  auto side() const { return direct::side(type, count); }
  // Bytes of a pair. -1: invalid, the library reports the error.
  int64_t bytes() const {
    const TypeRecord* record = type_record(type);
    int64_t all = 0;
    if (record == nullptr || count < 0 ||
        __builtin_mul_overflow(int64_t{count}, record->size_bytes, &all))
      return -1;
    return all;
  }
  auto arguments() const { return std::make_tuple(buf, count, type); }
  bool describe(size_t pair, direct::PairData* pair_data) const {
    const TypeRecord* record = type_record(type);
    int64_t offset = 0;
    return record != nullptr &&
           !__builtin_mul_overflow(static_cast<int64_t>(pair) * count, record->extent_bytes,
                                   &offset) &&
           direct::describe_anywhere(address(buf, offset), count, type, pair_data);
  }

  void* buf;
  Count count;
  MPI_Datatype type;
};

// A count and a displacement for each pair.
template <typename Count, typename Displacement>
struct Blocks {
  Blocks(const void* memory, const Count* each, const Displacement* places, MPI_Datatype datatype)
      : buf(const_cast<void*>(memory)), counts(each), displacements(places), type(datatype) {}
  void handle(Operation operation, int pairs, const Flows& flows, bool blocking, Side* side) {
    if (!side->handle(operation, buf, counts, displacements, type, pairs, flows, blocking)) return;
    buf = side->buffer();
    displacements = side->template displacements<Displacement>();
    type = side->datatype();
  }
  bool is_sound_for(int pairs) const { return is_sound(counts, type, pairs); }
  auto arguments() const { return std::make_tuple(buf, counts, displacements, type); }
  bool describe(size_t pair, direct::PairData* pair_data) const {
    const TypeRecord* record =
        counts != nullptr && displacements != nullptr ? type_record(type) : nullptr;
    int64_t offset = 0;
    return record != nullptr &&
           !__builtin_mul_overflow(int64_t{displacements[pair]}, record->extent_bytes, &offset) &&
           direct::describe_anywhere(address(buf, offset), counts[pair], type, pair_data);
  }
  bool never_pays(Operation operation, int pairs, int64_t least_bytes) const {
    if (buf == MPI_IN_PLACE) return true;
    if (counts == nullptr) return false;
    for (int i = 0; i < pairs; ++i) {
      const bool is_new = i == 0 || counts[i] != counts[i - 1];
      if (counts[i] != 0 && is_new && !lacuna::never_pays(operation, counts[i], type, least_bytes))
        return false;
    }
    return pairs > 0;
  }
  auto side() const { return direct::side(type, counts); }
  // The largest message to or from a rank; -1: invalid, the library reports the error.
  int64_t most_bytes(const direct::Room& room) const {
    const TypeRecord* record = counts != nullptr ? type_record(type) : nullptr;
    if (record == nullptr) return -1;
    int64_t most = 0;
    for (size_t i = 0; i < room.members.size(); ++i) {
      int64_t bytes = 0;
      if (counts[i] < 0 || __builtin_mul_overflow(int64_t{counts[i]}, record->size_bytes, &bytes))
        return -1;
      most = std::max(most, bytes);
    }
    return most;
  }

  void* buf;
  const Count* counts;
  const Displacement* displacements;
  MPI_Datatype type;
};

// A count, a displacement and a type for each pair.
template <typename Count, typename Displacement>
struct TypedBlocks {
  TypedBlocks(const void* memory, const Count* each, const Displacement* places,
              const MPI_Datatype* datatypes)
      : buf(const_cast<void*>(memory)), counts(each), displacements(places), types(datatypes) {}
  void handle(Operation operation, int pairs, const Flows& flows, bool blocking, Side* side) {
    if (!side->handle(operation, buf, counts, displacements, types, pairs, flows, blocking)) return;
    buf = side->buffer();
    displacements = side->template displacements<Displacement>();
    types = side->datatypes();
  }
  bool is_sound_for(int pairs) const { return is_sound(counts, types, pairs); }
  bool never_pays(Operation operation, int pairs, int64_t least_bytes) const {
    if (buf == MPI_IN_PLACE) return true;
    if (counts == nullptr || types == nullptr) return false;
    for (int i = 0; i < pairs; ++i) {
      if (counts[i] != 0 && !lacuna::never_pays(operation, counts[i], types[i], least_bytes))
        return false;
    }
    return pairs > 0;
  }
  auto side() const { return direct::side(types, counts); }
  auto arguments() const { return std::make_tuple(buf, counts, displacements, types); }
  bool describe(size_t pair, direct::PairData* pair_data) const {
    return counts != nullptr && displacements != nullptr && types != nullptr &&
           direct::describe_anywhere(address(buf, displacements[pair]), counts[pair], types[pair],
                                     pair_data);
  }

  void* buf;
  const Count* counts;
  const Displacement* displacements;
  const MPI_Datatype* types;
};

// One side of a call in this rank: the number of pairs, and what happens to each. No pairs: the
// arguments are not significant in this rank and must not be read.
struct SidePairs {
  int pairs = 0;
  Flows flows;
  bool keeps_type = false;  // never packed
};

// Both sides of a call in this rank. Not `known`: return `answer`.
struct CallPairs {
  bool known = false;
  Answer answer = kDeclined;
  SidePairs sends;
  SidePairs receives;
};

// The sides of this rank in each kind of call. `in_place` is the buffer that may be MPI_IN_PLACE.
CallPairs pairs_of_bcast(int root, MPI_Comm comm, const Start& start);
// `roots`: what happens to the root's data of all pairs. kIn: received (MPI_Gather and similar);
// kOut: sent (MPI_Scatter).
CallPairs pairs_of_rooted(Flow roots, const void* in_place, int root, MPI_Comm comm,
                          const Start& start);
CallPairs pairs_of_allgather(const void* in_place, MPI_Comm comm, const Start& start);
CallPairs pairs_of_alltoall(const void* in_place, MPI_Comm comm, const Start& start);

// Open MPI 4.1 and 5.0 take equal buffers for MPI_IN_PLACE in calls that are not blocking.
inline bool is_taken_for_in_place(direct::Kind kind, const void* out, const void* in,
                                  bool blocking) {
  return out == in && !blocking && !direct::is_of_neighbors(kind) &&
         runtime().flavour == Flavour::kOpenMpi;
}

// Replaces the arguments of each side that lacuna handles.
template <typename Out, typename In>
void handle_sides(direct::Kind kind, Out* out, const SidePairs& sends, In* in,
                  const SidePairs& receives, bool blocking, Sides* sides) {
  if (sends.pairs > 0 && receives.pairs > 0 &&
      (is_aliased(kind, *out, *in) || is_taken_for_in_place(kind, out->buf, in->buf, blocking)))
    return;
  In handled_in = *in;
  if (receives.pairs > 0 && !receives.keeps_type) {
    handled_in.handle(Operation::kReceive, receives.pairs, receives.flows, blocking, &sides->in);
  }
  if (sides->in.handled()) {
    if (sends.pairs > 0 && !out->is_sound_for(sends.pairs)) {
      sides->in = Side();
      return;
    }
    *in = handled_in;
  }
  if (sends.pairs > 0)
    out->handle(Operation::kSend, sends.pairs, sends.flows, blocking, &sides->out);
}

// Whether lacuna may handle the call at all. Call first.
bool may_begin(const Start& start);

// Makes the library's call with the arguments of the sides, of which the last is the communicator.
// If a device fails before it, the other ranks may wait for this one, as after other errors in a
// collective.
template <typename Forms, typename Arguments>
Answer call_library(Sides* sides, const Start& start, const Forms& forms,
                    const Arguments& arguments) {
  if (!sides->out.handled() && !sides->in.handled()) return kDeclined;
  const MPI_Comm comm = std::get<std::tuple_size_v<Arguments> - 1>(arguments);
  if (start.blocking()) {
    if (!sides->pack()) return handled(device::raise_failure(comm));
    const int code = std::apply(forms.blocking, arguments);
    const int error_class = sides->finish(code == MPI_SUCCESS);
    return handled(error_class == MPI_SUCCESS ? code : raise_error(comm, error_class));
  }
  PendingRequest* entry = new_pending_sides(sides);
  if (entry == nullptr) return kDeclined;
  entry->incoming.comm = comm;
  MPI_Request given = MPI_REQUEST_NULL;
  if (start.persistent()) {
    const int code = std::apply(forms.persistent,
                                std::tuple_cat(arguments, std::make_tuple(start.info(), &given)));
    return handled(settle_made(entry, given, start.request(), code));
  }
  if (!entry->completion->pack()) {
    drop_pending(entry);
    return handled(device::raise_failure(comm));
  }
  const int code =
      std::apply(forms.nonblocking, std::tuple_cat(arguments, std::make_tuple(&given)));
  return handled(settle_started(entry, given, start.request(), code));
}

// A whole call. `rest`: the arguments behind those of the two sides.
template <typename Out, typename In, typename Forms, typename... Rest>
Answer call_library_with_sides(direct::Kind kind, const CallPairs& call_pairs, Out out, In in,
                               const Start& start, const Forms& forms, Rest... rest) {
  if (!call_pairs.known) return call_pairs.answer;
  Sides sides;
  handle_sides(kind, &out, call_pairs.sends, &in, call_pairs.receives, start.blocking(), &sides);
  return call_library(&sides, start, forms,
                      std::tuple_cat(out.arguments(), in.arguments(), std::make_tuple(rest...)));
}

// Whether no side would be handled, found out without a library call on the communicator. The
// lengths of arrays are known in a room only.
template <typename Out, typename In>
bool never_pays(const direct::Call& call, const direct::Room* room, const Out& out, const In& in) {
  const int64_t least = least_bytes_of(call.kind);
  if (room == nullptr)
    return out.never_pays(Operation::kSend, 0, least) &&
           in.never_pays(Operation::kReceive, 0, least);
  if (!direct::knows_pairs(*room, call.kind)) return false;
  const auto targets = static_cast<int>(direct::targets_of(*room, call.kind));
  const auto sources = static_cast<int>(direct::sources_of(*room, call.kind));
  return (!direct::sends(*room, call) || out.never_pays(Operation::kSend, targets, least)) &&
         (!direct::receives(*room, call) || in.never_pays(Operation::kReceive, sources, least));
}

// Whether a call that is not done in a room is left to the library, by the test that the gate makes
// where there are no rooms.
template <typename Out, typename In>
bool fails_gate(const direct::Call& call, const direct::Room* room, const Out& out, const In& in) {
  if constexpr (requires { out.type; }) {
    if (!open_to(kCollectiveSwitch, out.type, in.type) || is_never_handled(out.type, in.type))
      return true;
  } else {
    if (!is_open(kCollectiveSwitch)) return true;
  }
  return never_pays(call, room, out, in);
}

// Lets the next calls like it take the short path (repeat_decline.hpp).
template <typename Out, typename In>
void remember_in_room(const direct::Call& call, direct::Room* room, const Out& out, const In& in) {
  if (room != nullptr) direct::remember_decline(call, room, out.side(), in.side());
}

// Whether a call that was not done in a room is left to the library; remembers it if so.
template <typename Out, typename In>
bool is_declined(const direct::Call& call, direct::Room* room, const Out& out, const In& in) {
  if (!fails_gate(call, room, out, in)) return false;
  remember_in_room(call, room, out, in);
  return true;
}

// Whether all types of this rank are predefined. False for arrays of types.
template <typename Out, typename In>
bool is_plain(const Out& out, const In& in) {
  if constexpr (requires { out.type; })
    return plainly_predefined(out.type) && plainly_predefined(in.type);
  else
    return false;
}

// A whole call with two sides: in a room (room_call.hpp explains `bytes` and `fill`), or with each
// side handled by itself, as `share()` says.
template <typename Bytes, typename Fill, typename Pairs, typename Out, typename In, typename Forms,
          typename... Rest>
Answer do_call(direct::Call call, MPI_Comm comm, const Bytes& bytes, const Fill& fill,
               const Pairs& pairs_of_call, const Out& out, const In& in, const Start& start,
               const Forms& forms, Rest... rest) {
  call.is_plain = is_plain(out, in);
  direct::Room* room = nullptr;
  if (const auto answer = call_in_room(call, comm, start, bytes, fill, &room)) {
    if (!answer->handled) remember_in_room(call, room, out, in);
    return *answer;
  }
  if (is_declined(call, room, out, in)) return kDeclined;
  return call_library_with_sides(call.kind, pairs_of_call(), out, in, start, forms, rest...);
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_COLLECTIVES_CALL_HPP_
