// SPDX-License-Identifier: BSD-3-Clause
//
// The tables that come with lacuna: interpose/policy/tables/*.json, compiled in by CMake.
#ifndef LACUNA_INTERPOSE_POLICY_SHIPPED_HPP_
#define LACUNA_INTERPOSE_POLICY_SHIPPED_HPP_

#include <string_view>

namespace lacuna {

extern const std::string_view kShippedMpich;
extern const std::string_view kShippedIntelMpi;
extern const std::string_view kShippedOpenMpi;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_POLICY_SHIPPED_HPP_
