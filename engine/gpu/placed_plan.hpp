// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_ENGINE_GPU_PLACED_PLAN_HPP_
#define LACUNA_ENGINE_GPU_PLACED_PLAN_HPP_

#include <algorithm>
#include <memory>
#include <utility>

#include "gpu/plan.hpp"

namespace lacuna::gpu {

// For tests: a plan and its tables on the host.
struct Placed {
  DevicePlan plan;
  std::unique_ptr<std::byte[]> image;
};

inline Result<Placed> placed_plan(const Type& type, int64_t count) {
  auto made = make_device_plan(type, count);
  if (!made) return made.error();
  Placed placed;
  placed.plan = std::move(made).value();
  const size_t bytes = image_bytes(placed.plan);
  placed.image = std::make_unique<std::byte[]>(bytes);
  place(placed.plan, placed.image.get());
  if (placed.plan.image.size() > bytes) return Error{LACUNA_INTERNAL, "the image is too large"};
  std::copy(placed.plan.image.begin(), placed.plan.image.end(), placed.image.get());
  return placed;
}

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_PLACED_PLAN_HPP_
