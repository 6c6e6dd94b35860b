// SPDX-License-Identifier: BSD-3-Clause
//
// DeviceBatch: pieces of a collective call that a device packs, or unpacks, together: in as few
// launches as can be, and with one wait (device/moves.hpp).
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_DEVICE_BATCH_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_DEVICE_BATCH_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "interpose/device/moves.hpp"

namespace lacuna::direct {

class DeviceBatch {
 public:
  explicit DeviceBatch(bool packs) noexcept : packs_(packs) {}

  // `progress` becomes `bytes` when the slice has been moved. Null: nobody waits for it.
  void add(const device::Slice& slice, std::atomic<int64_t>* progress, int64_t bytes) noexcept {
    if (count_ == kMost) run();
    slices_[count_] = slice;
    progress_[count_++] = {progress, bytes};
  }
  void fail() noexcept { has_failed_ = true; }
  // Moves all. False: a device has failed, now or before.
  bool run() noexcept {
    if (count_ == 0) return !has_failed_;
    const size_t count = std::exchange(count_, 0);
    if (has_failed_ || !device::move_slices(packs_, {slices_, count})) {
      has_failed_ = true;
      return false;
    }
    for (size_t i = 0; i < count; ++i)
      if (progress_[i].of != nullptr)
        progress_[i].of->store(progress_[i].bytes, std::memory_order_release);
    return true;
  }

 private:
  struct Progress {
    std::atomic<int64_t>* of;
    int64_t bytes;
  };
  static constexpr size_t kMost = 16;  // what the stack has room for; add() sets them
  device::Slice slices_[kMost];
  Progress progress_[kMost];
  size_t count_ = 0;
  const bool packs_;
  bool has_failed_ = false;
};

// Of a call. Null instead: no data can be a device's. Then no stack is taken for it.
struct DeviceBatches {
  DeviceBatch packs{true};
  DeviceBatch unpacks{false};

  // False: a device has failed.
  bool run() noexcept { return packs.run() && unpacks.run(); }
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_DEVICE_BATCH_HPP_
