// SPDX-License-Identifier: BSD-3-Clause
//
// What lacuna has in a CUDA context: a stream, plans, and pinned memory. It is made when the first
// data in the context's memory are met, and never taken down: at the end of the process nobody
// knows whether the driver still works.
#ifndef LACUNA_INTERPOSE_DEVICE_CONTEXT_HPP_
#define LACUNA_INTERPOSE_DEVICE_CONTEXT_HPP_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "interpose/device/arenas.hpp"
#include "interpose/device/driver.hpp"
#include "interpose/device/packed_memory.hpp"
#include "interpose/device/slice.hpp"
#include "interpose/library/device.hpp"
#include "plan/plan.hpp"

namespace lacuna::device {

// A value that is never destroyed: calls may come while the process ends.
template <typename T>
union ForEver {
  ForEver() noexcept : value() {}
  ~ForEver() {}
  T value;
};

class Context;

// Makes a context the current one of this thread, and lets the driver do what it forbids while any
// stream of the program is captured. Not one that is gone: CUDA's driver would take it, and a call
// with a stream of it may then crash.
class Scope {
 public:
  explicit Scope(const Context& context) noexcept;
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  bool is_in() const noexcept { return is_in_; }

 private:
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
  bool is_in_;
};

class Context {
 public:
  Context(void* handle, unsigned long long number, int ordinal)
      : handle_(handle), number_(number), ordinal_(ordinal) {}

  // Whether this is a handle's context, and not a former one with the same handle.
  bool is(void* handle, unsigned long long number) const {
    return handle_ == handle && number_ == number;
  }
  bool is_of(int ordinal) const { return ordinal_ == ordinal; }
  void* handle() const { return handle_; }
  int ordinal() const { return ordinal_; }
  // A number of the device that is the same in all processes. 0: unknown.
  uint64_t device() const { return device_; }
  // Whether kernels of several processes run on it at a time (NVIDIA's MPS). Else they take turns.
  bool runs_several() const { return runs_several_; }
  // Whether it still exists: not after a reset of the device, for example.
  bool is_alive() const noexcept;
  // Whether this is a later one with the same handle: then the former one is gone.
  bool replaces(const Context& other) const {
    return handle_ == other.handle_ && number_ != other.number_;
  }
  // Makes what every move needs. False: the driver refuses, or there is no memory now.
  bool open() noexcept;
  bool is_open() const noexcept { return bounce_ != nullptr; }
  // Gives back what is not the context's own, once it is gone.
  void retire() noexcept;
  // Whether work may be enqueued now: not while a stream that waits for the default one is
  // captured.
  bool is_free() noexcept;
  bool make_plan(const PlanPtr& plan, int64_t count) noexcept;
  PackedMemory* lend(int64_t bytes, Lies where) noexcept;

  // Whether the device can use this memory of an arena itself. Pins it if needed.
  bool reaches(const std::byte* in_arena, int64_t bytes) noexcept;

  // Moves at most kMostAtOnce slices, and waits once for them; those through bounce_ one by one.
  bool move(bool packs, std::span<const Slice> slices, std::span<const Packed> places) noexcept;
  static constexpr size_t kMostAtOnce = 64;  // fewer than plans are kept
  bool copy(void* to, const void* from, int64_t bytes) noexcept;
  // From memory of a device to any memory of the host.
  bool copy_to_host(std::byte* to, const std::byte* from, int64_t bytes) noexcept;

 private:
  // Plans of one type and count, in the order of their last use. `kept` keeps the address of the
  // plan from becoming another one's.
  struct Entry {
    PlanPtr kept;
    int64_t count;
    lacuna_gpu_plan* plan;
    uint64_t used;
  };
  lacuna_gpu_plan* find(const Plan& plan, int64_t count) noexcept;
  void identify_device() noexcept;
  bool enqueue(bool packs, const lacuna_gpu_plan* plan, const Slice& slice) noexcept;
  bool enqueue_copy(void* to, const void* from, int64_t bytes) noexcept;
  bool wait() noexcept;
  bool through_bounce(bool packs, const lacuna_gpu_plan* plan, Slice slice) noexcept;
  bool use_arena_for(const Slice& slice) noexcept;
  bool move_one(bool packs, const Slice& slice, Packed place, bool fuses) noexcept;
  bool enqueue_fused(bool packs) noexcept;

  void* const handle_;
  const unsigned long long number_;
  const int ordinal_;  // of the device
  uint64_t device_ = 0;
  bool runs_several_ = false;
  std::mutex mutex_;  // one thread at a time moves data
  void* stream_ = nullptr;
  std::vector<Entry> plans_;
  PackedMemory* bounce_ = nullptr;
  uint64_t clock_ = 0;
  // Of the move that is under way: messages for one launch, and the arenas that are used.
  lacuna_gpu_message fused_[kMostAtOnce];
  size_t fused_count_ = 0;
  ArenaUse uses_[kMostAtOnce];
  size_t use_count_ = 0;
};

// The context of a place; made at first. Null: none that lacuna can use.
Context* context_of(const DevicePlace& place) noexcept;

// Some context of a device. If lacuna knows none, the primary one is used as long as this exists.
class SomeContext {
 public:
  explicit SomeContext(int ordinal) noexcept;
  ~SomeContext();
  SomeContext(const SomeContext&) = delete;
  SomeContext& operator=(const SomeContext&) = delete;
  Context* get() const noexcept { return found_; }  // null: there is none

 private:
  Context* found_ = nullptr;
  int retained_ = -1;
};

}  // namespace lacuna::device

#endif  // LACUNA_INTERPOSE_DEVICE_CONTEXT_HPP_
