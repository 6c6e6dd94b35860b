// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/node/waits.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "interpose/functions/bodies.hpp"

extern "C" {
LACUNA_EXPORT extern constinit lacuna::direct::Waits lacuna_interposed_waits;
constinit lacuna::direct::Waits lacuna_interposed_waits = {
    .name = {'l', 'a', 'c', 'u', 'n', 'a', ' ', '1'},
    .rows = lacuna::direct::Waits::kRows,
    .rank = lacuna::direct::WaitRow::kNobody,
    .ranks = 0,
    .path_is_open = 0,
    .job = 0,
    .row = {},
};
}

namespace lacuna::direct {

void describe_process(int rank, int ranks, uint64_t job, bool path_is_open) noexcept {
  Waits& waits = lacuna_interposed_waits;
  waits.rank = rank;
  waits.ranks = ranks;
  waits.job = job;
  waits.path_is_open = path_is_open ? 1 : 0;
}

int64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

WaitRow* add_row(const char* what, int64_t since_ns) noexcept {
  constexpr uint32_t kBeingWritten = 2;
  for (WaitRow& row : lacuna_interposed_waits.row) {
    uint32_t free = 0;
    if (!row.is_taken.compare_exchange_strong(free, kBeingWritten, std::memory_order_acquire))
      continue;
    row.thread = static_cast<int32_t>(syscall(SYS_gettid));
    row.rank.store(WaitRow::kNobody, std::memory_order_relaxed);
    row.process.store(0, std::memory_order_relaxed);
    row.since_ns = since_ns;
    std::strncpy(row.what, what, sizeof(row.what) - 1);
    row.is_taken.store(1, std::memory_order_release);
    return &row;
  }
  return nullptr;
}

void remove_row(WaitRow* row) noexcept {
  if (row != nullptr) row->is_taken.store(0, std::memory_order_release);
}

}  // namespace lacuna::direct
