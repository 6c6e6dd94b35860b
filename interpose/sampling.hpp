// SPDX-License-Identifier: BSD-3-Clause
//
// Sampling, with LACUNA_COSTS: all calls are counted, but of those that are short, only some are
// timed, so that timing takes about a hundredth of their time. A call that is timed stands for
// those that have passed since the last one, too; how many pass is drawn at random, so that a
// program's own rhythm is not taken for its time. How often, depends on calls before it alone, and
// not on the call itself: no call is likelier to be timed for being long, and the sum is unbiased.
//
// A lane is one place of the program that calls, with one type and one octave of counts; a
// completion, or a call that is looked at anyway, is told apart by its place alone.
//
// A call that passes takes a step of some 20 instructions: the place's last lane must be that of
// the call, with the same count; what has passed is told by `skip` alone. Other lanes are found by
// their hash, and what their counts differ by is noted.
#ifndef LACUNA_INTERPOSE_SAMPLING_HPP_
#define LACUNA_INTERPOSE_SAMPLING_HPP_

#include <atomic>
#include <cstdint>

#include "interpose/gate.hpp"
#include "interpose/next.hpp"
#include "interpose/policy.hpp"

namespace lacuna {

using Counter = std::atomic<int64_t>;

// By the one thread that writes it.
inline void add(Counter* counter, int64_t value) noexcept {
  counter->store(counter->load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

struct Cell;
struct CellTable;
inline constexpr uint32_t kNoOutcome = ~0U;

inline constexpr MPI_Count kNoCount = -1;
// A predefined type's, for it is never another one (types.hpp, TypeRecord).
LACUNA_HIDDEN extern constinit std::atomic<uint64_t> g_no_serial;

// What a lane is of.
struct LaneKey {
  const void* caller = nullptr;
  uintptr_t type = 0;  // the handle; 0: any
  FunctionId function{};
  unsigned octave = 0;  // of the count
  const std::atomic<uint64_t>* serial = &g_no_serial;

  bool operator==(const LaneKey&) const noexcept = default;
};

struct alignas(64) Lane {
  LaneKey key;
  uint64_t serial = 0;            // of its type: another one may have the handle by now
  MPI_Count count = kNoCount;     // of the call that was timed last
  std::atomic<uint32_t> skip{0};  // so many calls are left that pass
  uint32_t gap = 0;               // skip, as it was drawn
  // What is not needed for a call that passes with that count:
  std::atomic<int64_t> elements{0};  // of those with other counts, less `count` for each
  uint32_t looked_at = 0;            // of those that have passed: counted elsewhere
  uint32_t seen = 0;                 // calls that were timed
  uint32_t outcome = 0;              // of those that have passed
  int64_t mean_ns = 0;
  MPI_Count next_count = kNoCount;  // of the call that is about to be timed
  int64_t element_bytes = 0;
  Cell* cell = nullptr;  // where those that have passed will be counted; null: nowhere

  bool is_of(const LaneKey& one) const noexcept { return key == one && is_of_its_type(); }
  bool is_of_its_type() const noexcept {
    return key.serial->load(std::memory_order_relaxed) == serial;
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

// What a thread has met.
struct Lanes {
  static constexpr unsigned kBits = 8;
  static constexpr size_t kLanes = size_t{1} << kBits;
  Lane lanes[kLanes];
  Lane* last[kLanes];       // by place alone: the lane of the last call from there; never null
  Lane* chosen = nullptr;   // whose next call is about to be looked at
  Lane* passing = nullptr;  // whose call has passed last
  uint64_t random = 0x9E3779B97F4A7C15U;
  struct Site {
    const void* caller = nullptr;
    uint16_t id = 0;
  };
  Site sites[kLanes];  // report.hpp, site_of()
  CellTable* table = nullptr;

  Lanes() noexcept {
    for (Lane*& one : last) one = lanes;
  }
  static size_t slot_of(const void* caller) noexcept {
    const auto low = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(caller));
    return (low * 0x9E3779B1U) >> (32 - kBits);
  }
  // Its own, or else made anew.
  Lane& of(const LaneKey& key) noexcept;
  // A call of the lane has taken so long: how many pass until the next is timed.
  void learn(Lane* lane, int64_t ns) noexcept;

 private:
  Lane& place_of(const LaneKey& key) noexcept;
};

// Counts those that have passed.
void settle(Lane* lane) noexcept;

// Of this thread; null until it has a table (report_cells.hpp). A pointer alone, so that this
// needs no room that a library which is loaded late would not get.
extern thread_local constinit Lanes* t_lanes __attribute__((tls_model("initial-exec")));

namespace detail {
// Of a place and a function alone.
__attribute__((always_inline)) inline bool is_lane_of(const Lane& lane, FunctionId function,
                                                      const void* caller) noexcept {
  return lane.key.caller == caller && lane.key.function == function;
}

__attribute__((always_inline)) inline bool pass(Lanes* lanes, Lane* lane) noexcept {
  const uint32_t left = lane->left();
  if (__builtin_expect(left == 0, 0)) return false;
  lane->skip.store(left - 1, std::memory_order_relaxed);
  lanes->passing = lane;
  return true;
}
}  // namespace detail

// Whether a call passes that is like the last one from its place. Inline, as this is most of what
// it costs. Of what has no type:
__attribute__((always_inline)) inline bool pass_as_last(FunctionId function,
                                                        const void* caller) noexcept {
  Lanes* lanes = t_lanes;
  if (__builtin_expect(lanes == nullptr, 0)) return false;
  Lane* lane = lanes->last[Lanes::slot_of(caller)];
  return __builtin_expect(detail::is_lane_of(*lane, function, caller), 1) &&
         detail::pass(lanes, lane);
}
// Of what moves data in one type:
__attribute__((always_inline)) inline bool pass_as_last(FunctionId function, const void* caller,
                                                        uintptr_t type, MPI_Count count) noexcept {
  Lanes* lanes = t_lanes;
  if (__builtin_expect(lanes == nullptr, 0)) return false;
  Lane* lane = lanes->last[Lanes::slot_of(caller)];
  const bool is_like_it = detail::is_lane_of(*lane, function, caller) && lane->key.type == type &&
                          lane->count == count && lane->is_of_its_type();
  return __builtin_expect(is_like_it, 1) && detail::pass(lanes, lane);
}

// The same by all that is known of the place. False: the look that follows is at such a call, or at
// one that cannot pass. Of completions and what else has no type, where nothing of it is lacuna's:
bool pass_slowly(FunctionId function, const void* caller) noexcept;
// Of what moves data in one type:
bool pass_slowly(FunctionId function, const void* caller, MPI_Datatype datatype, MPI_Count count,
                 Operation operation) noexcept;
// The call that has passed last does not, after all.
void take_back(MPI_Count count) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_SAMPLING_HPP_
