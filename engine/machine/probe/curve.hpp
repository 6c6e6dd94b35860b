// SPDX-License-Identifier: BSD-3-Clause
//
// Curve: time over size, and what follows from it: where it steps up, and which cache or TLB level
// each step is the end of. Pure functions, so that they can be tested on curves of other machines.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_CURVE_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_CURVE_HPP_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lacuna::probe {

struct Point {
  double x;   // bytes or pages
  double ns;  // of one load
};
using Curve = std::vector<Point>;  // in any order

// Sorted, one point for each x, and never falling: a larger set cannot be faster, so a point that
// is slower than one to its right was disturbed and is lowered.
Curve envelope(Curve curve);

// The value at x of a sorted curve, interpolated linearly over the logarithm of x.
double value_at(const Curve& curve, double x);

// A rise from one level to the next.
struct Step {
  double begin_x;  // the last size on the level below, on a grid of half octaves
  double end_x;    // the first on the level above
  double low_ns;
  double high_ns;
};

// Rises by at least `least_ratio`, from left to right.
std::vector<Step> find_steps(const Curve& curve, double least_ratio);

// The last x at which no more than `part` of the step is climbed.
double climbed_at(const Curve& curve, const Step& step, double part);

// Cache sizes from the latency of loads over the size of the working set. `told` is what the system
// says of the levels (0: nothing); a step belongs to the level whose told size is nearest. In a
// guest, the L3 may be far smaller than told.
struct CacheFound {
  double bytes = 0;  // 0: no step seen
  bool agrees = false;
};
std::array<CacheFound, 3> find_caches(const Curve& latency,
                                      const std::array<double, 3>& told_bytes);

// TLB sizes, after Saavedra (Byna 2003, section 5.3): the latency of loads from n lines, one to a
// page, minus that from n adjacent lines, is the cost of TLB misses.
struct TlbFound {
  std::optional<int64_t> entries;  // none: no step seen
  std::optional<int64_t> entries2;
  double miss_ns = 0;
  double walk_ns = 0;
  std::vector<Step> steps;  // where finer sizes should be measured
};
TlbFound find_tlb(const Curve& one_to_a_page, const Curve& side_by_side);

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_CURVE_HPP_
