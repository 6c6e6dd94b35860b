// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/between_nodes/exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/address.hpp"
#include "exec/part.hpp"
#include "interpose/direct/node/waits.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/memory/staging.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna::direct {
namespace {

// So many flows (data from one rank to another) each way at a time, each with so many pieces on
// their way. All ranks begin flows in the same order, so the first that is not complete is under
// way at both of its ends.
constexpr int kFlows = 4;
constexpr int kPieces = 8;

// Data from this rank to another, or from another to this one. Pieces go in order.
template <bool kSends>
class Flow {
 public:
  // `ring`: memory for kPieces pieces of data with gaps; not used for data without.
  void start(const PairData& pair_data, int rank, int tag, std::byte* ring) noexcept {
    data_ = &pair_data;
    rank_ = rank;
    tag_ = tag;
    ring_ = ring;
    pieces_ = (pair_data.bytes + size() - 1) / size();
    posted_ = done_ = 0;
  }
  bool is_over() const noexcept { return done_ == pieces_; }
  // Ends the pieces that are complete, and begins at most one. False: nothing was done.
  bool step(int* error_class) noexcept {
    const int64_t before = done_ + posted_;
    while (done_ < posted_ && end_one(error_class)) {
    }
    if (posted_ < pieces_ && posted_ < done_ + kPieces) begin_one(error_class);
    return done_ + posted_ != before;
  }

 private:
  static int64_t size() noexcept { return pipeline().piece_bytes; }
  int64_t begin(int64_t piece) const noexcept { return piece * size(); }
  int64_t end(int64_t piece) const noexcept { return std::min(data_->bytes, begin(piece + 1)); }
  std::byte* place(int64_t piece) const noexcept {
    return data_->plan == nullptr ? data_->memory + begin(piece) : ring_ + piece % kPieces * size();
  }

  void move(int64_t piece, int64_t bytes) const noexcept {
    if (data_->plan == nullptr || bytes == 0) return;
    const Stopwatch watch(data_->account, kSends ? Way::kPack : Way::kUnpack);
    move_part<kSends>(*data_->plan, data_->memory, data_->count, begin(piece), begin(piece) + bytes,
                      place(piece), data_->bytes);
  }

  void begin_one(int* error_class) noexcept {
    const Next& next = next_functions();
    const auto bytes = static_cast<int>(end(posted_) - begin(posted_));
    MPI_Request* const request = &requests_[posted_ % kPieces];
    int code = MPI_SUCCESS;
    if constexpr (kSends) {
      move(posted_, bytes);
      code = next.MPI_Isend(place(posted_), bytes, runtime().byte, rank_, tag_, pipeline().comm,
                            request);
    } else {
      code = next.MPI_Irecv(place(posted_), bytes, runtime().byte, rank_, tag_, pipeline().comm,
                            request);
    }
    ++posted_;
    if (code == MPI_SUCCESS) return;
    *request = runtime().request_null;
    *error_class = MPI_ERR_OTHER;
  }

  bool end_one(int* error_class) noexcept {
    MPI_Status status;
    int is_complete = 0;
    MPI_Request* const request = &requests_[done_ % kPieces];
    const bool is_posted = *request != runtime().request_null;
    const int code = next_functions().MPI_Test(request, &is_complete, &status);
    if (code == MPI_SUCCESS && is_complete == 0) return false;
    if (code != MPI_SUCCESS) {
      next_functions().MPI_Error_class(code, error_class);
    } else if (!kSends && is_posted) {
      const int64_t wanted = end(done_) - begin(done_);
      MPI_Count received = 0;
      next_functions().MPI_Get_elements_x(&status, runtime().byte, &received);
      move(done_, std::min<int64_t>(received, wanted));
      if (received < wanted) drop_rest();  // a wrong program: the sender has sent less
    }
    if (done_ < pieces_) ++done_;
    return true;
  }

  // Nothing more will come.
  void drop_rest() noexcept {
    for (int64_t piece = done_ + 1; piece < posted_; ++piece) {
      MPI_Request* const request = &requests_[piece % kPieces];
      next_functions().MPI_Cancel(request);
      next_functions().MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    pieces_ = posted_ = done_;
  }

  const PairData* data_ = nullptr;
  int rank_ = 0;
  int tag_ = 0;
  std::byte* ring_ = nullptr;
  int64_t pieces_ = 0;
  int64_t posted_ = 0;
  int64_t done_ = 0;
  MPI_Request requests_[kPieces] = {};
};

// All flows of a call one way, some at a time: to the next rank first, and from the one before
// first.
template <bool kSends>
class Flows {
 public:
  Flows(const NodesComm& nodes, std::byte* rings) noexcept : nodes_(nodes), rings_(rings) {}

