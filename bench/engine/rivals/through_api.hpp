// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna through the C API: the plan of a problem, moved in whole.
#ifndef LACUNA_BENCH_ENGINE_RIVALS_THROUGH_API_HPP_
#define LACUNA_BENCH_ENGINE_RIVALS_THROUGH_API_HPP_

#include <string>
#include <utility>

#include "bench/engine/rival.hpp"
#include "lacuna/lacuna.h"
#include "type/text.hpp"

namespace lacuna::bench {

class ThroughApi : public Rival {
 public:
  explicit ThroughApi(std::string name = "lacuna") : Rival(std::move(name)) {}

  bool prepare(const Problem& problem) override {
    lacuna_type* type = nullptr;
    if (lacuna_type_parse(print_type(*problem.type()).c_str(), &type) != LACUNA_OK) return false;
    const bool is_planned = lacuna_plan_create(type, &plan_) == LACUNA_OK;
    lacuna_type_destroy(type);
    count_ = problem.count();
    return is_planned;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) (void)!lacuna_pack(plan_, mem, count_, packed);
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) (void)!lacuna_unpack(plan_, packed, count_, mem);
  }

  void release() override {
    lacuna_plan_destroy(plan_);
    plan_ = nullptr;
  }

 protected:
  lacuna_plan* plan_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_RIVALS_THROUGH_API_HPP_
