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
// A call that passes takes a step of some 17 instructions: the last lane of the function and the
// place must be of the same type and count; what has passed is told by `left` alone. Other lanes
// are found by their hash, and what their counts differ by is noted. Calls that are looked at but
// not timed are booked by the lot (observe.hpp).
#ifndef LACUNA_INTERPOSE_REPORT_SAMPLING_HPP_
#define LACUNA_INTERPOSE_REPORT_SAMPLING_HPP_

#include <atomic>
#include <cstdint>

#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/report/observed_type.hpp"

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

// What a lane is of.
struct LaneKey {
  const void* caller = nullptr;
  MPI_Datatype type{};  // none: any
  FunctionId function{};
  unsigned octave = 0;                   // of the count
  const ObservedType* record = nullptr;  // of a derived type

  bool operator==(const LaneKey&) const noexcept = default;
};

// What calls that are looked at, but not timed, were told of their data: the same each time.
inline constexpr size_t kMostTold = 2;
struct Lot {
  uint64_t told[kMostTold];  // what, and how often; 0: nothing
  int64_t bytes[kMostTold];
  uint32_t calls;
  TypeId type;      // the calls'
  uint16_t octave;  // of all their bytes
};

// One such thing; how often stands above it.
constexpr uint64_t told_once(TypeId type, size_t outcome) noexcept {
  return uint64_t{1} << 32 | uint64_t{type} << 8 | outcome;
}
constexpr TypeId type_told(uint64_t told) noexcept { return static_cast<TypeId>(told >> 8); }
constexpr size_t outcome_told(uint64_t told) noexcept { return told & 0xff; }
constexpr int64_t times_told(uint64_t told) noexcept { return static_cast<int64_t>(told >> 32); }
constexpr bool tells_the_same(uint64_t one, uint64_t other) noexcept {
  return static_cast<uint32_t>(one) == static_cast<uint32_t>(other);
}

struct alignas(64) Lane {
  // What a call that passes compares and counts, in one line.
  const void* caller = nullptr;
  // Another thread forgets a type that is freed: another one may have the handle by then.
  std::atomic<MPI_Datatype> type{};
  MPI_Count count = kNoCount;  // of the call that was timed last
  int32_t left = 0;            // so many calls pass before one is timed
  int32_t gap = 0;             // that, as it was drawn
  FunctionId function{};
  uint16_t site = 0;
  // What is not needed for a call that passes with that count:
  std::atomic<int64_t> elements{0};  // of those with other counts, less `count` for each
  int32_t looked_at = 0;             // of those that have passed: booked by the lot
  uint32_t seen = 0;                 // calls that were timed
  uint32_t outcome = 0;              // of those that have passed
  unsigned octave = 0;
  Lot lot{};
  const ObservedType* record = nullptr;
  uint64_t serial = 0;  // of its record
  int64_t mean_ns = 0;
  MPI_Count next_count = kNoCount;  // of the call that is about to be timed
  int64_t element_bytes = 0;
  Cell* cell = nullptr;  // where those that have passed will be counted; null: nowhere

  bool is_of(const LaneKey& one) const noexcept;
  // A call that is looked at: how many it stands for; 0: it is one that passes.
  uint32_t weight() noexcept {
    if (left == 0) return static_cast<uint32_t>(gap) + 1;
    --left;
    ++looked_at;
    return 0;
  }
};

// What a thread has met.
struct Lanes {
  static constexpr unsigned kBits = 8;
  static constexpr size_t kLanes = size_t{1} << kBits;
  static constexpr size_t kPlaces = 16;
  // By function and place alone: the lane of the last call; never null. (Of a call that moves data
  // and is looked at only until one is such as might pass.)
  Lane* last[static_cast<size_t>(FunctionId::kCount)][kPlaces];
  Lane none;  // of no place
  Lane lanes[kLanes];
  Lane* chosen = nullptr;  // whose next call is about to be looked at
  uint64_t random = 0x9E3779B97F4A7C15U;
  CellTable* table = nullptr;

  Lanes() noexcept {
    for (auto& places : last) {
      for (Lane*& one : places) one = &none;
    }
  }
  // By eight bytes of code: a call and what it hands over take more.
  Lane*& last_of(FunctionId function, const void* caller) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    return last[static_cast<size_t>(function)][address / 8 % kPlaces];
  }
  // Its own, or else made anew.
  Lane& of(const LaneKey& key) noexcept;
  // A call of the lane has taken so long: how many pass until the next is timed.
  void learn(Lane* lane, int64_t ns) noexcept;
  // By its handle's bits.
  void forget(uintptr_t type) noexcept;

 private:
  Lane& place_of(const LaneKey& key) noexcept;
};

// Counts those that have passed, and books the lot.
void settle(Lane* lane) noexcept;
void book_lot(Lane* lane) noexcept;

// The type is freed: no calls on what has its handle next pass for it. Of all threads.
void forget_lanes_of(const ObservedType& record) noexcept;

// Of this thread; null until it has a table (report/counters.hpp). A pointer alone, so that this
// needs no room that a library which is loaded late would not get.
extern thread_local constinit Lanes* t_lanes __attribute__((tls_model("initial-exec")));

namespace detail {
__attribute__((always_inline)) inline bool pass(Lane* lane) noexcept {
  if (__builtin_expect(--lane->left >= 0, 1)) return true;
  lane->left = 0;
  return false;
}
}  // namespace detail

// Whether a call passes that is like the last one from its place. Inline, as this is most of what
// it costs. Of what has no type:
__attribute__((always_inline)) inline bool pass_as_last(FunctionId function,
                                                        const void* caller) noexcept {
  Lanes* lanes = t_lanes;
  if (__builtin_expect(lanes == nullptr, 0)) return false;
  Lane* lane = lanes->last_of(function, caller);
  return __builtin_expect(lane->caller == caller, 1) && detail::pass(lane);
}
// Of what moves data in one type. (`count` is as wide as the function's: so are those of its
// lanes.)
template <typename Count>
__attribute__((always_inline)) inline bool pass_as_last(FunctionId function, const void* caller,
                                                        MPI_Datatype type, Count count) noexcept {
  Lanes* lanes = t_lanes;
  if (__builtin_expect(lanes == nullptr, 0)) return false;
  Lane* lane = lanes->last_of(function, caller);
  const bool is_like_it = lane->caller == caller &&
                          lane->type.load(std::memory_order_relaxed) == type &&
                          static_cast<Count>(lane->count) == count;
  return __builtin_expect(is_like_it, 1) && detail::pass(lane);
}

// Whether the last call from there, of what moves data in one type, was looked at, and the next
// like it would be, too.
inline bool looks_as_last(FunctionId function, const void* caller) noexcept {
  Lanes* lanes = t_lanes;
  if (lanes == nullptr) return false;
  const Lane* lane = lanes->last_of(function, caller);
  return lane->caller == caller && lane->type.load(std::memory_order_relaxed) == MPI_Datatype{} &&
         lane->record == nullptr;
}

// pass_as_last() by all that is known of the place. False: the look that follows is at such a call,
// or at one that cannot pass. Of completions and what else has no type, where nothing of it is
// lacuna's:
bool pass_slowly(FunctionId function, const void* caller) noexcept;
bool pass_slowly(const LaneKey& key, MPI_Count count) noexcept;
unsigned octave_of_count(MPI_Count count) noexcept;
// The call that has passed just now does not, after all.
void take_back(FunctionId function, const void* caller, MPI_Count count) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_SAMPLING_HPP_
