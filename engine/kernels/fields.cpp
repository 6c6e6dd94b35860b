// SPDX-License-Identifier: BSD-3-Clause
//
// Makes the tables of fields.hpp. A period is the least number of elements whose packed bytes
// (packing) or extents (unpacking) fill whole vectors, so that stores follow each other without
// overlap.
#include "kernels/fields.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace lacuna {
namespace {

constexpr int64_t kLane = 4;
constexpr int64_t kLine = 64;
constexpr size_t kMostSteps = 96;

bool suits(std::span<const Field> fields, int64_t extent) {
  int64_t end = 0;
  for (const Field& field : fields) {
    if (field.mem_offset % kLane != 0 || field.bytes % kLane != 0 || field.bytes <= 0) return false;
    if (field.mem_offset < end || field.mem_offset - end >= kLine) return false;
    end = field.mem_offset + field.bytes;
  }
  return !fields.empty() && fields[0].mem_offset == 0 && extent % kLane == 0 && extent >= end &&
         extent - end < kLine;
}

// The memory offset of each packed lane of `elements` elements.
std::vector<int64_t> lane_offsets(std::span<const Field> fields, int64_t extent, int64_t elements) {
  std::vector<int64_t> at;
  for (int64_t e = 0; e < elements; ++e) {
    for (const Field& field : fields) {
      for (int64_t b = 0; b < field.bytes; b += kLane)
        at.push_back(e * extent + field.mem_offset + b);
    }
  }
  return at;
}

// Each stored vector is made from loads that begin at the first lane not yet found.
bool make_gather(std::span<const Field> fields, int64_t extent, int64_t size, int64_t vector_bytes,
                 FieldTable& table) {
  table.elements = vector_bytes / std::gcd(vector_bytes, size);
  const int64_t vectors = table.elements * size / vector_bytes;
  const int64_t lanes = vector_bytes / kLane;
  if (vectors > static_cast<int64_t>(kMostSteps)) return false;
  const std::vector<int64_t> at = lane_offsets(fields, extent, table.elements);
  std::vector<std::vector<FieldStep>> made(static_cast<size_t>(vectors));
  for (int64_t v = 0; v < vectors; ++v) {
    auto& steps = made[static_cast<size_t>(v)];
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t from = at[static_cast<size_t>(v * lanes + lane)];
      if (steps.empty() || from >= steps.back().load + vector_bytes) {
        steps.emplace_back();
        steps.back().load = from;
        steps.back().store = v * vector_bytes;
      }
      steps.back().lanes[lane] =
          static_cast<uint32_t>((from - steps.back().load) / kLane) | FieldStep::kMine;
    }
    table.steps_per_store = std::max(table.steps_per_store, static_cast<int64_t>(steps.size()));
  }
  if (table.steps_per_store > kMostLoads ||
      static_cast<size_t>(vectors * table.steps_per_store) > kMostSteps)
    return false;
  for (auto& steps : made) {
    // The same number for all, so that the kernel's loop has no branch: a step without lanes.
    while (static_cast<int64_t>(steps.size()) < table.steps_per_store) {
      FieldStep idle;
      idle.load = steps.back().load;
      idle.store = steps.back().store;
      steps.push_back(idle);
    }
    for (const FieldStep& step : steps) {
      table.reach = std::max(table.reach, step.load + vector_bytes);
      table.steps.push_back(step);
    }
  }
  return true;
}

// Each vector of memory that has data takes it from one load: fields are in memory order, so its
// lanes are neighbours in the packed stream.
bool make_scatter(std::span<const Field> fields, int64_t extent, int64_t vector_bytes,
                  FieldTable& table) {
  table.elements = vector_bytes / std::gcd(vector_bytes, extent);
  table.steps_per_store = 1;
  if (table.elements * extent / vector_bytes > static_cast<int64_t>(kMostSteps)) return false;
  const std::vector<int64_t> at = lane_offsets(fields, extent, table.elements);
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t window = at[i] / vector_bytes * vector_bytes;
    if (table.steps.empty() || table.steps.back().store != window) {
      table.steps.emplace_back();
      table.steps.back().load = static_cast<int64_t>(i) * kLane;
      table.steps.back().store = window;
    }
    FieldStep& step = table.steps.back();
    step.lanes[(at[i] - window) / kLane] =
        static_cast<uint32_t>(static_cast<int64_t>(i) - step.load / kLane) | FieldStep::kMine;
    table.reach = step.load + vector_bytes;
  }
  return true;
}

}  // namespace

std::shared_ptr<Fields> make_fields(std::vector<Field> fields, int64_t extent,
                                    int64_t vector_bytes) {
  auto made = std::make_shared<Fields>();
  made->extent = extent;
  for (const Field& field : fields) {
    made->size += field.bytes;
    made->span = std::max(made->span, field.mem_offset + field.bytes);
  }
  if (vector_bytes != 0 && suits(fields, extent) &&
      !(make_gather(fields, extent, made->size, vector_bytes, made->gather) &&
        make_scatter(fields, extent, vector_bytes, made->scatter))) {
    made->gather = {};
    made->scatter = {};
  }
  made->fields = std::move(fields);
  return made;
}

}  // namespace lacuna
