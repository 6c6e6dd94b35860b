// SPDX-License-Identifier: BSD-3-Clause
//
// For tests: the plan of a type, by its text.
#ifndef LACUNA_ENGINE_PLAN_PLAN_CHECK_HPP_
#define LACUNA_ENGINE_PLAN_PLAN_CHECK_HPP_

#include <gtest/gtest.h>

#include <utility>

#include "plan/plan.hpp"
#include "type/text/text.hpp"

namespace lacuna {

inline PlanPtr planned(const char* text, const Machine& host = machine(),
                       const KernelTable& kernels = *kernel_tables().front()) {
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  return make_plan(std::move(type).value(), kernels, host);
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_PLAN_CHECK_HPP_
