// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/sampling.hpp"

#include <algorithm>
#include <bit>

#include "interpose/report_cells.hpp"
#include "interpose/types.hpp"

namespace lacuna {
namespace {

// About what a timed call costs more than one that passes (the code that times is cold by then),
// and the part of the calls' time that this may take.
constexpr int64_t kTimingNs = 250;
constexpr int64_t kOneIn = 500;
// All of the first calls of a lane are timed, and then, until there are many, more than that: a
// mean of few would be no better than a guess.
constexpr uint32_t kFirst = 16;
constexpr uint32_t kSeenForEach = 4;
constexpr int64_t kMostPass = 2047;  // on average

}  // namespace

thread_local constinit Lanes* t_lanes __attribute__((tls_model("initial-exec"))) = nullptr;

constinit std::atomic<uint64_t> g_no_serial{0};

namespace {

unsigned octave_of_count(MPI_Count count) noexcept {
  return static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(count)));
}

bool pass_slowly(const LaneKey& key, MPI_Count count) noexcept {
  Lanes* lanes = t_lanes;
  if (lanes == nullptr) return false;
  Lane& lane = lanes->of(key);
  if (!detail::pass(lanes, &lane)) {
    lane.next_count = count;
    lanes->chosen = &lane;
    return false;
  }
  if (count != lane.count) add(&lane.elements, count - lane.count);
  lanes->last[Lanes::slot_of(key.caller)] = &lane;
  return true;
}

}  // namespace

// Its own, an empty one, or that of which the fewest calls have been timed, of the few where it may
// be. (Where there was one place for each, two that met there were timed at each call, and a
// program of ten lanes had such a pair in every second run.)
Lane& Lanes::place_of(const LaneKey& key) noexcept {
  constexpr size_t kWays = 4;
  const uint64_t mixed = reinterpret_cast<uintptr_t>(key.caller) + (key.type << 7) +
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
  lane->key = key;
  lane->serial = key.serial->load(std::memory_order_relaxed);
  lane->count = lane->next_count = kNoCount;
  lane->skip.store(0, std::memory_order_relaxed);
  lane->elements.store(0, std::memory_order_relaxed);
  lane->gap = lane->looked_at = lane->seen = 0;
  lane->mean_ns = 0;
  lane->cell = nullptr;
  return *lane;
}

bool pass_slowly(FunctionId function, const void* caller) noexcept {
  return pass_slowly({.caller = caller, .function = function}, kNoCount);
}

bool pass_slowly(FunctionId function, const void* caller, MPI_Datatype datatype, MPI_Count count,
                 Operation operation) noexcept {
  LaneKey key{.caller = caller,
              .type = handle_bits(datatype),
              .function = function,
              .octave = octave_of_count(count)};
  if (count < 0) return false;
  if (!plainly_predefined(datatype)) {
    const TypeRecord* record = known_to_be_left_alone(datatype, count, operation);
    if (record == nullptr) return false;
    key.serial = &record->serial;
  }
  return pass_slowly(key, count);
}

void take_back(MPI_Count count) noexcept {
  Lane* lane = t_lanes->passing;
  lane->skip.store(lane->left() + 1, std::memory_order_relaxed);
  if (count != lane->count) add(&lane->elements, lane->count - count);
}

void settle(Lane* lane) noexcept {
  const int64_t passed = int64_t{lane->gap} - lane->left() - lane->looked_at;
  if (lane->cell != nullptr && passed > 0) {
    add(&lane->cell->calls, passed);
    if (lane->outcome != kNoOutcome) add(&lane->cell->outcomes[lane->outcome], passed);
    int64_t elements = lane->elements.load(std::memory_order_relaxed);
    if (lane->count > 0) elements += passed * lane->count;
    if (elements != 0) add(&lane->cell->bytes_declined, elements * lane->element_bytes);
  }
  lane->gap = lane->left();
  lane->looked_at = 0;
  lane->elements.store(0, std::memory_order_relaxed);
}

// The mean forgets: the library's preparations in a first call, or a wait, do not count for long.
void Lanes::learn(Lane* lane, int64_t ns) noexcept {
  lane->mean_ns += lane->seen == 0 ? ns : (ns - lane->mean_ns) / 8;
  ++lane->seen;
  uint32_t gap = 0;
  if (lane->seen >= kFirst) {
    const int64_t mean = std::max<int64_t>(lane->mean_ns, 1);
    const int64_t most = std::min<int64_t>(lane->seen / kSeenForEach, kMostPass);
    const int64_t pass = std::min<int64_t>(kTimingNs * kOneIn / mean, most);
    random ^= random << 13;  // xorshift, of Marsaglia
    random ^= random >> 7;
    random ^= random << 17;
    gap = static_cast<uint32_t>((random >> 32) % static_cast<uint64_t>(2 * pass + 1));
  }
  lane->gap = gap;
  lane->skip.store(gap, std::memory_order_relaxed);
}

}  // namespace lacuna
