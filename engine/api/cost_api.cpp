// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of predictions.
#include "api/handles.hpp"
#include "plan/cost/cost.hpp"

lacuna_status lacuna_plan_cost_json(const lacuna_plan* plan, int64_t count, size_t capacity,
                                    char* text, size_t* needed) {
  int64_t bytes = 0;
  const lacuna_status status = lacuna_packed_size(plan, count, &bytes);  // checks both
  if (status != LACUNA_OK) return status;
  return lacuna::api::guarded([&] {
    if (!lacuna::has_cost(lacuna::api::plan_of(plan), count)) {
      return lacuna::api::fail(LACUNA_OVERFLOW,
                               "cost: " + std::to_string(count) +
                                   " elements of this type span more than " +
                                   std::to_string(lacuna::kMostCostBytes) +
                                   " bytes of memory; costs are predicted up to that");
    }
    return lacuna::api::give_text(lacuna::cost_json(lacuna::api::plan_of(plan), count), capacity,
                                  text, needed);
  });
}
