// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/arena/distance.hpp"

#include <atomic>
#include <string>

#include "base/options.hpp"

namespace lacuna::direct {
namespace {

// A load that takes longer is far; includes reading the clock. Between close cores it takes 20 to
// 85 ns, between far cores 130 to 295 ns (docs/experiments/2026-11-26-direct-path-choices.md).
constexpr std::chrono::nanoseconds kFarLoad{100};
constexpr uint32_t kTimesForALook = 16;
constexpr uint32_t kTimesIfUnsettled = 4;

// By peer index; of peers beyond kMostKnown the distance stays unknown. With threads a measurement
// may be lost.
struct Known {
  std::atomic<uint32_t> distance_samples{DistanceSamples().bits()};
  std::atomic<Distance> reported{Distance::kUnknown};
};
constexpr uint32_t kMostKnown = 504;
constinit Known g_known[kMostKnown] = {};
constinit std::atomic<uint32_t> g_landings{0};

// LACUNA_DISTANCE: measured, or fixed for tests. "alternate": it changes with each token; "turns"
// is its old name.
enum class Wish : uint8_t { kMeasured, kClose, kFar, kAlternate };

Wish read_wish() noexcept {
  const std::string& text = option_text(OptionId::kDistance);
  if (text == "close") return Wish::kClose;
  if (text == "far") return Wish::kFar;
  return text == "alternate" || text == "turns" ? Wish::kAlternate : Wish::kMeasured;
}

Distance wished(Wish wish, uint64_t token) noexcept {
  constexpr uint64_t kDistances = 3;
  return wish == Wish::kClose ? Distance::kClose
         : wish == Wish::kFar ? Distance::kFar
                              : static_cast<Distance>(token % kDistances);
}

Wish wish() noexcept {
  static const Wish read = read_wish();
  return read;
}

// Reads another line of the same page first, to keep the page-table walk out of the time, which is
// long in guests. Half a page away, so that no prefetcher brings the line itself.
void enter_page(const uint64_t* word) noexcept {
  constexpr uintptr_t kPage = 4096;
  const auto at = reinterpret_cast<uintptr_t>(word);
  const uintptr_t other = at / kPage * kPage + (at + kPage / 2) % kPage;
  __atomic_load_n(reinterpret_cast<const uint64_t*>(other), __ATOMIC_ACQUIRE);
}

DistanceClock::duration time_token(const Region& region) noexcept {
  enter_page(&region.token.id);
  const auto begin = DistanceClock::now();
  const uint64_t id = __atomic_load_n(&region.token.id, __ATOMIC_ACQUIRE);
  asm volatile("" : : "r"(id) : "memory");
  return DistanceClock::now() - begin;
}

DistanceSamples samples_of(uint32_t peer) noexcept {
  return DistanceSamples(g_known[peer].distance_samples.load(std::memory_order_relaxed));
}

}  // namespace

bool is_sample_due(uint32_t peer, uint32_t times) noexcept {
  if (times % kTimesIfUnsettled != 0 || peer >= kMostKnown) return false;
  return times % kTimesForALook == 0 || !samples_of(peer).are_settled();
}

void record_sample(uint32_t peer, DistanceClock::duration took) noexcept {
  if (peer >= kMostKnown) return;
  g_known[peer].distance_samples.store(samples_of(peer).after(took >= kFarLoad).bits(),
                                       std::memory_order_relaxed);
}

Distance sample_distance(const Region& region, uint32_t sender) noexcept {
  const uint32_t landings = g_landings.load(std::memory_order_relaxed) + 1;
  g_landings.store(landings, std::memory_order_relaxed);
  if (!is_sample_due(sender, landings)) return Distance::kUnknown;
  record_sample(sender, time_token(region));
  return samples_of(sender).distance();
}

Distance distance_from(uint32_t peer, uint64_t token) noexcept {
  if (wish() != Wish::kMeasured) return wished(wish(), token);
  return peer < kMostKnown ? samples_of(peer).distance() : Distance::kUnknown;
}

void record_reported(uint64_t token, Distance distance) noexcept {
  const uint64_t receiver = token >> kReceiverShift;
  if (receiver < kMostKnown) g_known[receiver].reported.store(distance, std::memory_order_relaxed);
}

Distance distance_to(uint64_t token) noexcept {
  if (wish() != Wish::kMeasured) return wished(wish(), token);
  const uint64_t receiver = token >> kReceiverShift;
  return receiver < kMostKnown ? g_known[receiver].reported.load(std::memory_order_relaxed)
                               : Distance::kUnknown;
}

}  // namespace lacuna::direct
