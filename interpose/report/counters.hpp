// SPDX-License-Identifier: BSD-3-Clause
//
// Cells: where calls are counted. Each thread has a table of its own, which it writes with plain
// loads and stores. Tables are never freed: a new thread takes over the table of one that has
// ended, with all that is counted in it.
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
  std::atomic<uint64_t> key{0};  // of its account and octave, plus one; 0: empty
  Counter outcomes[kOutcomes] = {};
  Counter bytes_handled{0};
  Counter bytes_declined{0};
  Counter bytes_on_device{0};  // packed or unpacked there
  Counter pack_ns{0};
  Counter unpack_ns{0};
  Counter calls{0};
  Counter timed{0};                // calls that the timed ones stand for: the sum of their weights
  Counter call_ns{0};              // time of those
  Counter elsewhere_ns{0};         // time for these calls within other calls (MPI_Wait)
  Counter ended_ns{0};             // time of calls that complete others (MPI_Wait)
  Counter by_time[kBuckets] = {};  // calls that do not, by their time
  // Over timed calls of weight w and time t: the sums of w (w - 1), w (w - 1) t, w (w - 1) t^2.
  std::atomic<double> spread[3] = {};
};

// `octave`: of the bytes of a call, so that the times in a cell can be compared; 0: none. Null: no
// memory, or the table is full; such calls are not counted.
Cell* cell_of(const Account& account, unsigned octave = 0) noexcept;
// One more than the number of bits of `bytes`: never 0.
unsigned octave_of(int64_t bytes) noexcept;

// Counts `times` calls with this outcome, which had `bytes` in all.
void count_outcome(const Account& account, size_t outcome, int64_t times, int64_t bytes) noexcept;

// Adds a timed call that stands for `weight` calls. `ends`: it completes others.
void count_timed(Cell* cell, bool ends, int64_t ns, uint32_t weight) noexcept;

// The call site from called_from() that no ObservedCall has used yet, or null.
const void* given_caller() noexcept;

// Adds the rows of all threads; places[i] is the text of call site i.
void add_cells(const std::vector<std::string>& places, Report* report);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_COUNTERS_HPP_
