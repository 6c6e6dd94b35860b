// SPDX-License-Identifier: BSD-3-Clause
//
// Sampling, with LACUNA_COSTS: all calls are counted, but of short ones only some are timed, so
// that timing takes about one 2000th of their time. A call that is only counted is said to pass. A
// timed call stands for those that have passed since the last timed one, too. How many pass is
// drawn at random, so that a period of the program does not bias the sum. It depends on earlier
// calls alone: a long call is not likelier to be timed, and the sum is unbiased.
//
// A call group is one call site of the program, with one type and one octave of counts. Calls
// without a type (completions), and calls that lacuna observes in any case, have a group by call
// site alone.
//
// A call that passes takes few instructions if it is like the last one: the last group of its
// function and call site has the same type and count, and `left` is counted down. Other groups are
// found by a hash, and the difference in their counts is added up. Calls that are observed but not
// timed are counted together (UntimedCalls, observe/observe.hpp).
#ifndef LACUNA_INTERPOSE_REPORT_SAMPLING_HPP_
#define LACUNA_INTERPOSE_REPORT_SAMPLING_HPP_

#include <atomic>
#include <cstdint>

#include "base/hash.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/report/observed_type.hpp"

namespace lacuna {

using Counter = std::atomic<int64_t>;

// Only for the thread that owns the counter.
inline void add(Counter* counter, int64_t value) noexcept {
  counter->store(counter->load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

struct Cell;
struct CellTable;
inline constexpr uint32_t kNoOutcome = ~0U;

inline constexpr MPI_Count kNoCount = -1;

// What identifies a call group.
struct CallGroupKey {
  const void* caller = nullptr;
  MPI_Datatype type{};  // none: any
  FunctionId function{};
  unsigned octave = 0;                   // of the count
  const ObservedType* record = nullptr;  // of a derived type

  bool operator==(const CallGroupKey&) const noexcept = default;
};

// Successive calls of a group that were observed, but not timed, and had the same outcomes.
inline constexpr size_t kMostOutcomes = 2;
struct UntimedCalls {
  uint64_t outcome_words[kMostOutcomes];  // outcomes, as outcome_word(), with how often in a call;
                                          // 0: none
  int64_t bytes[kMostOutcomes];
  uint32_t calls;
  TypeId type;      // the calls'
  uint16_t octave;  // of the bytes of a call
};

// An outcome in a word: type and outcome in the lower half, how often (here once) in the upper.
constexpr uint64_t outcome_word(TypeId type, size_t outcome) noexcept {
  return uint64_t{1} << 32 | uint64_t{type} << 8 | outcome;
}
constexpr TypeId type_in(uint64_t word) noexcept { return static_cast<TypeId>(word >> 8); }
constexpr size_t outcome_in(uint64_t word) noexcept { return word & 0xff; }
constexpr int64_t times_in(uint64_t word) noexcept { return static_cast<int64_t>(word >> 32); }
constexpr bool is_same_outcome(uint64_t one, uint64_t other) noexcept {
  return static_cast<uint32_t>(one) == static_cast<uint32_t>(other);
}

struct alignas(64) CallGroup {
  // What a call that passes compares and counts, in one cache line.
  const void* caller = nullptr;
  // Reset by another thread that frees the type, as its handle may be used again.
  std::atomic<MPI_Datatype> type{};
  MPI_Count count = kNoCount;  // of the call that was timed last
  int32_t left = 0;            // how many more calls pass before one is timed
  int32_t gap = 0;             // what was drawn: `left` at its beginning
  FunctionId function{};
  uint16_t site = 0;
  // What is not needed for a call that passes with that count:
  std::atomic<int64_t> elements{0};  // of calls with other counts: the sum of (theirs - `count`)
  int32_t looked_at = 0;             // of those that have passed: counted in `untimed`
  uint32_t seen = 0;                 // calls that were timed
  uint32_t outcome = 0;              // of those that have passed
  unsigned octave = 0;
  UntimedCalls untimed{};
  const ObservedType* record = nullptr;
  uint64_t serial = 0;  // of its record
  int64_t mean_ns = 0;
  MPI_Count next_count = kNoCount;  // of the call that is about to be timed
  int64_t element_bytes = 0;
  Cell* cell = nullptr;  // where those that have passed will be counted; null: none may pass

  bool is_of(const CallGroupKey& one) const noexcept;
  // For a call that is observed: how many calls it stands for; 0: it is not timed.
  uint32_t weight() noexcept {
    if (left == 0) return static_cast<uint32_t>(gap) + 1;
    --left;
    ++looked_at;
    return 0;
  }
};

// The call groups of a thread.
struct CallGroups {
  static constexpr unsigned kBits = 8;
  static constexpr size_t kCallGroups = size_t{1} << kBits;
  static constexpr size_t kPlaces = 16;
  // By function and call site alone: the group of the last call; never null. (An observed call that
  // moves data is only kept here until a call from there might pass.)
  CallGroup* last[static_cast<size_t>(FunctionId::kCount)][kPlaces];
  CallGroup none;  // of no call site
  CallGroup groups[kCallGroups];
  CallGroup* chosen = nullptr;  // set by the wrapper for the ObservedCall that follows
  uint64_t random = kGoldenRatio;
  CellTable* table = nullptr;

  CallGroups() noexcept {
    for (auto& places : last) {
      for (CallGroup*& one : places) one = &none;
    }
  }
  // Eight bytes of code share a place: a call with its arguments takes more.
  CallGroup*& last_of(FunctionId function, const void* caller) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    return last[static_cast<size_t>(function)][address / 8 % kPlaces];
  }
  // The group of the key; if there is none, another one is replaced.
  CallGroup& of(const CallGroupKey& key) noexcept;
  // After a timed call of `ns`: draws how many calls pass until the next timed one.
  void draw_gap(CallGroup* group, int64_t ns) noexcept;
  // By its handle's bits.
  void forget(uintptr_t type) noexcept;

 private:
  CallGroup& place_of(const CallGroupKey& key) noexcept;
};

// Counts the calls that have passed, those in `untimed` included.
void count_passed(CallGroup* group) noexcept;
void count_untimed(CallGroup* group) noexcept;

// The type is freed: resets its groups in all threads, as its handle may be used again.
void forget_call_groups_of(const ObservedType& record) noexcept;

// Of this thread; null until it has a table (report/counters.hpp). Only a pointer, as a library
// that is loaded late gets little static TLS.
extern thread_local constinit CallGroups* t_call_groups __attribute__((tls_model("initial-exec")));

namespace detail {
__attribute__((always_inline)) inline bool count_down(CallGroup* group) noexcept {
  if (__builtin_expect(--group->left >= 0, 1)) return true;
  group->left = 0;
  return false;
}
}  // namespace detail

// Whether a call passes, if it is like the last one from its call site. Inline, as a call of a
// function would cost more. For calls without a type:
__attribute__((always_inline)) inline bool count_like_last(FunctionId function,
                                                           const void* caller) noexcept {
  CallGroups* groups = t_call_groups;
  if (__builtin_expect(groups == nullptr, 0)) return false;
  CallGroup* group = groups->last_of(function, caller);
  return __builtin_expect(group->caller == caller, 1) && detail::count_down(group);
}
// For calls that move data of one type. (`count` is as wide as the function's parameter.)
template <typename Count>
__attribute__((always_inline)) inline bool count_like_last(FunctionId function, const void* caller,
                                                           MPI_Datatype type,
                                                           Count count) noexcept {
  CallGroups* groups = t_call_groups;
  if (__builtin_expect(groups == nullptr, 0)) return false;
  CallGroup* group = groups->last_of(function, caller);
  const bool is_like_it = group->caller == caller &&
                          group->type.load(std::memory_order_relaxed) == type &&
                          static_cast<Count>(group->count) == count;
  return __builtin_expect(is_like_it, 1) && detail::count_down(group);
}

// For calls that move data of one type: whether the last one from there was observed in any case,
// as the next one will be.
inline bool is_observed_like_last(FunctionId function, const void* caller) noexcept {
  CallGroups* groups = t_call_groups;
  if (groups == nullptr) return false;
  const CallGroup* group = groups->last_of(function, caller);
  return group->caller == caller && group->type.load(std::memory_order_relaxed) == MPI_Datatype{} &&
         group->record == nullptr;
}

// The slow form of count_like_last(): finds the group by its key. False: the call must be observed,
// to be timed or because it cannot pass. For completions and other calls without a type, if none of
// their requests is lacuna's:
bool count_slowly(FunctionId function, const void* caller) noexcept;
bool count_slowly(const CallGroupKey& key, MPI_Count count) noexcept;
unsigned octave_of_count(MPI_Count count) noexcept;
// Undoes the passing of a call that must be observed after all.
void uncount(FunctionId function, const void* caller, MPI_Count count) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_SAMPLING_HPP_
