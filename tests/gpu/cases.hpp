// SPDX-License-Identifier: BSD-3-Clause
//
// The random cases of the device's tests: those of the property tests, most with less memory, since
// filling and comparing it is what takes time; some with parts so long that a plan has pieces; and
// some lists of structs, which the others are too short for.
#ifndef LACUNA_TESTS_GPU_CASES_HPP_
#define LACUNA_TESTS_GPU_CASES_HPP_

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "property/case.hpp"
#include "type/random/random.hpp"
#include "type/text/text.hpp"

namespace lacuna::testing {

// Structs of two or more runs of bytes, at places that do not rise.
inline TypePtr listed_structs(uint64_t seed) {
  Choices choices(seed);
  const int64_t unit = int64_t{1} << choices.below(4);
  std::vector<int64_t> lengths;
  std::vector<int64_t> places;
  std::vector<TypePtr> types;
  int64_t end = 0;
  for (int64_t fields = 2 + choices.below(6); fields > 0; --fields) {
    places.push_back(end + unit * choices.below(3));
    lengths.push_back(unit * (1 + choices.below(4)));
    types.push_back(parse_type("byte").value());
    end = places.back() + lengths.back();
  }
  TypePtr element = make_struct(lengths, places, types).value();
  element = make_resized(0, end + unit * choices.below(3), element).value();
  std::vector<int64_t> listed(static_cast<size_t>(40 + choices.below(200)));
  for (size_t i = 0; i < listed.size(); ++i) listed[i] = static_cast<int64_t>(2 * i);
  for (size_t i = listed.size() - 1; i > 0; --i)
    std::swap(listed[i], listed[static_cast<size_t>(choices.below(static_cast<int64_t>(i) + 1))]);
  return make_indexed_block(1, listed, element).value();
}

inline Case device_case(uint64_t seed) {
  constexpr int64_t kMostSpan = int64_t{1} << 16;
  Case c = make_case(seed);
  if (seed % 32 == 2) {
    c.type = listed_structs(seed);
    c.count = 1;
    c.receivable = true;
  } else if (seed % 8 == 1) {
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
