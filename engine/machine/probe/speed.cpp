// SPDX-License-Identifier: BSD-3-Clause
//
// Speeds of one level: bandwidths of long runs, and the time of a line in several orders. Pages are
// those that a program gets without madvise, and TLB misses are part of the times.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "machine/probe/loops/chase.hpp"
#include "machine/probe/loops/moves.hpp"
#include "machine/probe/loops/timing.hpp"
#include "machine/probe/survey.hpp"

namespace lacuna::probe {
namespace {

constexpr uint64_t kMostTouches = 1 << 16;  // in one list: more would evict what is touched
constexpr int64_t kRunBytes = 4 << 20;      // how much of a large set one sample moves
constexpr int64_t kUnit = 4096;

// No zeros and no repeated words: some CPUs write them faster
// (docs/experiments/2026-11-29-what-misleads-the-probe.md).
void fill(const Region& region) {
  uint64_t word = 0x9e3779b97f4a7c15u;
  for (size_t at = 0; at + sizeof word <= region.bytes(); at += sizeof word) {
    std::memcpy(region.data() + at, &word, sizeof word);
    word = word * 0xd1342543de82ef95u + 1;
  }
}

// Moves [0, bytes) in pieces of at most kRunBytes, each call from where the last one ended.
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

// Times of one access in an order, sorted. In a large set each sample touches other lines, so that
// none is still cached.
template <bool kAsks = false>
std::vector<double> touch_ns(char* base, Order order, bool is_store, int64_t bytes,
                             const Machine& m, int samples) {
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
          store_each<kAsks>(base, offsets);
        } else {
          sum += load_each<kAsks>(base, offsets);
        }
      }
    });
    if (sample >= 0) times.push_back(ns / turns / static_cast<double>(count));  // the first warms
  }
  asm volatile("" : : "r"(sum));
  std::sort(times.begin(), times.end());
  return times;
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
        survey->evidence.insert(
            {number.name,
             {"not measured: the largest working set is smaller than twice the L3", 0}});
    }
    return;
  }
  const Region region(static_cast<size_t>(bytes), Pages::kDefault);
  char* const base = region.data();
  if (base == nullptr) return;
  fill(region);
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
  // From one half to the other, so that both are in the level.
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
                     lower_quartile(touch_ns(base, touch.order, touch.is_store, bytes, m, samples)),
                     lines);
  }
  if (level != Level::kMemory) return;
  for (const bool is_store : {false, true}) {
    const double plain = median(touch_ns(base, Order::kSame, is_store, bytes, m, samples));
    const double asked = median(touch_ns<true>(base, Order::kSame, is_store, bytes, m, samples));
    survey->measured(is_store ? "memory_same_store_ns" : "memory_same_load_ns",
                     std::min(plain, asked), lines + (asked < plain ? ", with prefetches" : ""));
  }
}

// Measures from which size on copies by non-temporal stores are faster. The size of an L3 that
// others share does not tell (docs/experiments/2026-11-29-what-misleads-the-probe.md).
void measure_streaming(const Effort& effort, int64_t most_bytes, Survey* survey) {
  const int64_t most = most_bytes / 2 / kUnit * kUnit;
  const Region region(static_cast<size_t>(2 * most), Pages::kDefault);
  if (region.data() == nullptr) return;
  fill(region);
  struct Size {
    size_t bytes;
    double stored_ns, streamed_ns;
  };
  std::vector<Size> sizes;
  for (auto bytes = static_cast<double>(2 * survey->profile.machine.l2_bytes);
       bytes <= static_cast<double>(most); bytes *= std::sqrt(2.0)) {
    sizes.push_back({static_cast<size_t>(bytes) / kUnit * kUnit, HUGE_VAL, HUGE_VAL});
  }
  const Moves& moves = best_moves();
  // The first copy is not timed: it puts the caches into the state that such copies leave.
  const auto time = [&](void (*copy)(const char*, char*, size_t), size_t bytes) {
    copy(region.data(), region.data() + most, bytes);
    return time_ns([&] { copy(region.data(), region.data() + most, bytes); });
  };
  // All repetitions of a size in a row: the L3 takes some of them to keep what fits into it.
  for (Size& size : sizes) {
    for (int i = 0; i < effort.rounds * effort.samples; ++i) {
      size.stored_ns = std::min(size.stored_ns, time(moves.copy, size.bytes));
      size.streamed_ns = std::min(size.streamed_ns, time(moves.stream_copy, size.bytes));
    }
  }
  size_t first = sizes.size();
  while (first > 0 && sizes[first - 1].streamed_ns < sizes[first - 1].stored_ns) --first;
  if (first == sizes.size()) {
    survey->evidence.insert(
        {"stream_run_bytes",
         {"non-temporal copies are not faster at " + std::to_string(most >> 20) + " MiB"}});
    return;
  }
  const double from = static_cast<double>(sizes[first].bytes) / std::pow(2.0, 0.25);
  survey->measured("stream_run_bytes", std::floor(from),
                   "non-temporal copies are faster from " +
                       std::to_string(sizes[first].bytes >> 10) + " KiB on, " + survey->isa);
}

}  // namespace lacuna::probe
