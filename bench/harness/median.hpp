// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_BENCH_HARNESS_MEDIAN_HPP_
#define LACUNA_BENCH_HARNESS_MEDIAN_HPP_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lacuna::bench {

// The upper one of two; `values` must not be empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_HARNESS_MEDIAN_HPP_
