// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/window.hpp"

#include <algorithm>
#include <cstring>

#include "base/address.hpp"
#include "exec/copy.hpp"
#include "exec/exec.hpp"
#include "exec/part.hpp"
#include "interpose/direct/arena/nontemporal_copy.hpp"
#include "interpose/direct/arena/prefetch.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/peer_read.hpp"
#include "interpose/library/device.hpp"
#include "interpose/types/packing.hpp"
#include "plan/pattern.hpp"

namespace lacuna::direct {
namespace {

// Between far cores, as in messages (send.cpp): packed into a buffer in L1, in blocks, and copied
// by non-temporal stores (docs/experiments/2026-11-27-room-thresholds.md).
constexpr int64_t kLeastStreamed = 4 << 10;
constexpr int64_t kBlock = 16 << 10;

bool is_streamed(const Lot& lot, Distance distance) noexcept {
  return distance == Distance::kFar && lot.bytes >= kLeastStreamed &&
         minds_distance(lot.plan != nullptr ? lot.plan->machine() : machine());
}

template <bool kPack>
void move(const Lot& lot, int64_t begin, int64_t end, std::byte* packed, int64_t message) noexcept {
  const Stopwatch watch(lot.account, kPack ? Way::kPack : Way::kUnpack);
  const auto bytes = static_cast<size_t>(end - begin);
  if (lot.plan != nullptr) {
    move_part<kPack>(*lot.plan, lot.memory, lot.count, begin, end, packed, message);
  } else if (kPack) {
    std::memcpy(packed, lot.memory + begin, bytes);
  } else {
    std::memcpy(lot.memory + begin, packed, bytes);
  }
}

// Unit in which a lot is packed or unpacked: a slice that begins at a multiple of it needs no
// search.
int64_t granule_of(const Lot& lot, int64_t wanted) noexcept {
  if (lot.plan == nullptr || lot.bytes <= wanted) return 1;
  return std::max<int64_t>(1, slice_granule(*lot.plan, lot.count, wanted));
}

}  // namespace

bool describe(const void* place, MPI_Count count, MPI_Datatype datatype, Lot* lot) noexcept {
  *lot = Lot{};
  if (count < 0) return false;
  const TypeRecord* record = type_record(datatype);
  if (record == nullptr) return false;
  if (count == 0 || is_empty(*record)) return true;
  if (!can_be_moved(*record)) return false;
  const void* first = nullptr;
  if (!locate(place, count, *record, &lot->bytes, &first) || may_be_on_device(first)) return false;
  lot->plan = record->plan.get();
  lot->kept = keep_plan(record->plan);
  lot->memory = address(const_cast<void*>(place), lot->plan != nullptr ? 0 : record->true_lb);
  lot->count = count;
  lot->account = account_of(*record);
  if (lot->plan != nullptr && !(count == 1 && record->single_run)) lot->with_gaps = record;
  return true;
}

void copy_lot(const Lot& from, const Lot& to) noexcept {
  if (from.bytes == 0) return;
  const Stopwatch watch(to.account, Way::kUnpack);
  if (from.plan != nullptr && to.plan != nullptr) {
    copy(*from.plan, from.memory, from.count, *to.plan, to.memory, to.count);
  } else if (from.plan != nullptr) {
    move_part<true>(*from.plan, from.memory, from.count, 0, from.bytes, to.memory, from.bytes);
  } else {
    move<false>(to, 0, to.bytes, from.memory, to.bytes);
  }
}

void Outflow::plan_for(const Lot& lot, int64_t wanted, Distance distance) noexcept {
  lot_ = &lot;
  sent_ = 0;
  piece_ = whole_granules(wanted, granule_of(lot, wanted));
  window_bytes_ = std::min(piece_ * kPiecesInWindow, std::max<int64_t>(lot.bytes, 1));
  block_ = 0;
  if (!is_streamed(lot, distance)) return;
  const bool is_transposed =
      lot.plan != nullptr && pattern_of(lot.plan->root(lot.count)) == Pattern::kTransposed;
  block_ =
      is_transposed ? piece_ : std::min(piece_, whole_granules(kBlock, granule_of(lot, kBlock)));
}

void Outflow::allow(Lane* lane, int64_t offset) const noexcept {
  lane->bytes = lot_->bytes;
  lane->window = window_bytes_;
  lane->offset = offset;
}

void Outflow::open(Lane* lane, std::span<Lane> readers, std::byte* window) noexcept {
  lane_ = lane;
  readers_ = readers;
  window_ = window;
  const int32_t runs = peers_read() ? list_runs(*lot_, reinterpret_cast<iovec*>(window),
                                                window_bytes_ / static_cast<int64_t>(sizeof(iovec)))
                                    : 0;
  is_read_ = runs > 0;
  for (Lane& reader : readers) {
    reader.runs = runs;
    reader.sender = own_pid();
  }
}

// The least that any receiver has consumed.
int64_t Outflow::consumed() const noexcept {
  int64_t least = lot_->bytes;
  for (const Lane& reader : readers_) {
    if (reader.bytes != Lane::kNobody)
      least = std::min(least, reader.consumed.load(std::memory_order_acquire));
  }
  return least;
}

// Whether all receivers have read the listed runs, or were refused.
bool Outflow::is_list_done() const noexcept {
  for (const Lane& reader : readers_) {
    if (reader.bytes != Lane::kNobody && reader.refused.load(std::memory_order_acquire) == 0 &&
        reader.consumed.load(std::memory_order_acquire) != lot_->bytes) {
      return false;
    }
  }
  return true;
}

void Outflow::pack(int64_t begin, int64_t end, std::byte* to, std::byte* side) const noexcept {
  if (block_ == 0 || side == nullptr) {
    move<true>(*lot_, begin, end, to, end - begin);
    return;
  }
  const Stopwatch watch(lot_->account, Way::kPack);
  if (lot_->plan == nullptr) {
    stream_copy(to, lot_->memory + begin, end - begin);
    return;
  }
  for (int64_t done = begin; done < end;) {
    const int64_t bytes = std::min(block_, end - done);
    move_part<true>(*lot_->plan, lot_->memory, lot_->count, done, done + bytes, side, bytes);
    stream_copy(to + (done - begin), side, bytes);
    done += bytes;
  }
}

bool Outflow::step(std::byte* side) noexcept {
  if (is_read_) {
    if (!is_list_done()) return false;
    is_read_ = false;  // now packs, for receivers that were refused
  }
  const int64_t end = std::min(sent_ + piece_, lot_->bytes);
  if (end > window_bytes_ && end - consumed() > window_bytes_) return false;
  pack(sent_, end, window_ + sent_ % window_bytes_, side);
  sent_ = end;
  lane_->published.store(sent_, std::memory_order_release);
  return true;
}

void Inflow::open(const Lot& lot, const Lane* published, Lane* own, const std::byte* payload,
                  Distance distance) noexcept {
  lot_ = &lot;
  published_ = published;
  lane_ = own;
  window_ = payload + own->offset;
  granule_ = own->bytes > 0 ? granule_of(lot, std::min(own->window, own->bytes) / 2) : 1;
  got_ = 0;
  asks_ = distance == Distance::kFar && lot.plan != nullptr && asks_ahead(*lot.plan, own->bytes);
  reads_ = own->runs > 0;
}

void Inflow::read() noexcept {
  const Stopwatch watch(lot_->account, Way::kUnpack);
  if (read_runs(lane_->sender, reinterpret_cast<const iovec*>(window_),
                std::min(lane_->bytes, lot_->bytes), *lot_)) {
    got_ = lane_->bytes;
    lane_->consumed.store(got_, std::memory_order_release);
  } else {
    lane_->refused.store(1, std::memory_order_release);
  }
}

bool Inflow::step() noexcept {
  if (reads_) {
    reads_ = false;
    read();
    return true;
  }
  const int64_t there = published_->published.load(std::memory_order_acquire);
  if (there == got_) return false;
  // Not across the end of the window. The rest of a granule waits for the next step, unless nothing
  // else is there.
  const int64_t wrap = (got_ / lane_->window + 1) * lane_->window;
  int64_t end = std::min(there, wrap);
  const int64_t whole = end / granule_ * granule_;
  if (end < lane_->bytes && end < wrap && whole > got_) end = whole;
  const int64_t fits = std::min(end, lot_->bytes);
  if (fits > got_) {
    std::byte* const there_now = const_cast<std::byte*>(window_) + got_ % lane_->window;
    if (asks_) ask_for(there_now, fits - got_);
    move<false>(*lot_, got_, fits, there_now, lane_->bytes);
  }
  got_ = end;
  // If the window holds the whole lot, the sender does not read `consumed`.
  if (lane_->bytes > lane_->window) lane_->consumed.store(got_, std::memory_order_release);
  return true;
}

}  // namespace lacuna::direct
