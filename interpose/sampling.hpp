// SPDX-License-Identifier: BSD-3-Clause
//
// Sampling, with LACUNA_COSTS: all calls are counted, but of those that are short, only some are
// timed, so that timing takes about a hundredth of their time. A call that is timed stands for
// those that have passed since the last one, too; how many pass is drawn at random, so that a
// program's own rhythm is not taken for its time. How often, depends on calls before it alone, and
// not on the call itself: no call is likelier to be timed for being long, and the sum is unbiased.
//
// A lane is one place of the program that calls, with one predefined type and one octave of counts;
// a completion, or a call that is looked at anyway, is told apart by its place alone.
#ifndef LACUNA_INTERPOSE_SAMPLING_HPP_
#define LACUNA_INTERPOSE_SAMPLING_HPP_

#include <atomic>
#include <bit>
#include <cstdint>

#include "interpose/gate.hpp"
#include "interpose/next.hpp"

namespace lacuna {

using Counter = std::atomic<int64_t>;

// By the one thread that writes it.
inline void add(Counter* counter, int64_t value) noexcept {
  counter->store(counter->load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

struct Cell;
inline constexpr uint32_t kNoOutcome = ~0U;

struct alignas(64) Lane {
  const void* caller = nullptr;
  uintptr_t type = 0;                // the handle; 0: any
  uint32_t which = 0;                // the function, and the octave of the count
  std::atomic<uint32_t> skip{0};     // so many calls are left that pass
  std::atomic<int64_t> elements{0};  // of those that have passed
  uint32_t gap = 0;                  // skip, as it was drawn
  uint32_t looked_at = 0;            // of those that have passed: counted elsewhere
  uint32_t seen = 0;                 // calls that were timed
  uint32_t outcome = 0;              // of those that have passed
  int64_t mean_ns = 0;
  // What is not needed for a call that passes:
  int64_t count = 0;  // of the call that is about to be timed
  int64_t element_bytes = 0;
  Cell* cell = nullptr;  // where those that have passed will be counted; null: nowhere

  bool is_of(const void* from, uintptr_t a_type, uint32_t a_which) const noexcept {
    return caller == from && type == a_type && which == a_which;
  }
  uint32_t left() const noexcept { return skip.load(std::memory_order_relaxed); }
  // A call that is looked at: how many it stands for; 0: it is one that passes.
  uint32_t weight() noexcept {
    const uint32_t now = left();
    if (now == 0) return gap + 1;
    skip.store(now - 1, std::memory_order_relaxed);
    ++looked_at;
    return 0;
  }
};

struct Lanes {
  static constexpr unsigned kBits = 6;
  Lane lanes[size_t{1} << kBits];
  Lane* chosen = nullptr;   // whose next call is about to be looked at
  Lane* passing = nullptr;  // whose call is about to be done quickly
  uint64_t random = 0x9E3779B97F4A7C15U;

  Lane& at(const void* caller, uintptr_t type, uint32_t which) noexcept {
    const uint64_t mixed =
        reinterpret_cast<uintptr_t>(caller) + (type << 7) + (uint64_t{which} << 25);
    return lanes[mixed * 0x9E3779B97F4A7C15U >> (64 - kBits)];
  }
  // Its own, or else made anew: who calls from two places that meet here is timed more often.
  Lane& of(const void* caller, uintptr_t type, uint32_t which) noexcept;
  // A call of the lane has taken so long: how many pass until the next is timed.
  void learn(Lane* lane, int64_t ns) noexcept;
};

// Counts those that have passed.
void settle(Lane* lane) noexcept;

// Of this thread; null until it has a table (report_cells.hpp). A pointer alone, so that this
// needs no room that a library which is loaded late would not get.
extern thread_local constinit Lanes* t_lanes __attribute__((tls_model("initial-exec")));

inline constexpr MPI_Count kNoCount = -1;

inline uint32_t lane_key(FunctionId function, MPI_Count count) noexcept {
  return static_cast<uint32_t>(function) << 8 |
         static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(count)));
}

// The lane of a call that may pass; null: there is none, or it must be looked at. Inline, as this
// is most of what it costs.
__attribute__((always_inline)) inline Lane* lane_of(FunctionId function, const void* caller,
                                                    uintptr_t type, MPI_Count count) noexcept {
  Lanes* lanes = t_lanes;
  if (__builtin_expect(lanes == nullptr, 0)) return nullptr;
  const uint32_t which = lane_key(function, count);
  Lane& lane = lanes->at(caller, type, which);
  return lane.is_of(caller, type, which) && lane.left() > 0 ? &lane : nullptr;
}

// The look that follows is at such a call. Only where calls like it can pass: not to nobody.
void choose_lane(FunctionId function, const void* caller, uintptr_t type, MPI_Count count) noexcept;

// It passes; or it does not, after all.
inline void pass(Lane* lane, MPI_Count count) noexcept {
  lane->skip.store(lane->left() - 1, std::memory_order_relaxed);
  if (count > 0) add(&lane->elements, count);
}
inline void take_back(Lane* lane, MPI_Count count) noexcept {
  lane->skip.store(lane->left() + 1, std::memory_order_relaxed);
  if (count > 0) add(&lane->elements, -count);
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_SAMPLING_HPP_
