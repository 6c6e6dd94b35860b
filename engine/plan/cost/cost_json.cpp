// SPDX-License-Identifier: BSD-3-Clause
//
// Costs as JSON, for programs that compare them with measurements.
#include <cstdio>

#include "machine/profile.hpp"
#include "plan/cost/cost.hpp"

namespace lacuna {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string member(const char* name, double value) {
  return "\"" + std::string(name) + "\": " + number(value);
}

std::string one(const Cost& cost) {
  return "{" + member("ns", cost.ns) + ", \"bound\": \"" + bound_name(cost.bound) + "\", " +
         member("instructions_ns", cost.instructions_ns) + ", " +
         member("l1_ns", cost.level_ns[0]) + ", " + member("l2_ns", cost.level_ns[1]) + ", " +
         member("l3_ns", cost.level_ns[2]) + ", " + member("memory_ns", cost.level_ns[3]) + ", " +
         member("tlb_ns", cost.tlb_ns) + ", " + member("start_ns", cost.start_ns) + ", " +
         member("traffic_ns", cost.traffic_ns()) + ", " + member("lines_mem", cost.lines_mem) +
         ", " + member("lines_packed", cost.lines_packed) + ", " + member("pages", cost.pages) +
         "}";
}

template <typename Predict>
std::string warm_and_cold(Predict predict_at) {
  return "{\"warm\": " + one(predict_at(Warmth::kWarm)) +
         ", \"cold\": " + one(predict_at(Warmth::kCold)) + "}";
}

}  // namespace

std::string cost_json(const Plan& plan, int64_t count) {
  const int64_t bytes = count * plan.size();
  const auto at = [&](Direction direction) {
    return warm_and_cold([&](Warmth warmth) { return predict(plan, count, direction, warmth); });
  };
  return "{\"bytes\": " + std::to_string(bytes) +
         ", \"is_measured_machine\": " + (host_profile().path.empty() ? "false" : "true") +
         ", \"pack\": " + at(Direction::kPack) + ", \"unpack\": " + at(Direction::kUnpack) +
         ", \"memcpy\": " + warm_and_cold([&](Warmth warmth) {
           return predict_memcpy(bytes, plan.machine(), warmth);
         }) +
         "}";
}

}  // namespace lacuna
