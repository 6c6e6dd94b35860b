// SPDX-License-Identifier: BSD-3-Clause
//
// For which messages a kernel prefetches in software, and how far ahead.
#ifndef LACUNA_ENGINE_PLAN_STRATEGY_PREFETCH_HPP_
#define LACUNA_ENGINE_PLAN_STRATEGY_PREFETCH_HPP_

#include "plan/strategy/regimes.hpp"
#include "plan/strategy/strategy.hpp"

namespace lacuna::strategy {

struct PrefetchRule {
  Sizes pack;
  Sizes unpack;
  int64_t far_bytes = Regime::kNoEnd;  // from here on at the distance for DRAM
  int64_t bytes = 0;                   // of an iteration
  bool into_l2 = false;
  bool in_order = false;                 // lists, packing: all lines, one after the other
  int64_t masks_below = Regime::kNoEnd;  // lists: larger messages are unpacked without masks

  bool operator==(const PrefetchRule&) const = default;
  const Sizes& sizes(Direction way) const { return way == Direction::kPack ? pack : unpack; }
  // For a message and what is written of it; no runs: no prefetch.
  Prefetch at(Direction way, int64_t message, int64_t output, const Machine& machine) const;
  void cut(Direction way, Cuts& messages, Cuts& outputs) const;
};

// For runs or records of `span` bytes at the stride of the step's inner loop.
PrefetchRule prefetch_strided(const Step& step, int64_t span, const Host& host);
// For a list of equal runs.
PrefetchRule prefetch_list(const Step& step, const Host& host);
// For a list of runs of unequal lengths.
PrefetchRule prefetch_runs(const Step& step, const Host& host);

}  // namespace lacuna::strategy

#endif  // LACUNA_ENGINE_PLAN_STRATEGY_PREFETCH_HPP_
