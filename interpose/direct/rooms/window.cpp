// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/window.hpp"

#include <algorithm>
#include <cstring>

#include "base/address.hpp"
#include "exec/copy/copy.hpp"
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

bool is_streamed(const PairData& pair_data, Distance distance) noexcept {
  return distance == Distance::kFar && pair_data.bytes >= kLeastStreamed &&
         depends_on_distance(pair_data.plan != nullptr ? pair_data.plan->machine() : machine());
}

template <bool kPack>
void move(const PairData& pair_data, int64_t begin, int64_t end, std::byte* packed,
          int64_t message) noexcept {
  const Stopwatch watch(pair_data.account, kPack ? Way::kPack : Way::kUnpack);
  const auto bytes = static_cast<size_t>(end - begin);
  if (pair_data.plan != nullptr) {
    move_part<kPack>(*pair_data.plan, pair_data.memory, pair_data.count, begin, end, packed,
                     message);
  } else if (kPack) {
    std::memcpy(packed, pair_data.memory + begin, bytes);
  } else {
    std::memcpy(pair_data.memory + begin, packed, bytes);
  }
}

// Unit in which data are packed or unpacked: a slice that begins at a multiple of it needs no
// search.
int64_t granule_of(const PairData& pair_data, int64_t wanted) noexcept {
  if (pair_data.plan == nullptr || pair_data.bytes <= wanted) return 1;
  return std::max<int64_t>(1, slice_granule(*pair_data.plan, pair_data.count, wanted));
}

}  // namespace

bool describe(const void* place, MPI_Count count, MPI_Datatype datatype,
              PairData* pair_data) noexcept {
  *pair_data = PairData{};
  if (count < 0) return false;
  const TypeRecord* record = type_record(datatype);
  if (record == nullptr) return false;
  if (count == 0 || is_empty(*record)) return true;
  if (!can_be_moved(*record)) return false;
  const void* first = nullptr;
  if (!locate(place, count, *record, &pair_data->bytes, &first) || may_be_on_device(first))
    return false;
  pair_data->plan = record->plan.get();
  pair_data->kept = keep_plan(record->plan);
  pair_data->memory =
      address(const_cast<void*>(place), pair_data->plan != nullptr ? 0 : record->true_lb);
  pair_data->count = count;
  pair_data->account = account_of(*record);
  if (pair_data->plan != nullptr && !(count == 1 && record->single_run))
    pair_data->with_gaps = record;
  return true;
}

