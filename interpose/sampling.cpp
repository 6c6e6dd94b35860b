// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/sampling.hpp"

#include <algorithm>

#include "interpose/report_cells.hpp"

namespace lacuna {
namespace {

// About what a timed call costs more than one that passes, and the part of the calls' time that
// this may take.
constexpr int64_t kTimingNs = 100;
constexpr int64_t kOneIn = 500;
// All of the first calls of a lane are timed, and then, until there are many, more than that: a
// mean of few would be no better than a guess.
constexpr uint32_t kFirst = 16;
constexpr uint32_t kSeenForEach = 8;
constexpr int64_t kMostPass = 2047;  // on average

}  // namespace

thread_local constinit Lanes* t_lanes __attribute__((tls_model("initial-exec"))) = nullptr;

Lane& Lanes::of(const void* caller, uintptr_t type, uint32_t which) noexcept {
  Lane* lane = &at(caller, type, which);
  if (lane->is_of(caller, type, which)) return *lane;
  settle(lane);
  lane->caller = caller;
  lane->type = type;
  lane->which = which;
  lane->skip.store(0, std::memory_order_relaxed);
  lane->elements.store(0, std::memory_order_relaxed);
  lane->gap = lane->looked_at = lane->seen = 0;
  lane->mean_ns = 0;
  lane->cell = nullptr;
  return *lane;
}

void choose_lane(FunctionId function, const void* caller, uintptr_t type,
                 MPI_Count count) noexcept {
  Lanes* lanes = t_lanes;
  if (lanes == nullptr) return;
  Lane& lane = lanes->of(caller, type, lane_key(function, count));
  if (lane.left() > 0) return;
  lane.count = count;
  lanes->chosen = &lane;
}

void settle(Lane* lane) noexcept {
  const int64_t passed = int64_t{lane->gap} - lane->left() - lane->looked_at;
  if (lane->cell != nullptr && passed > 0) {
    add(&lane->cell->calls, passed);
    if (lane->outcome != kNoOutcome) add(&lane->cell->outcomes[lane->outcome], passed);
    const int64_t elements = lane->elements.load(std::memory_order_relaxed);
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
