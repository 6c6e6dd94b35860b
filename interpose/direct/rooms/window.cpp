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
  return !pair_data.is_on_device() && distance == Distance::kFar &&
         pair_data.bytes >= kLeastStreamed &&
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

// A piece for a device.
device::Slice slice_of(const PairData& pair_data, int64_t begin, int64_t end,
                       std::byte* packed) noexcept {
  if (is_watched(kReported)) report_device_bytes(pair_data.account, end - begin);
  return {pair_data.on_device(), begin, end, packed};
}

// Unit in which data are packed or unpacked: a slice that begins at a multiple of it needs no
// search. On a device, whole lines: its kernels move words as wide as the ends of a slice permit.
int64_t granule_of(const PairData& pair_data, int64_t wanted) noexcept {
  if (pair_data.is_on_device()) return kLine;
  if (pair_data.plan == nullptr || pair_data.bytes <= wanted) return 1;
  return std::max<int64_t>(1, slice_granule(*pair_data.plan, pair_data.count, wanted));
}

// Sees to it that a device can move these data. False: none can, or not now.
bool prepare_on_device(const void* first, const TypeRecord& record, PairData* pair_data) noexcept {
  DevicePlace place;
  const Where where = where_is(first, &place);
  if (where == Where::kHost) return true;
  if (where == Where::kElsewhere || !is_watched(kDevices) ||
      !device::prepare(place, record.plan, pair_data->count)) {
    return false;
  }
  pair_data->account.on_device = 1;
  return true;
}

}  // namespace

bool describe_anywhere(const void* place, MPI_Count count, MPI_Datatype datatype,
                       PairData* pair_data) noexcept {
  *pair_data = PairData{};
  if (count < 0) return false;
  const TypeRecord* record = type_record(datatype);
  if (record == nullptr) return false;
  if (count == 0 || is_empty(*record)) return true;
  if (!can_be_moved(*record)) return false;
  const void* first = nullptr;
  if (!locate(place, count, *record, &pair_data->bytes, &first)) return false;
  pair_data->plan = record->plan.get();
  pair_data->kept = keep_plan(record->plan);
  pair_data->memory =
      address(const_cast<void*>(place), pair_data->plan != nullptr ? 0 : record->true_lb);
  pair_data->count = count;
  pair_data->account = account_of(*record);
  if (may_be_on_device(first) && !prepare_on_device(first, *record, pair_data)) return false;
  const bool is_moved =
      pair_data->is_on_device() ? is_moved_on_device(*record, count) : !is_one_run(*record, count);
  if (is_moved) pair_data->with_gaps = record;
  return true;
}

bool copy_by_device(const PairData& from, const PairData& to, std::byte* packed) noexcept {
  const auto move_all = [packed]<bool kPack>(const PairData& pair_data) {
    if (pair_data.is_on_device())
      return device::move_slice(kPack, slice_of(pair_data, 0, pair_data.bytes, packed));
    move<kPack>(pair_data, 0, pair_data.bytes, packed, pair_data.bytes);
    return true;
  };
  return move_all.template operator()<true>(from) && move_all.template operator()<false>(to);
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

bool describe(const void* place, MPI_Count count, MPI_Datatype datatype,
              PairData* pair_data) noexcept {
  return describe_anywhere(place, count, datatype, pair_data) && !pair_data->is_on_device();
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

void WindowWriter::open(Channel* channel, std::span<Channel> readers, std::byte* window,
                        const device::WindowPlace& on_device) noexcept {
  channel_ = channel;
  readers_ = readers;
  window_ = on_device.begin != nullptr ? on_device.begin : window;
  const bool lists = peers_read() && !data_->is_on_device();
  const int32_t runs = lists ? list_runs(*data_, reinterpret_cast<iovec*>(window),
                                         window_bytes_ / static_cast<int64_t>(sizeof(iovec)))
                             : 0;
  is_read_ = runs > 0;
  for (Channel& reader : readers) {
    reader.runs = runs;
    reader.device_window = on_device.window;
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

bool WindowWriter::step(std::byte* side, DeviceBatch* batch) noexcept {
  if (is_read_) {
    if (!is_list_done()) return false;
    is_read_ = false;  // now packs, for receivers that were refused
  }
  const int64_t end = std::min(sent_ + piece_, data_->bytes);
  if (end > window_bytes_ && end - consumed() > window_bytes_) return false;
  std::byte* const to = window_ + sent_ % window_bytes_;
  if (data_->is_on_device()) {
    batch->add(slice_of(*data_, sent_, end, to), &channel_->published, end);
  } else {
    pack(sent_, end, to, side);
    channel_->published.store(end, std::memory_order_release);
  }
  sent_ = end;
  return true;
}

void WindowReader::open(const PairData& pair_data, uint32_t peer, const Channel* published,
                        Channel* own, std::byte* payload, Distance distance) noexcept {
  data_ = &pair_data;
  peer_ = peer;
  published_ = published;
  channel_ = own;
  window_ = payload + own->offset;
  granule_ = own->bytes > 0 ? granule_of(pair_data, std::min(own->window, own->bytes) / 2) : 1;
  got_ = 0;
  asks_ = distance == Distance::kFar && pair_data.plan != nullptr && !pair_data.is_on_device() &&
          should_prefetch(*pair_data.plan, own->bytes);
  reads_ = own->runs > 0;
}

void WindowReader::read() noexcept {
  const Stopwatch watch(data_->account, Way::kUnpack);
  if (!data_->is_on_device() && read_runs(channel_->sender, reinterpret_cast<const iovec*>(window_),
                                          std::min(channel_->bytes, data_->bytes), *data_)) {
    got_ = channel_->bytes;
    channel_->consumed.store(got_, std::memory_order_release);
  } else {
    channel_->refused.store(1, std::memory_order_release);
  }
}

// From the window, as far as the data fit.
void WindowReader::unpack(int64_t end, DeviceBatch* batch) noexcept {
  const int64_t fits = std::min(end, data_->bytes);
  const int64_t bytes = fits - got_;
  // If the window holds all data, the sender does not read `consumed`.
  std::atomic<int64_t>* const consumed =
      channel_->bytes > channel_->window ? &channel_->consumed : nullptr;
  std::byte* from = window_ + got_ % channel_->window;
  if (bytes > 0 && channel_->device_window != 0)
    from = device::find_in_window(peer_, channel_->device_window, from, bytes,
                                  data_->device_address());
  if (from == nullptr) {
    batch->fail();
  } else if (bytes > 0 && data_->is_on_device()) {
    batch->add(slice_of(*data_, got_, fits, from), consumed, end);
    return;
  } else if (bytes > 0) {
    if (asks_) prefetch_lines(from, bytes);
    move<false>(*data_, got_, fits, from, channel_->bytes);
  }
  if (consumed != nullptr) consumed->store(end, std::memory_order_release);
}

bool WindowReader::step(DeviceBatch* batch) noexcept {
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
  const bool is_last = end == channel_->bytes || end == wrap;
  // A device unpacks half a window at a time, as each time takes a launch and a wait.
  if (data_->is_on_device() && !is_last && end - got_ < channel_->window / 2) return false;
  if (!is_last && whole > got_) end = whole;
  unpack(end, batch);
  got_ = end;
  if (is_done() && data_->is_on_device() && channel_->device_window == 0)
    device::received_from(peer_, data_->device_address());
  return true;
}

}  // namespace lacuna::direct
