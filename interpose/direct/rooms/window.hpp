// SPDX-License-Identifier: BSD-3-Clause
//
// Window: what one rank sends to another in a collective call, through a window of the sender's
// region. The sender packs a piece when there is space in the window; the receiver unpacks what is
// published. Neither waits for the other here. Long runs may be read from the sender's memory
// instead (peer_read.hpp). Data of a device may lie in memory of the device (device/windows.hpp) in
// place of the window.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_WINDOW_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_WINDOW_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "interpose/device/moves.hpp"
#include "interpose/direct/arena/distance.hpp"
#include "interpose/direct/arena/region.hpp"
#include "interpose/direct/rooms/device_batch.hpp"
#include "interpose/types/record.hpp"

namespace lacuna::direct {

// The data that one rank sends to another, or receives from it.
struct PairData {
  const Plan* plan = nullptr;  // null: contiguous
  PlanPtr kept;                // keeps `plan` alive, if there are threads
  std::byte* memory = nullptr;
  int64_t count = 0;
  int64_t bytes = 0;
  // The type, if the data have gaps, or are a device's that the library would read by the CPU.
  const TypeRecord* with_gaps = nullptr;
  Account account;

  bool is_on_device() const noexcept { return account.on_device != 0; }
  device::OnDevice on_device() const noexcept { return {plan, count, memory}; }
  // A byte of them, if they are a device's; else null.
  const void* device_address() const noexcept {
    return is_on_device() ? on_device().first() : nullptr;
  }
};

// False: only the library can move these data, or the arguments are invalid.
bool describe_anywhere(const void* place, MPI_Count count, MPI_Datatype datatype,
                       PairData* pair_data) noexcept;
// False also for data of a device.
bool describe(const void* place, MPI_Count count, MPI_Datatype datatype,
              PairData* pair_data) noexcept;

// Copies what this rank sends to itself.
void copy_pair_data(const PairData& from, const PairData& to) noexcept;
// The same if a device has some of the data. `packed`: memory for the packed form
// (device::borrow_between()). False: a device has failed.
bool copy_by_device(const PairData& from, const PairData& to, std::byte* packed) noexcept;

// The state of the data from one rank to another, in the sender's region; the sender's and the
// receiver's fields are on lines of their own. If the same data go to all, `published` of the
// sender's own channel is used.
struct Channel {
  alignas(kLine) std::atomic<int64_t> published{0};
  int64_t bytes = kNobody;  // of the data; kNobody: nothing goes this way
  int64_t window = 0;       // size of the window: whole pieces, or all data
  int64_t offset = 0;       // of the window in the region's payload
  int32_t runs = 0;         // listed in the window, for the receiver to read; 0: data are packed
  int32_t sender = 0;       // the sender's process id
  // The window of the sender's device that has the data, at the same offset; 0: none.
  uint64_t device_window = 0;
  alignas(kLine) std::atomic<int64_t> consumed{0};
  std::atomic<uint32_t> refused{0};  // 1: the runs could not be read, so the sender must pack

  static constexpr int64_t kNobody = -1;
};

// A window holds so many pieces. With fewer, the sender writes lines that the receiver has just
// read, which is slow (docs/experiments/2026-11-27-room-thresholds.md).
inline constexpr int64_t kPiecesInWindow = 8;

class WindowWriter {
 public:
  // `wanted`: bytes of a piece. `distance`: of the receiver; of all, if all get the same data.
  void plan_for(const PairData& pair_data, int64_t wanted, Distance distance) noexcept;
  int64_t window_bytes() const noexcept { return window_bytes_; }
  // Size of the buffer that step() wants; several writers may share one. 0: none.
  int64_t pack_buffer_bytes() const noexcept { return block_; }
  // Fills in a receiver's channel. `offset`: of the window in the payload.
  void allow(Channel* channel, int64_t offset) const noexcept;
  // Begins to send to those of `readers` whose channels allow() has filled in; progress is
  // published on `channel`. `on_device`: the place in a window of the device that is used instead,
  // if there is one.
  void open(Channel* channel, std::span<Channel> readers, std::byte* window,
            const device::WindowPlace& on_device) noexcept;
  bool is_done() const noexcept { return (is_read_ ? consumed() : sent_) == data_->bytes; }
  // Packs a piece, if there is space; or adds it to the batch, if the data are a device's (null: no
  // data can be). False: nothing was done. `side`: null, or a buffer of the largest
  // pack_buffer_bytes().
  bool step(std::byte* side, DeviceBatch* batch) noexcept;

 private:
  void pack(int64_t begin, int64_t end, std::byte* to, std::byte* side) const noexcept;
  int64_t consumed() const noexcept;
  bool is_list_done() const noexcept;

  const PairData* data_ = nullptr;
  Channel* channel_ = nullptr;
  std::span<Channel> readers_;
  std::byte* window_ = nullptr;
  int64_t window_bytes_ = 0;
  int64_t piece_ = 0;
  int64_t block_ = 0;  // bytes packed into `side` at a time before non-temporal copies; 0: straight
  int64_t sent_ = 0;
  bool is_read_ = false;
};

// Receives from one rank. Data that exceed the receive buffer are discarded.
class WindowReader {
 public:
  // `peer`: the sender. `published`: the channel that it publishes on. `own`: the channel for this
  // rank.
  void open(const PairData& pair_data, uint32_t peer, const Channel* published, Channel* own,
            std::byte* payload, Distance distance) noexcept;
  // Whether the sender sends to this rank. False in an invalid distributed graph.
  bool is_expected() const noexcept { return channel_->bytes != Channel::kNobody; }
  bool is_truncated() const noexcept { return channel_->bytes > data_->bytes; }
  bool is_done() const noexcept { return got_ >= channel_->bytes; }
  // Whether the sender has listed its runs, for this rank to read from its memory.
  bool is_read() const noexcept { return channel_->runs > 0; }
  // Unpacks what has come; or adds it to the batch, if the data are a device's. False: nothing was
  // done.
  bool step(DeviceBatch* batch) noexcept;

 private:
  void read() noexcept;
  void unpack(int64_t end, DeviceBatch* batch) noexcept;

  const PairData* data_ = nullptr;
  uint32_t peer_ = 0;
  const Channel* published_ = nullptr;
  Channel* channel_ = nullptr;
  std::byte* window_ = nullptr;
  int64_t granule_ = 0;
  int64_t got_ = 0;
  bool asks_ = false;
  bool reads_ = false;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_WINDOW_HPP_
