// SPDX-License-Identifier: BSD-3-Clause
//
// The waits inside lacuna that threads of this process are in. `lacuna doctor` finds the table by
// its symbol and reads it from /proc/PID/mem, even if the process hangs
// (python/lacuna/launch/doctor.py knows the layout).
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_WAITS_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_WAITS_HPP_

#include <atomic>
#include <cstdint>

namespace lacuna::direct {

struct WaitRow {
  static constexpr int32_t kNobody = -1;

  std::atomic<uint32_t> is_taken;  // set last, when the row is complete
  int32_t thread;                  // thread id of the system
  std::atomic<int32_t> rank;       // waited for, in MPI_COMM_WORLD; kNobody: several
  std::atomic<int32_t> process;
  int64_t since_ns;  // CLOCK_MONOTONIC
  char what[104];
};
static_assert(sizeof(WaitRow) == 128);

struct Waits {
  static constexpr int kRows = 16;

  char name[8];  // "lacuna" and the version of this layout
  int32_t rows;
  int32_t rank;
  int32_t ranks;
  int32_t path_is_open;
  uint64_t job;  // job_id(), the same in all ranks of the job on this node
  WaitRow row[kRows];
};

void describe_process(int rank, int ranks, uint64_t job, bool path_is_open) noexcept;

int64_t monotonic_ns() noexcept;
// Null: all rows are in use.
WaitRow* add_row(const char* what, int64_t since_ns) noexcept;
void remove_row(WaitRow* row) noexcept;

// A row for the lifetime of this object.
class ListedWait {
 public:
  explicit ListedWait(const char* what) noexcept : row_(add_row(what, monotonic_ns())) {}
  ListedWait(const ListedWait&) = delete;
  ListedWait& operator=(const ListedWait&) = delete;
  ~ListedWait() { remove_row(row_); }

 private:
  WaitRow* row_;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_WAITS_HPP_