void copy_pair_data(const PairData& from, const PairData& to) noexcept {
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

void WindowWriter::plan_for(const PairData& pair_data, int64_t wanted, Distance distance) noexcept {
  data_ = &pair_data;
  sent_ = 0;
  piece_ = whole_granules(wanted, granule_of(pair_data, wanted));
  window_bytes_ = std::min(piece_ * kPiecesInWindow, std::max<int64_t>(pair_data.bytes, 1));
  block_ = 0;
  if (!is_streamed(pair_data, distance)) return;
  const bool is_transposed =
      pair_data.plan != nullptr &&
      pattern_of(pair_data.plan->root(pair_data.count)) == Pattern::kTransposed;
  block_ = is_transposed ? piece_
                         : std::min(piece_, whole_granules(kBlock, granule_of(pair_data, kBlock)));
}

void WindowWriter::allow(Channel* channel, int64_t offset) const noexcept {
  channel->bytes = data_->bytes;
  channel->window = window_bytes_;
  channel->offset = offset;
}

void WindowWriter::open(Channel* channel, std::span<Channel> readers, std::byte* window) noexcept {
  channel_ = channel;
  readers_ = readers;
  window_ = window;
  const int32_t runs = peers_read() ? list_runs(*data_, reinterpret_cast<iovec*>(window),
                                                window_bytes_ / static_cast<int64_t>(sizeof(iovec)))
                                    : 0;
  is_read_ = runs > 0;
  for (Channel& reader : readers) {
    reader.runs = runs;
    reader.sender = own_pid();
  }
}

// The least that any receiver has consumed.
int64_t WindowWriter::consumed() const noexcept {
  int64_t least = data_->bytes;
  for (const Channel& reader : readers_) {
    if (reader.bytes != Channel::kNobody)
      least = std::min(least, reader.consumed.load(std::memory_order_acquire));
  }
  return least;
}

// Whether all receivers have read the listed runs, or were refused.
bool WindowWriter::is_list_done() const noexcept {
  for (const Channel& reader : readers_) {
    if (reader.bytes != Channel::kNobody && reader.refused.load(std::memory_order_acquire) == 0 &&
        reader.consumed.load(std::memory_order_acquire) != data_->bytes) {
      return false;
    }
  }
  return true;
}

void WindowWriter::pack(int64_t begin, int64_t end, std::byte* to, std::byte* side) const noexcept {
  if (block_ == 0 || side == nullptr) {
    move<true>(*data_, begin, end, to, end - begin);
    return;
  }
  const Stopwatch watch(data_->account, Way::kPack);
  if (data_->plan == nullptr) {
    stream_copy(to, data_->memory + begin, end - begin);
    return;
  }
  for (int64_t done = begin; done < end;) {
    const int64_t bytes = std::min(block_, end - done);
    move_part<true>(*data_->plan, data_->memory, data_->count, done, done + bytes, side, bytes);
    stream_copy(to + (done - begin), side, bytes);
    done += bytes;
  }
}

bool WindowWriter::step(std::byte* side) noexcept {
  if (is_read_) {
    if (!is_list_done()) return false;
    is_read_ = false;  // now packs, for receivers that were refused
  }
  const int64_t end = std::min(sent_ + piece_, data_->bytes);
  if (end > window_bytes_ && end - consumed() > window_bytes_) return false;
  pack(sent_, end, window_ + sent_ % window_bytes_, side);
  sent_ = end;
  channel_->published.store(sent_, std::memory_order_release);
  return true;
}

void WindowReader::open(const PairData& pair_data, const Channel* published, Channel* own,
                        const std::byte* payload, Distance distance) noexcept {
  data_ = &pair_data;
  published_ = published;
  channel_ = own;
  window_ = payload + own->offset;
  granule_ = own->bytes > 0 ? granule_of(pair_data, std::min(own->window, own->bytes) / 2) : 1;
  got_ = 0;
  asks_ = distance == Distance::kFar && pair_data.plan != nullptr &&
          should_prefetch(*pair_data.plan, own->bytes);
  reads_ = own->runs > 0;
}

void WindowReader::read() noexcept {
  const Stopwatch watch(data_->account, Way::kUnpack);
  if (read_runs(channel_->sender, reinterpret_cast<const iovec*>(window_),
                std::min(channel_->bytes, data_->bytes), *data_)) {
    got_ = channel_->bytes;
    channel_->consumed.store(got_, std::memory_order_release);
  } else {
    channel_->refused.store(1, std::memory_order_release);
  }
}

bool WindowReader::step() noexcept {
  if (reads_) {
    reads_ = false;
    read();
    return true;
  }
  const int64_t there = published_->published.load(std::memory_order_acquire);
  if (there == got_) return false;
  // Not across the end of the window. The rest of a granule waits for the next step, unless nothing
  // else is there.
  const int64_t wrap = (got_ / channel_->window + 1) * channel_->window;
  int64_t end = std::min(there, wrap);
  const int64_t whole = end / granule_ * granule_;
  if (end < channel_->bytes && end < wrap && whole > got_) end = whole;
  const int64_t fits = std::min(end, data_->bytes);
  if (fits > got_) {
    std::byte* const there_now = const_cast<std::byte*>(window_) + got_ % channel_->window;
    if (asks_) prefetch_lines(there_now, fits - got_);
    move<false>(*data_, got_, fits, there_now, channel_->bytes);
  }
  got_ = end;
  // If the window holds all data, the sender does not read `consumed`.
  if (channel_->bytes > channel_->window) channel_->consumed.store(got_, std::memory_order_release);
  return true;
}

}  // namespace lacuna::direct
