// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's pool of buffers (engine/exec/buffers/buffers.cpp) up to LACUNA_POOL_MB, and the one
// small buffer that each thread keeps.
#include "interpose/memory/staging.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "base/options.hpp"
#include "exec/buffers/buffers.hpp"
#include "interpose/memory/limits.hpp"

namespace lacuna {
namespace {

constexpr int64_t kLocal = int64_t{64} << 10;  // what a thread keeps for itself

int64_t most_bytes() noexcept {
  static const int64_t most = std::min(option_integer(OptionId::kPoolMb) << 20, most_own_bytes());
  return most;
}

// A thread's own buffer, whose Buffer::borrower points to `borrowed`. There is no destructor:
// atexit() handlers of the program run after thread_local objects are destroyed, and may call MPI.
struct Local {
  Buffer* buffer = nullptr;
  std::atomic<bool> borrowed{false};
  bool ended = false;  // the thread is ending: keep no buffer
};
constinit thread_local Local t_local;

// Gives the buffer back to the pool when the thread ends.
struct End {
  ~End() {
    t_local.ended = true;
    if (t_local.buffer == nullptr || t_local.borrowed.load(std::memory_order_acquire)) return;
    release_buffer(std::exchange(t_local.buffer, nullptr));
  }
};

Buffer* keep_buffer(Local* local) noexcept {
  if (local->ended) return nullptr;
  thread_local End end;
  local->buffer = acquire_buffer(kLocal, most_bytes());
  if (local->buffer != nullptr) local->buffer->borrower = &local->borrowed;
  return local->buffer;
}

Buffer* borrow_local() noexcept {
  Local& local = t_local;
  if (local.borrowed.load(std::memory_order_acquire)) return nullptr;
  if (local.buffer == nullptr && keep_buffer(&local) == nullptr) return nullptr;
  local.borrowed.store(true, std::memory_order_relaxed);
  return local.buffer;
}

alignas(4096) constinit std::byte g_kept_bytes[kKeptBytes] = {};
constinit std::atomic<bool> g_kept_lent{false};
constinit Buffer g_kept{g_kept_bytes, kKeptBytes, 0, nullptr, &g_kept_lent};

}  // namespace

Staging borrow_kept() noexcept {
  if (g_kept_lent.load(std::memory_order_relaxed)) return Staging();
  g_kept_lent.store(true, std::memory_order_relaxed);
  return Staging(&g_kept);
}

void Staging::reset() noexcept {
  if (buffer_ == nullptr) return;
  Buffer* buffer = std::exchange(buffer_, nullptr);
  if (const int64_t bytes = std::exchange(wiped_, 0); bytes > 0)
    explicit_bzero(buffer->data, static_cast<size_t>(bytes));
  if (buffer->borrower != nullptr) {
    static_cast<std::atomic<bool>*>(buffer->borrower)->store(false, std::memory_order_release);
  } else {
    release_buffer(buffer, most_bytes());
  }
}

std::byte* Staging::data() const noexcept { return buffer_->data; }

namespace {

Staging borrow(int64_t bytes, bool blocking, int64_t cap_bytes) noexcept {
  if (blocking && bytes <= kLocal) {
    if (Buffer* buffer = borrow_local()) return Staging(buffer);
  }
  return Staging(acquire_buffer(bytes, cap_bytes));
}

}  // namespace

Staging borrow_staging(int64_t bytes, bool blocking) noexcept {
  return borrow(bytes, blocking, most_bytes());
}

namespace {

// Lent when an allocation fails. Pages that were never touched use no memory.
constexpr int64_t kReserved = int64_t{64} << 10;
constexpr int kReserves = 32;
alignas(4096) constinit std::byte g_reserved_bytes[kReserves][kReserved] = {};
constinit std::atomic<bool> g_reserved_lent[kReserves] = {};
constinit Buffer g_reserved[kReserves] = {};

Staging borrow_reserved(int64_t bytes) noexcept {
  for (int i = 0; bytes <= kReserved && i < kReserves; ++i) {
    if (g_reserved_lent[i].exchange(true, std::memory_order_acquire)) continue;
    g_reserved[i] = {g_reserved_bytes[i], kReserved, 0, nullptr, &g_reserved_lent[i]};
    return Staging(&g_reserved[i]);
  }
  return Staging();
}

}  // namespace

Staging need_staging(int64_t bytes, bool blocking) noexcept {
  Staging staging = borrow(bytes, blocking, std::numeric_limits<int64_t>::max());
  return staging ? std::move(staging) : borrow_reserved(bytes);
}

int64_t most_staging_bytes() noexcept { return most_bytes(); }

void trim_staging() noexcept { trim_buffers(); }

}  // namespace lacuna
