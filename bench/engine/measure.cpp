// SPDX-License-Identifier: BSD-3-Clause
#include "bench/engine/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/engine/evict.hpp"

namespace lacuna::bench {
namespace {

constexpr unsigned kMemSalt = 1;
constexpr unsigned kPackedSalt = 1u << 20;
constexpr int kLeastSamples = 3;
constexpr double kMostCalls = 1e6;
// A call this long finds the caches as it leaves them itself; shorter ones are called once before
// the sample.
constexpr double kLongCallSeconds = 200e-6;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Turns {
 public:
  Turns(const Problem& problem, const std::vector<Rival*>& rivals, const Settings& settings,
        bool is_unpack, bool is_cold)
      : problem_(problem),
        rivals_(rivals),
        settings_(settings),
        is_unpack_(is_unpack),
        is_cold_(is_cold) {}

  void run(const std::function<void(const Times&)>& done) {
    std::vector<Times> times;
    for (Rival* rival : rivals_) {
      call(*rival, 1);
      const double once = timed(*rival, 1);
      const double calls =
          is_cold_ ? 1 : std::ceil(settings_.sample_seconds / std::max(once, 1e-9));
      // Once more with as many calls as that suggests: the first call was slower than the rest.
      const double each = timed(*rival, static_cast<int64_t>(std::clamp(calls, 1.0, 1000.0)));
      const double wanted =
          is_cold_ ? 1 : std::ceil(settings_.sample_seconds / std::max(each, 1e-9));
      times.push_back({rival->name(),
                       is_unpack_,
                       is_cold_,
                       static_cast<int64_t>(std::clamp(wanted, 1.0, kMostCalls)),
                       {}});
      estimate_.push_back(each);
    }
    const auto begin = Clock::now();
    for (int round = 0; round < settings_.samples; ++round) {
      const size_t first = next_random() % rivals_.size();
      for (size_t turn = 0; turn < rivals_.size(); ++turn) {
        const size_t shifted = (first + turn) % rivals_.size();
        const size_t index = round % 2 == 0 ? shifted : rivals_.size() - 1 - shifted;
        times[index].ns.push_back(sample(index, times[index].calls) * 1e9);
      }
      if (round + 1 >= kLeastSamples && seconds_since(begin) > settings_.seconds) break;
    }
    for (const Times& one : times) done(one);
  }

 private:
  double sample(size_t index, int64_t calls) {
    Rival& rival = *rivals_[index];
    if (is_cold_) {
      problem_.evict();
    } else if (estimate_[index] < kLongCallSeconds) {
      call(rival, 1);
    }
    return timed(rival, calls);
  }

  double timed(Rival& rival, int64_t calls) {
    const auto begin = Clock::now();
    call(rival, calls);
    return seconds_since(begin) / static_cast<double>(calls);
  }

  void call(Rival& rival, int64_t calls) {
    if (is_unpack_) {
      rival.unpack(problem_.packed(), problem_.buffer(), calls);
    } else {
      rival.pack(problem_.buffer(), problem_.packed(), calls);
    }
  }

  size_t next_random() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
    return static_cast<size_t>(state_ >> 33);
  }

  const Problem& problem_;
  const std::vector<Rival*>& rivals_;
  const Settings& settings_;
  bool is_unpack_;
  bool is_cold_;
  std::vector<double> estimate_;
  uint64_t state_ = 7;
};

}  // namespace

std::string verify(const Problem& problem, const std::vector<Rival*>& rivals) {
  for (Rival* rival : rivals) {
    if (!rival->is_checked()) continue;
    problem.fill_memory(kMemSalt);
    problem.fill_packed(kPackedSalt);
    rival->pack(problem.buffer(), problem.packed(), 1);
    std::string wrong = problem.check_packed(kMemSalt);
    if (wrong.empty()) {
      problem.fill_packed(kPackedSalt);
      rival->unpack(problem.packed(), problem.buffer(), 1);
      wrong = problem.check_memory(kPackedSalt, kMemSalt);
    }
    if (!wrong.empty()) return rival->name() + ": " + wrong;
  }
  return "";
}

void measure(const Problem& problem, const std::vector<Rival*>& rivals, const Settings& settings,
             const std::function<void(const Times&)>& done) {
  for (const bool is_cold : {false, true}) {
    if (is_cold ? !settings.cold || !kCanEvict : !settings.warm) continue;
    for (const bool is_unpack : {false, true}) {
      Turns(problem, rivals, settings, is_unpack, is_cold).run(done);
    }
  }
}

}  // namespace lacuna::bench
