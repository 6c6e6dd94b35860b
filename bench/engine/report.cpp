// SPDX-License-Identifier: BSD-3-Clause
#include "bench/engine/report.hpp"

#include <cstdio>

#include "bench/harness/json_lines.hpp"
#include "plan/cost/cost.hpp"

namespace lacuna::bench {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string predicted(const Problem& problem) {
  return cost_json(*make_plan(problem.type()), problem.count());
}

}  // namespace

std::string describe(const Problem& problem, const std::vector<Rival*>& rivals) {
  std::string names;
  for (const Rival* rival : rivals) {
    names += (names.empty() ? "" : ", ") + json_string(rival->name());
  }
  return "{\"kind\": \"row\", \"row\": " + json_string(problem.row().id) +
         ", \"bytes\": " + std::to_string(problem.packed_bytes()) +
         ", \"runs\": " + std::to_string(problem.runs()) +
         ", \"span_bytes\": " + std::to_string(problem.span_bytes()) +
         ", \"mem_lines\": " + std::to_string(problem.mem_lines()) +
         ", \"packed_lines\": " + std::to_string(problem.packed_lines()) +
         ", \"mem_pages\": " + std::to_string(problem.mem_pages()) + ", \"rivals\": [" + names +
         "], \"predicted\": " + predicted(problem) + "}";
}

std::string line(const std::string& row, const Times& times) {
  std::string samples;
  for (const double ns : times.ns) samples += (samples.empty() ? "" : ", ") + number(ns);
  return "{\"kind\": \"times\", \"row\": " + json_string(row) +
         ", \"op\": " + (times.is_unpack ? "\"unpack\"" : "\"pack\"") +
         ", \"cache\": " + (times.is_cold ? "\"cold\"" : "\"warm\"") +
         ", \"rival\": " + json_string(times.rival) +
         ", \"calls\": " + std::to_string(times.calls) + ", \"samples_ns\": [" + samples + "]}";
}

}  // namespace lacuna::bench
