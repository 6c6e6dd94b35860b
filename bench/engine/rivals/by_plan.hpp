// SPDX-License-Identifier: BSD-3-Clause
//
// By a plan of the C++ below the C API: of one instruction set, for one machine, by one strategy.
#ifndef LACUNA_BENCH_ENGINE_RIVALS_BY_PLAN_HPP_
#define LACUNA_BENCH_ENGINE_RIVALS_BY_PLAN_HPP_

#include <functional>
#include <string>
#include <utility>

#include "bench/engine/rival.hpp"
#include "exec/exec.hpp"
#include "plan/plan.hpp"

namespace lacuna::bench {

class ByPlan : public Rival {
 public:
  // `make` makes the plan for a problem; null: it cannot do this one.
  using Make = std::function<PlanPtr(const Problem&)>;
  ByPlan(std::string name, Make make) : Rival(std::move(name)), make_(std::move(make)) {}

  bool prepare(const Problem& problem) override {
    plan_ = make_(problem);
    count_ = problem.count();
    return plan_ != nullptr;
  }
  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) lacuna::pack(*plan_, mem, count_, packed);
  }
  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) lacuna::unpack(*plan_, packed, count_, mem);
  }
  void release() override { plan_.reset(); }

 private:
  Make make_;
  PlanPtr plan_;
  int64_t count_ = 0;
};

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_RIVALS_BY_PLAN_HPP_
