// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/peer_read.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>

#include "base/address.hpp"
#include "exec/cursor.hpp"
#include "exec/part.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/library/staging.hpp"

namespace lacuna::direct {
namespace {

// The system takes its time for each page and each run. Microseconds of an exchange between two
// ranks on Granite Rapids, by two copies / read, runs of 1, 2, 4 and 16 KiB at odd places: 48 KiB
// 15 / 8.7, 14 / 5.1, 12 / 4.4, 10 / 3.2; 192 KiB 26 / 32, 25 / 18, 24 / 15, 22 / 10; 768 KiB 142 /
// 196, 122 / 130, 108 / 98, 96 / 60; 3 MiB 667 / 997, 610 / 661, 515 / 517, 471 / 359.
constexpr double kLeastRun = 4096;
constexpr int64_t kLeastBytes = 8192;
constexpr double kLeastRunOfFew = 2048;
constexpr int64_t kFewBytes = 256 << 10;
// Where it need not pay.
constexpr double kShortestRun = 64;

// Of one call of the system.
constexpr size_t kMostRuns = 64;
// Where runs are short on this side, they are unpacked from a buffer that stays in the cache.
constexpr int64_t kAside = 64 << 10;

// Whoever has been refused once does not try again.
constinit std::atomic<bool> g_refused{false};

bool is_run(const Lot& lot) noexcept { return lot.plan == nullptr || lot.plan->is_run(lot.count); }

std::byte* first_byte(const Lot& lot) noexcept {
  return address(lot.memory, lot.plan != nullptr ? lot.plan->offset() : 0);
}

bool has_long_runs(const Lot& lot) noexcept {
  return is_run(lot) || lot.plan->mean_run_bytes() >= (runtime().always ? kShortestRun : kLeastRun);
}

// One run, seen as a Cursor sees several.
class Straight {
 public:
  Straight(std::byte* at, int64_t bytes) noexcept : at_(at), left_(bytes) {}
  bool valid() const noexcept { return left_ > 0; }
  std::byte* at() const noexcept { return at_; }
  int64_t left() const noexcept { return left_; }
  void advance(int64_t bytes) noexcept {
    at_ += bytes;
    left_ -= bytes;
  }

 private:
  std::byte* at_;
  int64_t left_;
};

// A peer's runs.
class Theirs {
 public:
  explicit Theirs(const iovec* runs) noexcept : run_(runs), left_(length(*runs)) {}
  std::byte* at() const noexcept { return static_cast<std::byte*>(run_->iov_base) + past(); }
  int64_t left() const noexcept { return left_; }
  // Not behind the last one, unless nothing is asked then.
  void advance(int64_t bytes, bool more) noexcept {
    left_ -= bytes;
    if (left_ == 0 && more) left_ = length(*++run_);
  }

 private:
  static int64_t length(const iovec& run) noexcept { return static_cast<int64_t>(run.iov_len); }
  int64_t past() const noexcept { return length(*run_) - left_; }

  const iovec* run_;
  int64_t left_;
};

// One side of a call of the system.
struct Batch {
  iovec runs[kMostRuns];
  size_t count = 0;

