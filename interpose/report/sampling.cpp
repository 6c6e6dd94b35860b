// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/report/sampling.hpp"

#include <algorithm>
#include <bit>

#include "interpose/report/counters.hpp"

namespace lacuna {
namespace {

// About what a timed call costs more than one that passes (the timing code is not in L1 by then),
// and the share of the calls' time that this may take: one in 2000.
constexpr int64_t kTimingNs = 250;
constexpr int64_t kOneIn = 2000;
// The first calls of a lane are all timed. Then, until kMany are, more are timed than kOneIn
// allows, because a mean of a few calls would be a guess.
constexpr uint32_t kFirst = 16;
constexpr int64_t kMany = 128;
constexpr int64_t kMostPass = 8191;  // on average

}  // namespace

thread_local constinit Lanes* t_lanes __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

uint64_t serial_of(const ObservedType* record) noexcept {
  return record != nullptr ? record->serial.load(std::memory_order_relaxed) : 0;
}

}  // namespace

bool Lane::is_of(const LaneKey& one) const noexcept {
  return caller == one.caller && type.load(std::memory_order_relaxed) == one.type &&
         function == one.function && octave == one.octave && record == one.record &&
         serial == serial_of(record);
}

// The lane of the key, or the one to replace: of the few where it may be, that with the fewest
// timed calls. (With one place for each key, two keys that collided replaced each other, so that
// each call was timed. A program of ten lanes had such a pair in every second run.)
Lane& Lanes::place_of(const LaneKey& key) noexcept {
  constexpr size_t kWays = 4;
  const uint64_t mixed = reinterpret_cast<uintptr_t>(key.caller) +
                         (uint64_t{handle_bits(key.type)} << 7) +
                         (static_cast<uint64_t>(key.function) << 33) + (uint64_t{key.octave} << 25);
  const size_t first = mixed * 0x9E3779B97F4A7C15U >> (64 - kBits);
  Lane* best = nullptr;
  for (size_t i = 0; i < kWays; ++i) {
    Lane& lane = lanes[(first + i) % kLanes];
    if (lane.is_of(key)) return lane;
    if (best == nullptr || lane.seen < best->seen) best = &lane;
  }
  return *best;
}

Lane& Lanes::of(const LaneKey& key) noexcept {
  Lane* lane = &place_of(key);
  if (lane->is_of(key)) return *lane;
  settle(lane);
  if (Lane*& one = last_of(lane->function, lane->caller); one == lane) one = &none;
  lane->caller = key.caller;
  lane->type.store(key.type, std::memory_order_relaxed);
  lane->function = key.function;
  lane->octave = key.octave;
  lane->record = key.record;
  lane->serial = serial_of(key.record);
  lane->site = site_of(key.caller);
  lane->count = lane->next_count = kNoCount;
  lane->elements.store(0, std::memory_order_relaxed);
  lane->left = lane->gap = lane->looked_at = 0;
  lane->seen = 0;
  lane->mean_ns = 0;
  lane->cell = nullptr;
  return *lane;
}

void Lanes::forget(uintptr_t type) noexcept {
  for (Lane& lane : lanes) {
    if (handle_bits(lane.type.load(std::memory_order_relaxed)) == type)
      lane.type.store(MPI_Datatype{}, std::memory_order_relaxed);
  }
}

unsigned octave_of_count(MPI_Count count) noexcept {
  return static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(count)));
}

bool pass_slowly(const LaneKey& key, MPI_Count count) noexcept {
  Lanes* lanes = t_lanes;
  if (lanes == nullptr) return false;
  Lane& lane = lanes->of(key);
  lanes->last_of(key.function, key.caller) = &lane;
  if (!detail::pass(&lane)) {
    lane.next_count = count;
    lanes->chosen = &lane;
    return false;
  }
  if (count != lane.count) add(&lane.elements, count - lane.count);
  return true;
}

bool pass_slowly(FunctionId function, const void* caller) noexcept {
  return pass_slowly({.caller = caller, .function = function}, kNoCount);
}

void take_back(FunctionId function, const void* caller, MPI_Count count) noexcept {
  if (const void* told = told_caller()) caller = told;
  Lane* lane = t_lanes->last_of(function, caller);
  ++lane->left;
  if (count != lane->count) add(&lane->elements, lane->count - count);
}

void book_lot(Lane* lane) noexcept {
  Lot& lot = lane->lot;
  if (lot.calls == 0) return;
  const auto function = static_cast<uint16_t>(lane->function);
  for (size_t i = 0; i < kMostTold && lot.told[i] != 0; ++i) {
    const uint64_t told = lot.told[i];
    count_outcome({function, type_told(told), lane->site}, outcome_told(told),
                  times_told(told) * lot.calls, lot.bytes[i]);
  }
  if (Cell* cell = cell_of({function, lot.type, lane->site}, lot.octave))
    add(&cell->calls, lot.calls);
  lot.calls = 0;
}

void settle(Lane* lane) noexcept {
  book_lot(lane);
  const int64_t passed = int64_t{lane->gap} - lane->left - lane->looked_at;
  if (lane->cell != nullptr && passed > 0) {
    add(&lane->cell->calls, passed);
    if (lane->outcome != kNoOutcome) add(&lane->cell->outcomes[lane->outcome], passed);
    int64_t elements = lane->elements.load(std::memory_order_relaxed);
    if (lane->count > 0) elements += passed * lane->count;
    if (elements != 0) add(&lane->cell->bytes_declined, elements * lane->element_bytes);
  }
  lane->gap = lane->left;
  lane->looked_at = 0;
  lane->elements.store(0, std::memory_order_relaxed);
}

// A moving average: the library's preparations in a first call, or a wait, do not count for long.
void Lanes::learn(Lane* lane, int64_t ns) noexcept {
  lane->mean_ns += lane->seen == 0 ? ns : (ns - lane->mean_ns) / 8;
  ++lane->seen;
  int32_t gap = 0;
  if (lane->seen >= kFirst) {
    const int64_t mean = std::max<int64_t>(lane->mean_ns, 1);
    const int64_t seen = lane->seen;
    const int64_t most = std::min(seen * std::max(seen, kMany) / kMany, kMostPass);
    const int64_t pass = std::min<int64_t>(kTimingNs * kOneIn / mean, most);
    random ^= random << 13;  // xorshift, of Marsaglia
    random ^= random >> 7;
    random ^= random << 17;
    gap = static_cast<int32_t>((random >> 32) % static_cast<uint64_t>(2 * pass + 1));
  }
  lane->gap = gap;
  lane->left = gap;
  if (gap > 0 && lane->record != nullptr)
    lane->record->has_lanes.store(true, std::memory_order_relaxed);
}

}  // namespace lacuna
