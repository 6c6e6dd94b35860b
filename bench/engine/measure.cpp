// SPDX-License-Identifier: BSD-3-Clause
#include "bench/engine/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "bench/engine/evict.hpp"

namespace lacuna::bench {
namespace {

constexpr unsigned kMemSalt = 1;
constexpr unsigned kPackedSalt = 1u << 20;
constexpr int kLeastSamples = 3;
constexpr double kMostCalls = 1e6;
// Before a shorter call, there is one that is not timed: non-temporal stores are slow to lines that
// the rival before left dirty in a cache. In longer calls that does not matter.
constexpr double kLongCallSeconds = 5e-3;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Rounds {
 public:
  Rounds(const Problem& problem, const std::vector<Rival*>& rivals, const Settings& settings,
         bool is_unpack, bool is_cold)
      : problem_(problem),
        rivals_(rivals),
        settings_(settings),
        is_unpack_(is_unpack),
        is_cold_(is_cold) {}

  void run(const std::function<void(const Times&)>& done) {
    for (Rival* rival : rivals_) entrants_.push_back(prepared(*rival));
    for (Entrant& entrant : entrants_) order_.push_back(&entrant);
    for (int round = 0; round < settings_.samples; ++round) {
      shuffle();
      for (Entrant* next : order_) {
        Entrant& entrant = *next;
        // A rival with fewer samples has them spread over all rounds.
        const int64_t due = (int64_t{round} + 1) * entrant.samples / settings_.samples;
        if (static_cast<int64_t>(entrant.times.ns.size()) < due) {
          entrant.times.ns.push_back(sample(entrant) * 1e9);
        }
      }
    }
    for (const Entrant& entrant : entrants_) done(entrant.times);
  }

 private:
  struct Entrant {
    Rival* rival;
    Times times;
    double call_seconds;
    int64_t samples;
  };

  // How many calls make a sample, and how many samples fit into this rival's share of the time.
  Entrant prepared(Rival& rival) {
    call(rival, 1);
    // Twice, because the first call is slower than later ones.
    const int64_t guess = calls_for(timed(rival, 1), 1000);
    const double each = timed(rival, guess);
    Entrant entrant{&rival,
                    {rival.name(), is_unpack_, is_cold_, calls_for(each, kMostCalls), {}},
                    each,
                    settings_.samples};
    const auto begin = Clock::now();
    (void)sample(entrant);
    const double share = settings_.seconds / static_cast<double>(rivals_.size());
    const auto fitting = static_cast<int64_t>(share / std::max(seconds_since(begin), 1e-9));
    const int64_t most = settings_.samples;
    entrant.samples = std::clamp(fitting, std::min<int64_t>(kLeastSamples, most), most);
    return entrant;
  }

  int64_t calls_for(double call_seconds, double most) const {
    if (is_cold_) return 1;
    const double wanted = std::ceil(settings_.sample_seconds / std::max(call_seconds, 1e-9));
    return static_cast<int64_t>(std::clamp(wanted, 1.0, most));
  }

  double sample(Entrant& entrant) {
    if (is_cold_) {
      problem_.evict();
    } else if (entrant.call_seconds < kLongCallSeconds) {
      call(*entrant.rival, 1);
    }
    return timed(*entrant.rival, entrant.times.calls);
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

  void shuffle() {
    for (size_t i = order_.size(); i > 1; --i) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
      std::swap(order_[i - 1], order_[(state_ >> 33) % i]);
    }
  }

  const Problem& problem_;
  const std::vector<Rival*>& rivals_;
  const Settings& settings_;
  bool is_unpack_;
  bool is_cold_;
  std::vector<Entrant> entrants_;
  std::vector<Entrant*> order_;  // of one round
  uint64_t state_ = 7;
};

}  // namespace

std::string verify(const Problem& problem, const std::vector<Rival*>& rivals) {
  for (Rival* rival : rivals) {
    if (!rival->is_checked()) continue;
    problem.fill_memory(kMemSalt);
    problem.fill_packed(kPackedSalt);
    rival->pack_checked(problem.buffer(), problem.packed());
    std::string wrong = problem.check_packed(kMemSalt);
    if (wrong.empty()) {
      problem.fill_packed(kPackedSalt);
      rival->unpack_checked(problem.packed(), problem.buffer());
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
      Rounds(problem, rivals, settings, is_unpack, is_cold).run(done);
    }
  }
}

}  // namespace lacuna::bench
