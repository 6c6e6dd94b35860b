// SPDX-License-Identifier: BSD-3-Clause
//
// Flow: what goes from one rank to another in an exchange, through a window of the sender's region.
// The sender packs a piece as soon as there is room for it, the receiver unpacks what is there;
// neither waits here. Or the receiver reads long runs where they are (peer_read.hpp).
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_WINDOW_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_WINDOW_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "interpose/direct/node/distance.hpp"
#include "interpose/direct/node/region.hpp"
#include "interpose/types/record.hpp"

namespace lacuna::direct {

// The data of one rank that go to another, or come from it.
struct Lot {
  const Plan* plan = nullptr;  // null: contiguous
  PlanPtr kept;                // the same
  std::byte* memory = nullptr;
  int64_t count = 0;
  int64_t bytes = 0;
  const TypeRecord* with_gaps = nullptr;  // the type, where the data have gaps
  Account account;
};

// False: only the library can move these, or nobody, as they are a mistake.
bool describe(const void* place, MPI_Count count, MPI_Datatype datatype, Lot* lot) noexcept;

// Of this rank's own data.
void copy_lot(const Lot& from, const Lot& to) noexcept;

// In the sender's region, for one receiver: the sender's half, and the receiver's, on lines of
// their own. Where the same goes to all, it is published on the sender's own lane.
struct Lane {
  alignas(kLine) std::atomic<int64_t> published{0};
  int64_t bytes = kNobody;  // of the whole lot; kNobody: nothing goes this way
  int64_t window = 0;       // whole pieces, or the lot
  int64_t offset = 0;       // of the window, from the region's payload
  int32_t runs = 0;    // to be read where they are; they are listed in the window. 0: it is packed
  int32_t sender = 0;  // its process
  alignas(kLine) std::atomic<int64_t> consumed{0};
  std::atomic<uint32_t> refused{0};  // they could not be read: the sender must pack

  static constexpr int64_t kNobody = -1;
};

// A window has room for this many pieces: fewer of them mean lines that the peer has just read,
// which come back slowly; with 4, 8 and 32 of them a turn of 32^3, 64^3 and 128^3 doubles between
// two ranks took 14.7, 13.6, 15.1 us; 104, 126, 123 us; 1039, 1125, 1019 us (MPICH).
inline constexpr int64_t kPiecesInWindow = 8;

class Outflow {
 public:
  // `wanted`: bytes that are published at once. `distance`: of all that read it.
  void plan_for(const Lot& lot, int64_t wanted, Distance distance) noexcept;
  int64_t window_bytes() const noexcept { return window_bytes_; }
  // Of memory of this process's own that `step` uses, which several may share; 0: none.
  int64_t side_bytes() const noexcept { return block_; }
  // A receiver's lane; the window is that far in the payload.
  void allow(Lane* lane, int64_t offset) const noexcept;
  // What is published on `lane` is for those of `readers` that are allowed it.
  void open(Lane* lane, std::span<Lane> readers, std::byte* window) noexcept;
  bool over() const noexcept { return (is_read_ ? consumed() : sent_) == lot_->bytes; }
  // Whether a piece could go. `side`: null, or as large as all want it.
  bool step(std::byte* side) noexcept;

 private:
  void pack(int64_t begin, int64_t end, std::byte* to, std::byte* side) const noexcept;
  int64_t consumed() const noexcept;
  bool is_list_done() const noexcept;

  const Lot* lot_ = nullptr;
  Lane* lane_ = nullptr;
  std::span<Lane> readers_;
  std::byte* window_ = nullptr;
  int64_t window_bytes_ = 0;
  int64_t piece_ = 0;
  int64_t block_ = 0;  // is packed to the side at once, where it goes past the caches
  int64_t sent_ = 0;
  bool is_read_ = false;
};

// What the sender sends beyond the room that there is for it is let go.
class Inflow {
 public:
  // `published` is the lane that the sender publishes on, `own` the one that is for this rank.
  void open(const Lot& lot, const Lane* published, Lane* own, const std::byte* payload,
            Distance distance) noexcept;
  // Whether the sender knows of this receiver; it does not in a graph that is wrong.
  bool is_expected() const noexcept { return lane_->bytes != Lane::kNobody; }
  bool is_truncated() const noexcept { return lane_->bytes > lot_->bytes; }
  bool over() const noexcept { return got_ >= lane_->bytes; }
  bool step() noexcept;

 private:
  void read() noexcept;

  const Lot* lot_ = nullptr;
  const Lane* published_ = nullptr;
  Lane* lane_ = nullptr;
  const std::byte* window_ = nullptr;
  int64_t granule_ = 0;
  int64_t got_ = 0;
  bool asks_ = false;
  bool reads_ = false;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_WINDOW_HPP_
