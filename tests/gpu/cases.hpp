// SPDX-License-Identifier: BSD-3-Clause
//
// The random cases of the device's tests: those of the property tests, most with less memory, since
// filling and comparing it is what takes time; and some with parts so long that a plan has pieces.
#ifndef LACUNA_TESTS_GPU_CASES_HPP_
#define LACUNA_TESTS_GPU_CASES_HPP_

#include <algorithm>
#include <cstdlib>

#include "property/case.hpp"
#include "type/random.hpp"
#include "type/text.hpp"

namespace lacuna::testing {

inline Case device_case(uint64_t seed) {
  constexpr int64_t kMostSpan = int64_t{1} << 16;
  Case c = make_case(seed);
  if (seed % 8 == 1) {
    const int64_t behind = (std::max<int64_t>(0, c.type->true_ub) + 23) / 8 * 8;
    const TypePtr parts = parse_type("hvector(3, 20000, 20016, byte)").value();
    c.type = make_struct({1, 1, 1}, {0, behind, behind + 65536}, {c.type, parts, c.type}).value();
    c.count = 1 + static_cast<int64_t>(seed / 8 % 2);
    c.receivable = !has_overlap(*c.type, c.count);
  } else if (seed % 16 != 0) {
    const int64_t extent = std::max<int64_t>(1, std::abs(c.type->extent()));
    c.count = std::min(c.count, std::max<int64_t>(1, kMostSpan / extent));
  }
  return c;
}

}  // namespace lacuna::testing

#endif  // LACUNA_TESTS_GPU_CASES_HPP_
