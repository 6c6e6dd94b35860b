// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_INTERPOSE_POLICY_OUTCOME_HPP_
#define LACUNA_INTERPOSE_POLICY_OUTCOME_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna {

// Why a call on a type was declined, or how it was handled; for log and report.
enum class Outcome : uint8_t {
  kHandled,
  kPredefined,
  kUndecoded,
  kEmpty,
  kContiguous,
  kLongRuns,
  kNoMemory,
  kHiddenCompletion,
  kTooLarge,
  kOnDevice,
  kMixed,
  kOneRun,
  kNew,
  kDirect,
  kPipelined,
  kByDevice,  // handled, by the device that has the data
  kCutByExtent,
  kSeenByComponent,
  kMayOverrun,  // the last one
};
inline constexpr size_t kOutcomesOfTypes = static_cast<size_t>(Outcome::kMayOverrun) + 1;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_POLICY_OUTCOME_HPP_
