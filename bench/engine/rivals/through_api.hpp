// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna through the C API, of this build or of another: the plan of a problem, moved in whole.
#ifndef LACUNA_BENCH_ENGINE_RIVALS_THROUGH_API_HPP_
#define LACUNA_BENCH_ENGINE_RIVALS_THROUGH_API_HPP_

#include <string>
#include <utility>

#include "bench/engine/rival.hpp"
#include "lacuna/lacuna.h"
#include "type/text/text.hpp"

namespace lacuna::bench {

// The functions of a build. All builds are called by pointers, so that a call costs them the same.
struct Api {
  decltype(&lacuna_type_parse) parse = &lacuna_type_parse;
  decltype(&lacuna_type_destroy) destroy_type = &lacuna_type_destroy;
  decltype(&lacuna_plan_create) plan = &lacuna_plan_create;
  decltype(&lacuna_plan_destroy) destroy_plan = &lacuna_plan_destroy;
  decltype(&lacuna_pack) pack = &lacuna_pack;
  decltype(&lacuna_unpack) unpack = &lacuna_unpack;
};

class ThroughApi : public Rival {
 public:
  explicit ThroughApi(std::string name = "lacuna", const Api& api = {})
      : Rival(std::move(name)), api_(api) {}

  bool prepare(const Problem& problem) override {
    lacuna_type* type = nullptr;
    if (api_.parse(print_type(*problem.type()).c_str(), &type) != LACUNA_OK) return false;
    const bool is_planned = api_.plan(type, &plan_) == LACUNA_OK;
    api_.destroy_type(type);
    count_ = problem.count();
    return is_planned;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) (void)!api_.pack(plan_, mem, count_, packed);
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) (void)!api_.unpack(plan_, packed, count_, mem);
  }

  void release() override {
    api_.destroy_plan(plan_);
    plan_ = nullptr;
  }

 protected:
  Api api_;
  lacuna_plan* plan_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_RIVALS_THROUGH_API_HPP_
