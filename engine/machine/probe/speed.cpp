// SPDX-License-Identifier: BSD-3-Clause
//
// Speeds of one level: bandwidths of long runs, and the time of a line in three orders. Memory
// comes in the pages that a program gets that does not ask, and TLB misses are part of the times.
#include <algorithm>

#include "machine/probe/chase.hpp"
#include "machine/probe/moves.hpp"
#include "machine/probe/survey.hpp"
#include "machine/probe/timing.hpp"

namespace lacuna::probe {
namespace {

constexpr uint64_t kMostTouches = 1 << 16;  // in one list: more would evict what is touched
constexpr int64_t kRunBytes = 4 << 20;      // of a large set taken in one sample
constexpr int64_t kUnit = 4096;

// Runs over [0, bytes) in pieces of at most kRunBytes, from where the last call ended.
class Runner {
 public:
  Runner(int64_t bytes, int samples) : bytes_(bytes), samples_(samples) {}

  // Bytes per ns of move(offset, length).
  template <typename Move>
  double operator()(Move&& move) {
    const int64_t piece = std::min(bytes_, kRunBytes) / kUnit * kUnit;
    const auto work = [&](int64_t pieces) {
      for (int64_t i = 0; i < pieces; ++i) {
        if (at_ + piece > bytes_) at_ = 0;
        move(static_cast<size_t>(at_), static_cast<size_t>(piece));
        at_ += piece;
      }
    };
    work(std::max<int64_t>(1, std::min(bytes_, 4 * kRunBytes) / piece));  // warm
    const double ns = lower_quartile(sample_ns(samples_, 1, work));
    return static_cast<double>(piece) / ns;
  }

 private:
  int64_t bytes_;
  int samples_;
  int64_t at_ = 0;
};

// Time of one access in an order. Lists of a large set differ from sample to sample, since lines
// come back only after all others.
double touch_ns(char* base, Order order, bool is_store, int64_t bytes, const Machine& m,
                int samples) {
  const auto lines = static_cast<uint64_t>(bytes / m.line_bytes);
  const uint64_t count = std::min(lines, kMostTouches);
  std::vector<double> times;
  uint64_t first = 0;
  uint64_t sum = 0;
  const int turns = static_cast<int>(std::max<uint64_t>(1, kMostTouches / 4 / count));
  for (int sample = -1; sample < samples; ++sample, first += count) {
    const auto offsets =
        touch_offsets(order, static_cast<uint64_t>(bytes), static_cast<uint64_t>(m.line_bytes),
                      static_cast<uint64_t>(m.page_bytes), first, count);
    const double ns = time_ns([&] {
      for (int turn = 0; turn < turns; ++turn) {
        if (is_store) {
          store_each(base, offsets);
        } else {
          sum += load_each(base, offsets);
        }
      }
    });
    if (sample >= 0) times.push_back(ns / turns / static_cast<double>(count));  // the first warms
  }
  asm volatile("" : : "r"(sum));
  std::sort(times.begin(), times.end());
  return lower_quartile(times);
}

}  // namespace

void measure_speeds(const Effort& effort, Level level, int64_t most_bytes, Survey* survey) {
  const Machine m = survey->profile.machine;
  const char* const prefixes[] = {"l1_", "l2_", "l3_", "memory_"};
  const std::string prefix = prefixes[static_cast<size_t>(level)];
  const int64_t bytes = bytes_inside(m, level, most_bytes) / (2 * kUnit) * (2 * kUnit);
  if (level == Level::kMemory && bytes < 2 * m.l3_bytes) {
    for (const Number& number : machine_numbers()) {
      if (number.speed != nullptr && number.level == level)
        survey->evidence.insert({number.name, {"not measured: no set beyond the last cache", 0}});
    }
    return;
  }
  const Region region(static_cast<size_t>(bytes), Pages::kDefault);
  char* const base = region.data();
  if (base == nullptr) return;
  const std::string how = std::to_string(bytes >> 10) + " KiB, " + survey->isa;
  const int samples = effort.rounds * effort.samples;
  const Moves& moves = best_moves();
  const auto speed = [&](const char* name, double bytes_per_ns) {
    survey->measured(prefix + name, bytes_per_ns, how);
  };
  Runner whole(bytes, samples);
  uint64_t sum = 0;
  speed("write_bytes_per_ns", whole([&](size_t at, size_t n) { moves.write(base + at, n); }));
  speed("read_bytes_per_ns", whole([&](size_t at, size_t n) { sum += moves.read(base + at, n); }));
  speed("stream_write_bytes_per_ns",
        whole([&](size_t at, size_t n) { moves.stream_write(base + at, n); }));
  asm volatile("" : : "r"(sum));
  // Half to half, so that both are in the level.
  Runner half(bytes / 2, samples);
  char* const other = base + bytes / 2;
  speed("copy_bytes_per_ns",
        half([&](size_t at, size_t n) { moves.copy(base + at, other + at, n); }));
  speed("stream_copy_bytes_per_ns",
        half([&](size_t at, size_t n) { moves.stream_copy(base + at, other + at, n); }));

  const std::string lines = std::to_string(bytes >> 10) + " KiB, TLB misses included";
  struct Touch {
    const char* name;
    Order order;
    bool is_store;
  };
  for (const Touch& touch :
       {Touch{"skip_load_ns", Order::kSkip, false}, Touch{"skip_store_ns", Order::kSkip, true},
        Touch{"page_load_ns", Order::kPage, false}, Touch{"page_store_ns", Order::kPage, true},
        Touch{"random_load_ns", Order::kRandom, false},
        Touch{"random_store_ns", Order::kRandom, true}}) {
    survey->measured(prefix + touch.name,
                     touch_ns(base, touch.order, touch.is_store, bytes, m, samples), lines);
  }
}

}  // namespace lacuna::probe
