// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probe/curve.hpp"

#include <algorithm>
#include <cmath>

namespace lacuna::probe {
namespace {

constexpr double kOctavesPerCell = 0.5;
// The least rise within a cell of a step. Levels are not flat: shared caches were seen to rise by
// a half over two octaves.
constexpr double kRisingCell = 1.2;
constexpr double kLeastCacheRise = 1.3;
constexpr double kLeastMemoryRise = 2;
constexpr double kBeyond = 1.5;  // at so many times a level's size its step has ended
constexpr double kSteep = 3;
constexpr double kLeastTlbRise = 1.2;
// A set that exceeds a cache by an eighth misses in about this part of its loads, whichever way the
// cache replaces lines.
constexpr double kCachePart = 0.25;
// A page too many in a set of w ways makes w + 1 of n pages miss: a few percent beyond the end.
constexpr double kTlbPart = 0.1;
// A step is not the end of a level whose told size differs by more than this factor.
constexpr double kSameStep = 8;
// Within this factor the told size is used: it is exact, and a knee is not.
constexpr double kAgrees = 1.6;
constexpr double kWalkPart = 0.4;  // of the highest later step
constexpr double kFewPages = 16;

Curve on_grid(const Curve& sorted) {
  Curve cells;
  const double last = sorted.back().x;
  const double factor = std::exp2(kOctavesPerCell);
  double x = sorted.front().x;
  for (; x < last * 0.999; x *= factor) cells.push_back({x, value_at(sorted, x)});
  cells.push_back({last, sorted.back().ns});
  return cells;
}

// The share of the L3 that a guest gets, which may be far below the told size. If the latency at
// least doubles beyond the L2, and climbs from a quarter to half of that within a factor of three
// in size, this is the end of the share. (Not by find_steps: the step of a shared cache may follow
// the L2's without a flat part, or be too gradual.) 0: not found.
double find_share(const Curve& sorted, double from) {
  if (from <= 0 || sorted.empty() || sorted.back().x <= from) return 0;
  const Step climb = {from, sorted.back().x, value_at(sorted, from), sorted.back().ns};
  if (climb.high_ns < kLeastMemoryRise * climb.low_ns) return 0;
  const double share = climbed_at(sorted, climb, kCachePart);
  return climbed_at(sorted, climb, 2 * kCachePart) < kSteep * share ? share : 0;
}

}  // namespace

Curve envelope(Curve curve) {
  std::sort(curve.begin(), curve.end(), [](const Point& a, const Point& b) {
    return a.x < b.x || (a.x == b.x && a.ns < b.ns);
  });
  const auto same = [](const Point& a, const Point& b) { return a.x == b.x; };
  curve.erase(std::unique(curve.begin(), curve.end(), same), curve.end());
  for (size_t i = curve.size(); i-- > 1;) curve[i - 1].ns = std::min(curve[i - 1].ns, curve[i].ns);
  return curve;
}

double value_at(const Curve& curve, double x) {
  if (curve.empty()) return 0;
  const auto right = std::lower_bound(curve.begin(), curve.end(), x,
                                      [](const Point& point, double at) { return point.x < at; });
  if (right == curve.begin()) return right->ns;
  if (right == curve.end()) return curve.back().ns;
  const Point& a = *(right - 1);
  const Point& b = *right;
  const double part = std::log(x / a.x) / std::log(b.x / a.x);
  return a.ns + part * (b.ns - a.ns);
}

std::vector<Step> find_steps(const Curve& curve, double least_ratio) {
  std::vector<Step> steps;
  const Curve sorted = envelope(curve);
  if (sorted.size() < 2) return steps;
  const Curve cells = on_grid(sorted);
  for (size_t i = 0; i + 1 < cells.size(); ++i) {
    const size_t begin = i;
    while (i + 1 < cells.size() && cells[i + 1].ns > cells[i].ns * kRisingCell) ++i;
    if (cells[i].ns >= cells[begin].ns * least_ratio)
      steps.push_back({cells[begin].x, cells[i].x, cells[begin].ns, cells[i].ns});
  }
  return steps;
}

double climbed_at(const Curve& curve, const Step& step, double part) {
  const Curve sorted = envelope(curve);
  const double limit = step.low_ns + part * (step.high_ns - step.low_ns);
  double last = step.begin_x;
  for (size_t i = 0; i < sorted.size() && sorted[i].x <= step.end_x; ++i) {
    if (sorted[i].ns <= limit) {
      last = std::max(last, sorted[i].x);
    } else if (i > 0 && sorted[i - 1].ns <= limit) {
      const Point& a = sorted[i - 1];
      const Point& b = sorted[i];
      last = a.x * std::pow(b.x / a.x, (limit - a.ns) / (b.ns - a.ns));
      break;
    }
  }
  return last;
}

std::array<CacheFound, 3> find_caches(const Curve& latency,
                                      const std::array<double, 3>& told_bytes) {
  std::array<CacheFound, 3> found;
  const std::vector<Step> steps = find_steps(latency, kLeastCacheRise);
  std::vector<double> knees;
  for (Step step : steps) {
    // Two steps without a flat part between look like one. The limit keeps the knee at the first.
    step.high_ns = std::min(step.high_ns, step.low_ns * (1 + 1 / kCachePart));
    knees.push_back(climbed_at(latency, step, kCachePart));
  }
  size_t next = 0;  // steps belong to levels in order
  for (size_t level = 0; level < found.size(); ++level) {
    const double told = told_bytes[level];
    size_t best = knees.size();
    double best_distance = std::log(kSameStep);
    for (size_t i = next; i < knees.size(); ++i) {
      const double distance = told > 0 ? std::abs(std::log(knees[i] / told)) : 0;
      if (distance < best_distance) {
        best = i;
        best_distance = distance;
      }
    }
    if (best == knees.size()) continue;
    found[level].bytes = knees[best];
    found[level].agrees = told > 0 && best_distance <= std::log(kAgrees);
    next = best + 1;
  }
  if (found[2].bytes == 0) {
    const double l2 = found[1].bytes == 0 || found[1].agrees ? told_bytes[1] : found[1].bytes;
    found[2].bytes = find_share(envelope(latency), kBeyond * l2);
  }
  return found;
}

TlbFound find_tlb(const Curve& one_to_a_page, const Curve& side_by_side) {
  TlbFound found;
  const Curve pages = envelope(one_to_a_page);
  const Curve packed = envelope(side_by_side);
  if (pages.size() < 3 || packed.empty()) return found;
  // On top of the L1's latency, so that ratios mean the same as for caches.
  const double base = packed.front().ns;
  Curve excess;
  for (const Point& point : pages)
    excess.push_back({point.x, base + std::max(0.0, point.ns - value_at(packed, point.x))});
  excess = envelope(excess);
  found.steps = find_steps(excess, kLeastTlbRise);
  std::erase_if(found.steps, [](const Step& step) { return step.end_x < kFewPages; });
  if (found.steps.empty()) return found;

  const Step& first = found.steps.front();
  const auto entries_of = [&](const Step& step) {
    return static_cast<int64_t>(climbed_at(excess, step, kTlbPart) + 1e-6);
  };
  found.entries = entries_of(first);
  found.miss_ns = first.high_ns - base;
  // The second-level TLB ends where page walks begin: at the first later step that is not small. (A
  // further step as high is where the page table no longer fits the cache.)
  double highest = 0;
  for (size_t i = 1; i < found.steps.size(); ++i)
    highest = std::max(highest, found.steps[i].high_ns - found.steps[i].low_ns);
  const auto second = std::find_if(
      found.steps.begin() + 1, found.steps.end(),
      [&](const Step& step) { return step.high_ns - step.low_ns >= kWalkPart * highest; });
  if (second != found.steps.end()) {
    found.entries2 = entries_of(*second);
    found.walk_ns = second->high_ns - base;
  }
  return found;
}

}  // namespace lacuna::probe
