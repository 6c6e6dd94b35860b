// SPDX-License-Identifier: BSD-3-Clause
//
// What all collectives have in common: what a rank gives and gets, the arguments of a side in their
// three forms, which replace themselves where lacuna takes the side, and doing the call, blocking
// or not.
#ifndef LACUNA_INTERPOSE_CARRY_HPP_
#define LACUNA_INTERPOSE_CARRY_HPP_

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/address.hpp"
#include "interpose/collectives.hpp"
#include "interpose/exchange.hpp"
#include "interpose/group.hpp"
#include "interpose/in_room.hpp"
#include "interpose/next.hpp"
#include "interpose/requests.hpp"
#include "interpose/runtime.hpp"

namespace lacuna {

// What a call may become in the library.
template <typename Blocking, typename Nonblocking, typename Persistent>
struct Forms {
  Blocking blocking;
  Nonblocking nonblocking;
  Persistent persistent;
};

// The forms of a function with counts of this type, int or MPI_Count.
template <typename Count, typename Blocking, typename BlockingLarge, typename Nonblocking,
          typename NonblockingLarge, typename Persistent, typename PersistentLarge>
auto forms(Blocking Next::* blocking, BlockingLarge Next::* blocking_large,
           Nonblocking Next::* nonblocking, NonblockingLarge Next::* nonblocking_large,
           Persistent Next::* persistent, PersistentLarge Next::* persistent_large) noexcept {
  const Next& next = next_functions();
  if constexpr (std::is_same_v<Count, int>) {
    return Forms<Blocking, Nonblocking, Persistent>{next.*blocking, next.*nonblocking,
                                                    next.*persistent};
  } else {
    return Forms<BlockingLarge, NonblockingLarge, PersistentLarge>{
        next.*blocking_large, next.*nonblocking_large, next.*persistent_large};
  }
}

// The same count for each pair.
template <typename Count>
struct Block {
  Block(const void* memory, Count each, MPI_Datatype datatype) noexcept
      : buf(const_cast<void*>(memory)), count(each), type(datatype) {}
  void take(Operation operation, int pairs, const Flows& flows, bool blocking,
            Side* side) noexcept {
    if (!side->take(operation, buf, count, type, pairs, flows, blocking)) return;
    buf = side->buffer();
    type = side->datatype();
  }
  bool is_sound_for(int) const noexcept { return is_sound(count, type); }
  // Side::take would say no, and nobody wants to hear why.
  bool is_in_vain(Operation operation) const noexcept {
    if (is_watched(kAnyWatched) || runtime().always) return false;
    const TypeRecord* record = detail::cached_record(type);
    int64_t all = 0;
    if (record == nullptr || count <= 0 ||
        __builtin_mul_overflow(int64_t{count}, record->size_bytes, &all)) {
      return false;
    }
    return record->passes || (count == 1 && record->one_passes) ||
           !pays_to_carry(operation, *record, count, all);
  }
  // -1: the library will say what is wrong.
  int64_t bytes() const noexcept {
    const TypeRecord* record = type_record(type);
    int64_t all = 0;
    if (record == nullptr || count < 0 ||
        __builtin_mul_overflow(int64_t{count}, record->size_bytes, &all))
      return -1;
    return all;
  }
  auto arguments() const noexcept { return std::make_tuple(buf, count, type); }
  bool describe(size_t pair, direct::Lot* lot) const noexcept {
    const TypeRecord* record = type_record(type);
    int64_t offset = 0;
    return record != nullptr &&
           !__builtin_mul_overflow(static_cast<int64_t>(pair) * count, record->extent_bytes,
                                   &offset) &&
           direct::describe(address(buf, offset), count, type, lot);
  }

