// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/report/sampling.hpp"

#include <algorithm>
#include <bit>

#include "base/hash.hpp"
#include "interpose/report/counters.hpp"

namespace lacuna {
namespace {

// About what a timed call costs more than one that passes (the timing code is not in L1 by then),
// and the share of the calls' time that this may take: one in 2000.
constexpr int64_t kTimingNs = 250;
constexpr int64_t kOneIn = 2000;
// The first calls of a group are all timed. Then, until kMany are, more are timed than kOneIn
// allows, because a mean of a few calls would be a guess.
constexpr uint32_t kFirst = 16;
constexpr int64_t kMany = 128;
constexpr int64_t kMostPass = 8191;  // on average

}  // namespace

thread_local constinit CallGroups* t_call_groups __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace {

uint64_t serial_of(const ObservedType* record) noexcept {
  return record != nullptr ? record->serial.load(std::memory_order_relaxed) : 0;
}

}  // namespace

bool CallGroup::is_of(const CallGroupKey& one) const noexcept {
  return caller == one.caller && type.load(std::memory_order_relaxed) == one.type &&
         function == one.function && octave == one.octave && record == one.record &&
         serial == serial_of(record);
}

// The group of the key, or the one to replace: of the few where it may be, that with the fewest
// timed calls. (With one place for each key, two keys that collided replaced each other, so that
// each call was timed. A program of ten groups had such a pair in every second run.)
CallGroup& CallGroups::place_of(const CallGroupKey& key) noexcept {
  constexpr size_t kWays = 4;
  const uint64_t mixed = reinterpret_cast<uintptr_t>(key.caller) +
                         (uint64_t{handle_bits(key.type)} << 7) +
                         (static_cast<uint64_t>(key.function) << 33) + (uint64_t{key.octave} << 25);
  const size_t first = hash_slot(mixed, kBits);
  CallGroup* best = nullptr;
  for (size_t i = 0; i < kWays; ++i) {
    CallGroup& group = groups[(first + i) % kCallGroups];
    if (group.is_of(key)) return group;
    if (best == nullptr || group.seen < best->seen) best = &group;
  }
  return *best;
}

CallGroup& CallGroups::of(const CallGroupKey& key) noexcept {
  CallGroup* group = &place_of(key);
  if (group->is_of(key)) return *group;
  count_passed(group);
  if (CallGroup*& one = last_of(group->function, group->caller); one == group) one = &none;
  group->caller = key.caller;
  group->type.store(key.type, std::memory_order_relaxed);
  group->function = key.function;
  group->octave = key.octave;
  group->record = key.record;
  group->serial = serial_of(key.record);
  group->site = site_of(key.caller);
  group->count = group->next_count = kNoCount;
  group->elements.store(0, std::memory_order_relaxed);
  group->left = group->gap = group->looked_at = 0;
  group->seen = 0;
  group->mean_ns = 0;
  group->cell = nullptr;
  return *group;
}

void CallGroups::forget(uintptr_t type) noexcept {
  for (CallGroup& group : groups) {
    if (handle_bits(group.type.load(std::memory_order_relaxed)) == type)
      group.type.store(MPI_Datatype{}, std::memory_order_relaxed);
  }
}

unsigned octave_of_count(MPI_Count count) noexcept {
  return static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(count)));
}

bool count_slowly(const CallGroupKey& key, MPI_Count count) noexcept {
  CallGroups* groups = t_call_groups;
  if (groups == nullptr) return false;
  CallGroup& group = groups->of(key);
  groups->last_of(key.function, key.caller) = &group;
  if (!detail::count_down(&group)) {
    group.next_count = count;
    groups->chosen = &group;
    return false;
  }
  if (count != group.count) add(&group.elements, count - group.count);
  return true;
}

bool count_slowly(FunctionId function, const void* caller) noexcept {
  return count_slowly({.caller = caller, .function = function}, kNoCount);
}

void uncount(FunctionId function, const void* caller, MPI_Count count) noexcept {
  if (const void* given = given_caller()) caller = given;
  CallGroup* group = t_call_groups->last_of(function, caller);
  ++group->left;
  if (count != group->count) add(&group->elements, group->count - count);
}

void count_untimed(CallGroup* group) noexcept {
  UntimedCalls& untimed = group->untimed;
  if (untimed.calls == 0) return;
  const auto function = static_cast<uint16_t>(group->function);
  for (size_t i = 0; i < kMostOutcomes && untimed.outcome_words[i] != 0; ++i) {
    const uint64_t word = untimed.outcome_words[i];
    count_outcome({function, type_in(word), group->site}, outcome_in(word),
                  times_in(word) * untimed.calls, untimed.bytes[i]);
  }
  if (Cell* cell = cell_of({function, untimed.type, group->site}, untimed.octave))
    add(&cell->calls, untimed.calls);
  untimed.calls = 0;
}

void count_passed(CallGroup* group) noexcept {
  count_untimed(group);
  const int64_t passed = int64_t{group->gap} - group->left - group->looked_at;
  if (group->cell != nullptr && passed > 0) {
    add(&group->cell->calls, passed);
    if (group->outcome != kNoOutcome) add(&group->cell->outcomes[group->outcome], passed);
    int64_t elements = group->elements.load(std::memory_order_relaxed);
    if (group->count > 0) elements += passed * group->count;
    if (elements != 0) add(&group->cell->bytes_declined, elements * group->element_bytes);
  }
  group->gap = group->left;
  group->looked_at = 0;
  group->elements.store(0, std::memory_order_relaxed);
}

// A moving average: the library's preparations in a first call, or a wait, do not count for long.
void CallGroups::draw_gap(CallGroup* group, int64_t ns) noexcept {
  group->mean_ns += group->seen == 0 ? ns : (ns - group->mean_ns) / 8;
  ++group->seen;
  int32_t gap = 0;
  if (group->seen >= kFirst) {
    const int64_t mean = std::max<int64_t>(group->mean_ns, 1);
    const int64_t seen = group->seen;
    const int64_t most = std::min(seen * std::max(seen, kMany) / kMany, kMostPass);
    const int64_t pass = std::min<int64_t>(kTimingNs * kOneIn / mean, most);
    random ^= random << 13;  // xorshift, of Marsaglia
    random ^= random >> 7;
    random ^= random << 17;
    gap = static_cast<int32_t>((random >> 32) % static_cast<uint64_t>(2 * pass + 1));
  }
  group->gap = gap;
  group->left = gap;
  if (gap > 0 && group->record != nullptr)
    group->record->has_call_groups.store(true, std::memory_order_relaxed);
}

}  // namespace lacuna
