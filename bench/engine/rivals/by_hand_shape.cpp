// SPDX-License-Identifier: BSD-3-Clause
#include "bench/engine/rivals/by_hand_shape.hpp"

#include <algorithm>
#include <utility>

namespace lacuna::bench {
namespace {

using Nests = std::vector<LoopNest>;
using Maybe = std::optional<Nests>;

bool is_run(const LoopNest& nest) { return nest.loops.empty() && nest.at.empty(); }

// `count` copies, `stride` apart.
Maybe repeated(Nests nests, int64_t count, int64_t stride) {
  if (count == 1) return nests;
  if (nests.size() != 1 || count == 0) return std::nullopt;
  LoopNest& nest = nests[0];
  if (is_run(nest) && nest.bytes == stride) {
    nest.bytes *= count;
  } else if (!nest.loops.empty() && nest.loops[0].count * nest.loops[0].stride == stride) {
    nest.loops[0].count *= count;
  } else {
    nest.loops.insert(nest.loops.begin(), {count, stride});
  }
  return nests;
}

Maybe repeated(Maybe nests, int64_t count, int64_t stride) {
  return nests ? repeated(std::move(*nests), count, stride) : std::nullopt;
}

// Blocks of a type that is one run without gaps, in a list.
Maybe listed(const Maybe& child, const Type& type, int64_t scale) {
  const int64_t extent = type.children[0]->ub - type.children[0]->lb;
  if (!child || child->size() != 1 || !is_run(child->front()) || child->front().bytes != extent) {
    return std::nullopt;
  }
  LoopNest nest = child->front();
  for (const int64_t displacement : type.displacements) nest.at.push_back(displacement * scale);
  if (type.blocklengths.empty()) {
    nest.bytes *= type.blocklength;
  } else {
    for (const int64_t length : type.blocklengths) nest.lengths.push_back(length * extent);
  }
  return Nests{nest};
}

Maybe subarray(Maybe nests, const Type& type, int64_t extent) {
  const size_t dims = type.sizes.size();
  int64_t stride = extent;
  int64_t offset = 0;
  for (size_t i = 0; i < dims; ++i) {
    const size_t dim = type.order == Order::kC ? dims - 1 - i : i;
    nests = repeated(std::move(nests), type.subsizes[dim], stride);
    offset += type.starts[dim] * stride;
    stride *= type.sizes[dim];
  }
  if (nests) {
    for (LoopNest& nest : *nests) nest.offset += offset;
  }
  return nests;
}

Maybe describe(const Type& type) {
  if (type.children.empty()) {
    if (type.basic == nullptr) return std::nullopt;
    Nests nests;
    for (int i = 0; i < type.basic->part_count; ++i) {
      LoopNest nest;
      nest.offset = type.basic->parts[i].offset_bytes;
      nest.bytes = type.basic->parts[i].size_bytes;
      nest.unit = nest.bytes;
      nests.push_back(nest);
    }
    return nests;
  }
  if (type.combiner == Combiner::kStruct) {
    Nests all;
    for (size_t i = 0; i < type.children.size(); ++i) {
      const Type& child = *type.children[i];
      Maybe nests = repeated(describe(child), type.blocklengths[i], child.ub - child.lb);
      if (!nests) return std::nullopt;
      for (LoopNest& nest : *nests) {
        nest.offset += type.displacements[i];
        all.push_back(std::move(nest));
      }
    }
    return all;
  }
  const int64_t extent = type.children[0]->ub - type.children[0]->lb;
  Maybe child = describe(*type.children[0]);
  switch (type.combiner) {
    case Combiner::kDup:
    case Combiner::kResized:
      return child;
    case Combiner::kContiguous:
      return repeated(std::move(child), type.count, extent);
    case Combiner::kVector:
      return repeated(repeated(std::move(child), type.blocklength, extent), type.count,
                      type.stride * extent);
    case Combiner::kHvector:
      return repeated(repeated(std::move(child), type.blocklength, extent), type.count,
                      type.stride);
    case Combiner::kSubarray:
      return subarray(std::move(child), type, extent);
    case Combiner::kIndexed:
    case Combiner::kIndexedBlock:
      return listed(child, type, extent);
    case Combiner::kHindexed:
    case Combiner::kHindexedBlock:
      return listed(child, type, 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

namespace {

// One struct at each place of a list.
std::optional<HandShape> listed_structs(const Type& type) {
  if (type.combiner != Combiner::kIndexedBlock || type.blocklength != 1) return std::nullopt;
  const Type& child = *type.children[0];
  Maybe fields = describe(child);
  if (!fields || fields->size() < 2 || !std::all_of(fields->begin(), fields->end(), is_run))
    return std::nullopt;
  HandShape shape;
  shape.nests = std::move(*fields);
  shape.extent = child.ub - child.lb;
  shape.structs = static_cast<int64_t>(type.displacements.size());
  for (const int64_t displacement : type.displacements)
    shape.at.push_back(displacement * shape.extent);
  return shape;
}

}  // namespace

std::optional<HandShape> hand_shape(const Type& type, int64_t count) {
  if (count == 1) {
    if (auto listed = listed_structs(type)) return listed;
  }
  Maybe nests = describe(type);
  if (!nests || nests->empty()) return std::nullopt;
  HandShape shape;
  const int64_t extent = type.ub - type.lb;
  if (Maybe whole = repeated(*nests, count, extent)) {
    shape.nests = std::move(*whole);
    return shape;
  }
  if (!std::all_of(nests->begin(), nests->end(), is_run)) return std::nullopt;
  shape.nests = std::move(*nests);
  shape.structs = count;
  shape.extent = extent;
  return shape;
}

}  // namespace lacuna::bench
