// SPDX-License-Identifier: BSD-3-Clause
//
// Types for tests, from texts and constructors that must succeed.
#ifndef LACUNA_TYPE_BUILD_TEST_HPP_
#define LACUNA_TYPE_BUILD_TEST_HPP_

#include <gtest/gtest.h>

#include "type/text/text.hpp"
#include "type/type.hpp"

namespace lacuna {

inline TypePtr must(const Result<TypePtr>& type) {
  if (!type) {
    ADD_FAILURE() << type.error().message;
    return make_named(*find_basic("byte"));
  }
  return *type;
}

inline TypePtr parsed(const char* text) { return must(parse_type(text)); }

inline TypePtr named(const char* name) { return make_named(*find_basic(name)); }

// The standard's running example: a double at 0 and a char at 8, which a C struct pads to 16.
inline constexpr const char* kDoubleChar = "struct([1, 1], [0, 8], [double, char])";

inline TypePtr double_char() { return parsed(kDoubleChar); }

}  // namespace lacuna

#endif  // LACUNA_TYPE_BUILD_TEST_HPP_