  void* buf;
  Count count;
  MPI_Datatype type;
};

// A count and a displacement for each pair.
template <typename Count, typename Displacement>
struct Blocks {
  Blocks(const void* memory, const Count* each, const Displacement* places,
         MPI_Datatype datatype) noexcept
      : buf(const_cast<void*>(memory)), counts(each), displacements(places), type(datatype) {}
  void take(Operation operation, int pairs, const Flows& flows, bool blocking,
            Side* side) noexcept {
    if (!side->take(operation, buf, counts, displacements, type, pairs, flows, blocking)) return;
    buf = side->buffer();
    displacements = side->template displacements<Displacement>();
    type = side->datatype();
  }
  bool is_sound_for(int pairs) const noexcept { return is_sound(counts, type, pairs); }
  auto arguments() const noexcept { return std::make_tuple(buf, counts, displacements, type); }
  bool describe(size_t pair, direct::Lot* lot) const noexcept {
    const TypeRecord* record =
        counts != nullptr && displacements != nullptr ? type_record(type) : nullptr;
    int64_t offset = 0;
    return record != nullptr &&
           !__builtin_mul_overflow(int64_t{displacements[pair]}, record->extent_bytes, &offset) &&
           direct::describe(address(buf, offset), counts[pair], type, lot);
  }
  // The most of a pair; -1: the library will say what is wrong.
  int64_t most_bytes(const direct::Room& room) const noexcept {
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

// And a type.
template <typename Count, typename Displacement>
struct TypedBlocks {
  TypedBlocks(const void* memory, const Count* each, const Displacement* places,
              const MPI_Datatype* datatypes) noexcept
      : buf(const_cast<void*>(memory)), counts(each), displacements(places), types(datatypes) {}
  void take(Operation operation, int pairs, const Flows& flows, bool blocking,
            Side* side) noexcept {
    if (!side->take(operation, buf, counts, displacements, types, pairs, flows, blocking)) return;
    buf = side->buffer();
    displacements = side->template displacements<Displacement>();
    types = side->datatypes();
  }
  bool is_sound_for(int pairs) const noexcept { return is_sound(counts, types, pairs); }
  auto arguments() const noexcept { return std::make_tuple(buf, counts, displacements, types); }
  bool describe(size_t pair, direct::Lot* lot) const noexcept {
    return counts != nullptr && displacements != nullptr && types != nullptr &&
           direct::describe(address(buf, displacements[pair]), counts[pair], types[pair], lot);
  }

  void* buf;
  const Count* counts;
  const Displacement* displacements;
  const MPI_Datatype* types;
};

// A side of a call as this rank sees it: with how many pairs, and what happens to each. No pairs:
// the arguments mean nothing here and must not be looked at.
struct Share {
  int pairs = 0;
  Flows flows;
};

// Both shares of a rank in a call. Not known: `answer` is the answer.
struct Shares {
  bool known = false;
  Answer answer = kDeclined;
  Share gives;
  Share gets;
};

// The shares of this rank in each pattern. `in_place` is the buffer that may be MPI_IN_PLACE.
Shares share_bcast(int root, MPI_Comm comm, const Start& start) noexcept;
// `roots` is what happens to the root's data of all pairs: they come in (MPI_Gather and kin) or go
// out (MPI_Scatter).
Shares share_rooted(Flow roots, const void* in_place, int root, MPI_Comm comm,
                    const Start& start) noexcept;
Shares share_allgather(const void* in_place, MPI_Comm comm, const Start& start) noexcept;
Shares share_alltoall(const void* in_place, MPI_Comm comm, const Start& start) noexcept;

// Takes what can be taken of both sides.
template <typename Out, typename In>
void take_sides(Out* out, const Share& gives, In* in, const Share& gets, bool blocking,
                Exchange* exchange) noexcept {
  // An error that the library may look for.
  if (gives.pairs > 0 && gets.pairs > 0 && out->buf == in->buf) return;
  In taken_in = *in;
  if (gets.pairs > 0) {
    taken_in.take(Operation::kReceive, gets.pairs, gets.flows, blocking, &exchange->in);
  }
  if (exchange->in.taken()) {
    if (gives.pairs > 0 && !out->is_sound_for(gives.pairs)) {
      exchange->in = Side();
      return;
    }
    *in = taken_in;
  }
  if (gives.pairs > 0)
    out->take(Operation::kSend, gives.pairs, gives.flows, blocking, &exchange->out);
}

// Before anything else: whether the call may be lacuna's at all.
bool may_begin(const Start& start) noexcept;

// Does the call with the arguments that the sides have become.
template <typename Forms, typename Arguments>
Answer carry(Exchange* exchange, const Start& start, const Forms& forms,
             const Arguments& arguments) noexcept {
  if (!exchange->out.taken() && !exchange->in.taken()) return kDeclined;
  if (start.blocking()) {
    exchange->pack();
    const int code = std::apply(forms.blocking, arguments);
    if (code == MPI_SUCCESS && exchange->in.comes_in()) exchange->in.unpack_all();
    return taken(code);
  }
  PendingRequest* entry = new_pending_exchange(exchange);
  if (entry == nullptr) return kDeclined;
  MPI_Request given = MPI_REQUEST_NULL;
  if (start.persistent()) {
    const int code = std::apply(forms.persistent,
                                std::tuple_cat(arguments, std::make_tuple(start.info(), &given)));
    return taken(settle_made(entry, given, start.request(), code));
  }
  entry->exchange->pack();
  const int code =
      std::apply(forms.nonblocking, std::tuple_cat(arguments, std::make_tuple(&given)));
  return taken(settle_started(entry, given, start.request(), code));
}

// A whole call: `rest` are the arguments behind those of the two sides.
template <typename Out, typename In, typename Forms, typename... Rest>
Answer carry_sides(const Shares& shares, Out out, In in, const Start& start, const Forms& forms,
                   Rest... rest) noexcept {
  if (!shares.known) return shares.answer;
  Exchange exchange;
  take_sides(&out, shares.gives, &in, shares.gets, start.blocking(), &exchange);
  return carry(&exchange, start, forms,
               std::tuple_cat(out.arguments(), in.arguments(), std::make_tuple(rest...)));
}

// Whether no side would be taken, without asking the library about the communicator.
template <typename Out, typename In>
bool is_in_vain(const Out& out, const In& in) noexcept {
  if constexpr (requires {
                  out.is_in_vain(Operation::kSend);
                  in.is_in_vain(Operation::kReceive);
                }) {
    return out.is_in_vain(Operation::kSend) && in.is_in_vain(Operation::kReceive);
  } else {
    return false;
  }
}

// Whether a call that is not in a room is the library's, as the gate says where there are no rooms.
template <typename Out, typename In>
bool is_for_library(const Out& out, const In& in) noexcept {
  if constexpr (requires { out.type; }) {
    return !open_to(kCollectiveSwitch, out.type, in.type) || is_never_taken(out.type, in.type) ||
           is_in_vain(out, in);
  } else {
    return !is_open(kCollectiveSwitch);
  }
}

// -1: there is one for each pair.
template <typename Data>
int64_t count_of(const Data& data) noexcept {
  if constexpr (requires { data.count; }) return int64_t{data.count};
  return -1;
}

// What has not been done in a room: whether it is the library's.
template <typename Out, typename In>
bool is_left_to_library(const direct::Call& call, MPI_Comm comm, const Start& start, const Out& out,
                        const In& in) noexcept {
  if (!is_for_library(out, in)) return false;
  if constexpr (requires { out.type; }) {
    if (start.blocking() && receives_direct())
      direct::remember_passed(call, comm, {out.type, count_of(out), in.type, count_of(in)});
  }
  return true;
}

// A whole call with two sides: in a room (in_room.hpp, where `bytes` and `fill` are explained), or
// each side by itself with the shares that `share` asks for.
template <typename Bytes, typename Fill, typename Share, typename Out, typename In, typename Forms,
          typename... Rest>
Answer do_call(const direct::Call& call, MPI_Comm comm, const Bytes& bytes, const Fill& fill,
               const Share& share, const Out& out, const In& in, const Start& start,
               const Forms& forms, Rest... rest) noexcept {
  if (const auto answer = call_in_room(call, comm, start, bytes, fill)) return *answer;
  if (is_left_to_library(call, comm, start, out, in)) return kDeclined;
  return carry_sides(share(), out, in, start, forms, rest...);
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_CARRY_HPP_