  // False: nothing was done.
  bool step(int* error_class) noexcept {
    bool moved = false;
    for (size_t i = 0; i < kFlows; ++i) {
      if (flows_[i].is_over() && !start_next(i)) continue;
      moved = flows_[i].step(error_class) || moved;
    }
    return moved;
  }
  bool is_over() const noexcept {
    return distance_ >= nodes_.room.members.size() &&
           std::all_of(flows_.begin(), flows_.end(),
                       [](const auto& flow) { return flow.is_over(); });
  }

 private:
  bool start_next(size_t i) noexcept {
    const Room& room = nodes_.room;
    const size_t size = room.members.size();
    while (distance_ < size) {
      const size_t distance = distance_++;
      const size_t at = (room.rank + (kSends ? distance : size - distance)) % size;
      const Member& member = room.members[at];
      const PairData& pair_data = kSends ? member.out : member.in;
      if (!(kSends ? member.sends_to : member.receives_from) || pair_data.bytes == 0) continue;
      const auto ring = static_cast<int64_t>(i) * kPieces * pipeline().piece_bytes;
      flows_[i].start(pair_data, nodes_.world[at], nodes_.tag, rings_ + ring);
      return true;
    }
    return false;
  }

  const NodesComm& nodes_;
  std::byte* const rings_;
  size_t distance_ = 1;
  std::array<Flow<kSends>, kFlows> flows_;
};

int64_t ring_bytes() noexcept { return kFlows * kPieces * pipeline().piece_bytes; }

int run(const NodesComm& nodes, std::byte* rings) noexcept {
  int error_class = MPI_SUCCESS;
  Flows<true> out(nodes, rings);
  Flows<false> in(nodes, rings + ring_bytes());
  const ListedWait note("collective call: until all pieces between nodes have come");
  const Member& self = nodes.room.members[nodes.room.rank];
  bool is_copied = false;
  while (!out.is_over() || !in.is_over()) {
    const bool has_received = in.step(&error_class);  // first, so that pieces find their receives
    const bool has_sent = out.step(&error_class);
    if (has_received || has_sent) continue;
    if (!is_copied && self.sends_to) copy_pair_data(self.out, self.in);
    if (std::exchange(is_copied, true)) sched_yield();
  }
  if (!is_copied && self.sends_to) copy_pair_data(self.out, self.in);
  return error_class;
}

// Calls `function` for all data that this rank exchanges with others.
template <typename Function>
void for_each_pair_data(const Room& room, const Function& function) noexcept {
  for (const Member& member : room.members) {
    if (member.sends_to) function(member.out);
    if (member.receives_from) function(member.in);
  }
}

bool pays_in_pieces(const PairData& data) noexcept {
  if (data.with_gaps == nullptr || data.bytes == 0) return false;
  const Runtime& rt = runtime();
  return rt.always || lacuna::pays_in_pieces(rt.flavour, *rt.messages,
                                             shape_of(*data.with_gaps, data.count, data.bytes));
}

}  // namespace

bool exchange_between_nodes(MPI_Comm comm, NodesComm* nodes, const Call& call, bool willing,
                            int* error_class) noexcept {
  const Room& room = nodes->room;
  const Member& self = room.members[room.rank];
  willing = willing && (!self.sends_to || self.out.bytes == self.in.bytes);
  const Staging rings = willing ? borrow_staging(2 * ring_bytes(), true) : Staging();
  Wish wish = rings ? Wish::kIndifferent : Wish::kNo;
  if (rings) {
    for_each_pair_data(room, [&](const PairData& pair_data) {
      if (pays_in_pieces(pair_data)) wish = Wish::kYes;
    });
  }
  if (!vote(comm, nodes, call.kind, wish)) return false;
  for_each_pair_data(room, [](const PairData& pair_data) {
    if (pair_data.with_gaps != nullptr)
      log_type(*pair_data.with_gaps, Outcome::kPipelined, pair_data.bytes);
  });
  *error_class = run(*nodes, rings.data());
  return true;
}

}  // namespace lacuna::direct
