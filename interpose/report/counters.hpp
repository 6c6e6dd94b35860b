// SPDX-License-Identifier: BSD-3-Clause
//
// Cells: where calls are counted. Each thread has a table of its own, which it writes with plain
// loads and stores and never gives back: a thread that ends leaves it, with all that is in it, to
// one that begins.
#ifndef LACUNA_INTERPOSE_REPORT_COUNTERS_HPP_
#define LACUNA_INTERPOSE_REPORT_COUNTERS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/report/data.hpp"
#include "interpose/report/report.hpp"
#include "interpose/report/sampling.hpp"

namespace lacuna {

// Half octaves of time, from 64 ns on.
inline constexpr size_t kBuckets = 48;

struct Cell {
  std::atomic<uint64_t> key{0};  // of its account and size, plus one; 0: empty
  Counter outcomes[kOutcomes] = {};
  Counter bytes_taken{0};
  Counter bytes_declined{0};
  Counter pack_ns{0};
  Counter unpack_ns{0};
  Counter calls{0};
  Counter timed{0};                // those that calls which were timed stand for
  Counter call_ns{0};              // and their time
  Counter elsewhere_ns{0};         // of other calls, for these
  Counter ended_ns{0};             // of calls that wait for others
  Counter by_time[kBuckets] = {};  // calls that do not
  // Of calls that stand for w: sums of w (w - 1), with their time and its square.
  std::atomic<double> spread[3] = {};
};

// `octave`: of bytes, so that the times of a cell can be compared; 0: none. Null: no memory, or
// more functions and types than a table has cells; such calls are not counted.
Cell* cell_of(const Account& account, unsigned octave = 0) noexcept;
// An octave other than 0.
unsigned octave_of(int64_t bytes) noexcept;

// So many calls have come to this outcome, with so many bytes.
void count_outcome(const Account& account, size_t outcome, int64_t times, int64_t bytes) noexcept;

// A call that stands for `weight` has taken so long.
void book(Cell* cell, bool ends, int64_t ns, uint32_t weight) noexcept;

// What called_from() was told and no look has taken yet, or null.
const void* told_caller() noexcept;

// The rows of all threads; `places` by the numbers of sites.
void add_cells(const std::vector<std::string>& places, Report* report);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_COUNTERS_HPP_
