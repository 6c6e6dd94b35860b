// SPDX-License-Identifier: BSD-3-Clause
//
// Flow: what goes from one rank to another in an exchange, through a window of the sender's region.
// The sender packs a piece as soon as there is room for it, the receiver unpacks what is there;
// neither waits here. Or the receiver reads long runs where they are (reading.hpp).
#ifndef LACUNA_INTERPOSE_DIRECT_FLOW_HPP_
#define LACUNA_INTERPOSE_DIRECT_FLOW_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/direct/region.hpp"
#include "interpose/types.hpp"

namespace lacuna::direct {

// The data of one rank that go to another, or come from it.
struct Lot {
  const Plan* plan = nullptr;  // null: contiguous. The type's own: it lives until the call ends
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

// In the sender's region: its half, and the receiver's, on lines of their own.
struct Lane {
  alignas(kLine) std::atomic<int64_t> published;
  int64_t bytes;   // of the whole lot
  int64_t window;  // whole pieces, or the lot
  int64_t offset;  // of the window, from the region's payload
  int32_t runs;    // to be read where they are; they are listed in the window. 0: it is packed
  int32_t sender;  // its process
  alignas(kLine) std::atomic<int64_t> consumed;
  std::atomic<uint32_t> refused;  // they could not be read: the sender must pack
};

class Outflow {
 public:
  void plan_for(const Lot& lot) noexcept;
  int64_t window_bytes() const noexcept { return window_bytes_; }
  void open(Lane* lane, std::byte* payload, int64_t offset) noexcept;
  bool over() const noexcept {
    return (is_read_ ? lane_->consumed.load(std::memory_order_acquire) : sent_) == lot_->bytes;
  }
  // Whether a piece could go.
  bool step() noexcept;

 private:
  const Lot* lot_ = nullptr;
  Lane* lane_ = nullptr;
  std::byte* window_ = nullptr;
  int64_t window_bytes_ = 0;
  int64_t piece_ = 0;
  int64_t sent_ = 0;
  bool is_read_ = false;
};

// What the sender sends beyond the room that there is for it is let go.
class Inflow {
 public:
  void open(const Lot& lot, Lane* lane, const std::byte* payload) noexcept;
  bool is_truncated() const noexcept { return lane_->bytes > lot_->bytes; }
  bool over() const noexcept { return got_ == lane_->bytes; }
  bool step() noexcept;

 private:
  void read() noexcept;

  const Lot* lot_ = nullptr;
  Lane* lane_ = nullptr;
  const std::byte* window_ = nullptr;
  int64_t granule_ = 0;
  int64_t got_ = 0;
  bool reads_ = false;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_FLOW_HPP_
