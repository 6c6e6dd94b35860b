// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/rooms/peer_read.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>

#include "base/address.hpp"
#include "exec/copy/cursor.hpp"
#include "exec/part.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/memory/staging.hpp"

namespace lacuna::direct {
namespace {

// Each page and each run costs system time (docs/experiments/2026-11-27-peer-reads.md).
constexpr double kLeastRun = 4096;
constexpr int64_t kLeastBytes = 8192;
constexpr double kLeastRunOfFew = 2048;
constexpr int64_t kFewBytes = 256 << 10;
// With LACUNA_ALWAYS=1.
constexpr double kShortestRun = 64;

// Runs in one system call.
constexpr size_t kMostRuns = 64;
// If the runs of this side are short: bytes that are read into a buffer, and unpacked from there.
constexpr int64_t kAside = 64 << 10;

// Set once the system has refused a read: then no more is tried.
constinit std::atomic<bool> g_refused{false};

bool is_run(const PairData& pair_data) noexcept {
  return pair_data.plan == nullptr || pair_data.plan->is_run(pair_data.count);
}

std::byte* first_byte(const PairData& pair_data) noexcept {
  return address(pair_data.memory, pair_data.plan != nullptr ? pair_data.plan->offset() : 0);
}

bool has_long_runs(const PairData& pair_data) noexcept {
  return is_run(pair_data) ||
         pair_data.plan->mean_run_bytes() >= (runtime().always ? kShortestRun : kLeastRun);
}

// A single run, with the interface of Cursor.
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

// Walks over a peer's runs.
class Theirs {
 public:
  explicit Theirs(const iovec* runs) noexcept : run_(runs), left_(length(*runs)) {}
  std::byte* at() const noexcept { return static_cast<std::byte*>(run_->iov_base) + past(); }
  int64_t left() const noexcept { return left_; }
  // `more`: false at the very end, so that no run after the last one is read.
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

// One side of a system call.
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

// Not inlined: two batches take 2 KiB of stack.
template <typename Ours>
[[gnu::noinline]] bool read(int32_t pid, Theirs* from, Ours* to, int64_t bytes) noexcept {
  while (bytes > 0) {
    Batch theirs;
    Batch ours;
    int64_t asked = 0;
    while (asked < bytes && !theirs.is_full() && !ours.is_full()) {
      if (!to->valid()) return false;  // nested too deeply for a Cursor
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

bool read_aside(int32_t pid, Theirs* from, int64_t bytes, const PairData& pair_data) noexcept {
  const Staging aside = borrow_staging(std::min(bytes, kAside), true);
  if (!aside) return false;
  for (int64_t begin = 0; begin < bytes; begin += kAside) {
    const int64_t end = std::min(bytes, begin + kAside);
    Straight to(aside.data(), end - begin);
    if (!read(pid, from, &to, end - begin)) return false;
    move_part<false>(*pair_data.plan, pair_data.memory, pair_data.count, begin, end, aside.data(),
                     bytes);
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

// Compares with a copy in the cache. An exchange by two copies takes at least 3.5 times that copy,
// so at most 4 is accepted (docs/experiments/2026-11-27-peer-reads.md).
bool is_fast_to_read(int32_t pid, uint64_t place, const std::byte* same) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr int kTries = 5;
  constexpr int kMostTimes = 4;
  constexpr int64_t kRun = 4096;
  const Staging aside = borrow_staging(kSampleBytes, false);
  if (!aside) return false;
  iovec here{aside.data(), static_cast<size_t>(kSampleBytes)};
  iovec there[kSampleBytes / kRun];
  const auto run_at = [](int64_t i) { return i * kRun * 5 % kSampleBytes; };  // no two are adjacent
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

int32_t list_runs(const PairData& pair_data, iovec* runs, int64_t most) noexcept {
  if (!has_long_runs(pair_data) || most == 0 ||
      (pair_data.bytes < kLeastBytes && !runtime().always) || pair_data.bytes == 0) {
    return 0;
  }
  if (is_run(pair_data)) {
    runs[0] = {first_byte(pair_data), static_cast<size_t>(pair_data.bytes)};
    return 1;
  }
  int32_t count = 0;
  int64_t listed = 0;
  for (Cursor cursor(*pair_data.plan, pair_data.memory, pair_data.count); cursor.valid();
       cursor.advance(cursor.left())) {
    if (count == most) return 0;
    runs[count++] = {cursor.at(), static_cast<size_t>(cursor.left())};
    listed += cursor.left();
  }
  return listed == pair_data.bytes ? count : 0;
}

bool read_runs(int32_t pid, const iovec* runs, int64_t bytes, const PairData& pair_data) noexcept {
  if (bytes == 0) return true;
  if (g_refused.load(std::memory_order_relaxed)) return false;
  Theirs from(runs);
  bool ok = false;
  if (is_run(pair_data)) {
    Straight to(first_byte(pair_data), bytes);
    ok = read(pid, &from, &to, bytes);
  } else if (has_long_runs(pair_data)) {
    Cursor to(*pair_data.plan, pair_data.memory, pair_data.count);
    ok = read(pid, &from, &to, bytes);
  } else {
    ok = read_aside(pid, &from, bytes, pair_data);
  }
  if (!ok) g_refused.store(true, std::memory_order_relaxed);
  return ok;
}

}  // namespace lacuna::direct