  bool is_full() const noexcept { return count == kMostRuns; }
  void add(std::byte* at, int64_t bytes) noexcept {
    const auto length = static_cast<size_t>(bytes);
    if (count > 0) {
      iovec& last = runs[count - 1];
      if (static_cast<std::byte*>(last.iov_base) + last.iov_len == at) {
        last.iov_len += length;
        return;
      }
    }
    runs[count++] = {at, length};
  }
};

// Not inlined: two batches are 2 KiB of the stack.
template <typename Ours>
[[gnu::noinline]] bool read(int32_t pid, Theirs* from, Ours* to, int64_t bytes) noexcept {
  while (bytes > 0) {
    Batch theirs;
    Batch ours;
    int64_t asked = 0;
    while (asked < bytes && !theirs.is_full() && !ours.is_full()) {
      if (!to->valid()) return false;  // nested deeper than it can follow
      const int64_t piece = std::min({from->left(), to->left(), bytes - asked});
      theirs.add(from->at(), piece);
      ours.add(to->at(), piece);
      asked += piece;
      from->advance(piece, asked < bytes);
      to->advance(piece);
    }
    if (process_vm_readv(pid, ours.runs, ours.count, theirs.runs, theirs.count, 0) != asked)
      return false;
    bytes -= asked;
  }
  return true;
}

bool read_aside(int32_t pid, Theirs* from, int64_t bytes, const Lot& lot) noexcept {
  const Staging aside = borrow_staging(std::min(bytes, kAside), true);
  if (!aside) return false;
  for (int64_t begin = 0; begin < bytes; begin += kAside) {
    const int64_t end = std::min(bytes, begin + kAside);
    Straight to(aside.data(), end - begin);
    if (!read(pid, from, &to, end - begin)) return false;
    move_part<false>(*lot.plan, lot.memory, lot.count, begin, end, aside.data(), bytes);
  }
  return true;
}

}  // namespace

bool can_read(int32_t pid, uint64_t place, const void* same, int64_t bytes) noexcept {
  std::byte found[64];
  const auto length = static_cast<size_t>(bytes);
  const iovec here{found, length};
  const iovec there{reinterpret_cast<void*>(place), length};
  return length <= sizeof(found) && process_vm_readv(pid, &here, 1, &there, 1, 0) == bytes &&
         std::memcmp(found, same, length) == 0;
}

// 64 KiB in runs of 4 KiB, over the time of a copy from and to memory in the cache: 9 to 14 in a
// guest on Zen 5, where exchanges that read took 2.5 to 5 times as long as those of two copies.
//
// Where reading is as good: two cores that exchange 64 KiB through shared memory, both packing,
// then both unpacking, took 7.5 such copies there (128 to 512 KiB 7.2 to 6.0), as each line changes
// caches twice, once for whoever writes it and once for whoever reads it. Both reading at once took
// 0.6 copies more than one alone that reads what nobody writes, as here; and 4 more where each had
// just written what the other one reads, as programs have that exchange (3 more from 128 KiB on):
// these lines change caches, too. So what is tried here may take 7.5 - 4 to 7.5 - 0.6 copies. (On
// Granite Rapids, where reading won, 64 KiB took 5.2 us; how many copies that is was not asked.)
bool is_fast_to_read(int32_t pid, uint64_t place, const std::byte* same) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr int kTries = 5;
  constexpr int kMostTimes = 4;
  constexpr int64_t kRun = 4096;
  const Staging aside = borrow_staging(kSampleBytes, false);
  if (!aside) return false;
  iovec here{aside.data(), static_cast<size_t>(kSampleBytes)};
  iovec there[kSampleBytes / kRun];
  const auto run_at = [](int64_t i) { return i * kRun * 5 % kSampleBytes; };  // none behind another
  for (int64_t i = 0; i < kSampleBytes / kRun; ++i) {
    const uint64_t at = place + static_cast<uint64_t>(run_at(i));
    there[i] = {reinterpret_cast<void*>(at), static_cast<size_t>(kRun)};
  }
  auto reading = Clock::duration::max();
  auto copying = Clock::duration::max();
  for (int i = 0; i < kTries; ++i) {
    const auto begin = Clock::now();
    if (process_vm_readv(pid, &here, 1, there, std::size(there), 0) != kSampleBytes) return false;
    const auto middle = Clock::now();
    for (int64_t k = 0; k < kSampleBytes / kRun; ++k)
      std::memcpy(aside.data() + k * kRun, same + run_at(k), static_cast<size_t>(kRun));
    asm volatile("" : : "r"(aside.data()) : "memory");
    reading = std::min(reading, middle - begin);
    copying = std::min(copying, Clock::now() - middle);
  }
  return reading <= kMostTimes * copying;
}

int32_t list_runs(const Lot& lot, iovec* runs, int64_t most) noexcept {
  if (!has_long_runs(lot) || most == 0 || (lot.bytes < kLeastBytes && !runtime().always) ||
      lot.bytes == 0) {
    return 0;
  }
  if (is_run(lot)) {
    runs[0] = {first_byte(lot), static_cast<size_t>(lot.bytes)};
    return 1;
  }
  int32_t count = 0;
  int64_t listed = 0;
  for (Cursor cursor(*lot.plan, lot.memory, lot.count); cursor.valid();
       cursor.advance(cursor.left())) {
    if (count == most) return 0;
    runs[count++] = {cursor.at(), static_cast<size_t>(cursor.left())};
    listed += cursor.left();
  }
  return listed == lot.bytes ? count : 0;
}

bool read_runs(int32_t pid, const iovec* runs, int64_t bytes, const Lot& lot) noexcept {
  if (bytes == 0) return true;
  if (g_refused.load(std::memory_order_relaxed)) return false;
  Theirs from(runs);
  bool ok = false;
  if (is_run(lot)) {
    Straight to(first_byte(lot), bytes);
    ok = read(pid, &from, &to, bytes);
  } else if (has_long_runs(lot)) {
    Cursor to(*lot.plan, lot.memory, lot.count);
    ok = read(pid, &from, &to, bytes);
  } else {
    ok = read_aside(pid, &from, bytes, lot);
  }
  if (!ok) g_refused.store(true, std::memory_order_relaxed);
  return ok;
}

}  // namespace lacuna::direct
