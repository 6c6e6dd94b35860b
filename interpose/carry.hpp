// SPDX-License-Identifier: BSD-3-Clause
//
// What all collectives have in common: the arguments of a side in their three forms, which replace
// themselves where lacuna takes the side, and doing the call, blocking or not.
#ifndef LACUNA_INTERPOSE_CARRY_HPP_
#define LACUNA_INTERPOSE_CARRY_HPP_

#include <type_traits>
#include <utility>

#include "interpose/collectives.hpp"
#include "interpose/exchange.hpp"
#include "interpose/group.hpp"
#include "interpose/requests.hpp"

namespace lacuna {

// The int or the large-count form of a function.
template <typename Count, typename Small, typename Large>
auto form_of(Small small, Large large) noexcept {
  if constexpr (std::is_same_v<Count, int>) {
    return small;
  } else {
    return large;
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

// The shares of this rank in each pattern. `in_place` is the buffer that may be MPI_IN_PLACE.
// False: `answer` is the answer.
bool share_gather(const void* in_place, int root, MPI_Comm comm, const Start& start, Share* gives,
                  Share* gets, Answer* answer) noexcept;
bool share_scatter(const void* in_place, int root, MPI_Comm comm, const Start& start, Share* gives,
                   Share* gets, Answer* answer) noexcept;
bool share_allgather(const void* in_place, MPI_Comm comm, const Start& start, Share* gives,
                     Share* gets, Answer* answer) noexcept;
bool share_alltoall(const void* in_place, MPI_Comm comm, const Start& start, Share* gives,
                    Share* gets, Answer* answer) noexcept;

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

// Moves the exchange to where it lives until the call has completed. nullptr: no memory.
PendingRequest* new_pending_exchange(Exchange* exchange) noexcept;
// After the library has started it, or not. The code that the program gets.
int settle_started(PendingRequest* entry, MPI_Request started, MPI_Request* request,
                   int code) noexcept;

// Does the call. `call` has what the sides have become and gets a request, or nullptr for the
// blocking form.
template <typename Call>
Answer carry(Exchange* exchange, const Start& start, const Call& call) noexcept {
  if (!exchange->out.taken() && !exchange->in.taken()) return kDeclined;
  if (start.blocking()) {
    const int code = call(nullptr);
    if (code == MPI_SUCCESS && exchange->in.comes_in()) exchange->in.unpack_all();
    return taken(code);
  }
  PendingRequest* entry = new_pending_exchange(exchange);
  if (entry == nullptr) return kDeclined;
  MPI_Request started = MPI_REQUEST_NULL;
  const int code = call(&started);
  return taken(settle_started(entry, started, start.request(), code));
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_CARRY_HPP_
