// SPDX-License-Identifier: BSD-3-Clause
#include "bench/engine/rivals/by_hand.hpp"

#include <limits>

#include "bench/engine/rival.hpp"

namespace lacuna::bench {
namespace {

const ByHandTarget& find_best_target() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return kByHandAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return kByHandAvx2;
  }
#endif
  return kByHandBaseline;
}

const ByHandTarget& best_target() {
  static const ByHandTarget& best = find_best_target();
  return best;
}

bool to_ints(const std::vector<int64_t>& bytes, int64_t unit, std::vector<int>* out) {
  for (const int64_t value : bytes) {
    if (value % unit != 0 || value / unit > std::numeric_limits<int>::max()) return false;
    out->push_back(static_cast<int>(value / unit));
  }
  return true;
}

// The element to loop over: the type's own if everything is a multiple of it, else bytes.
int64_t unit_of(const LoopNest& nest) {
  bool is_multiple = nest.bytes % nest.unit == 0 && nest.offset % nest.unit == 0;
  for (const LoopNest::Loop& loop : nest.loops) is_multiple &= loop.stride % nest.unit == 0;
  for (const int64_t at : nest.at) is_multiple &= at % nest.unit == 0;
  return is_multiple && nest.unit <= 16 ? nest.unit : 1;
}

const int* data(const std::vector<int>* ints) { return ints == nullptr ? nullptr : ints->data(); }

class ByHand : public Rival {
 public:
  ByHand() : Rival("by-hand") {}

  bool prepare(const Problem& problem) override {
    return loops_.prepare(*problem.type(), problem.count());
  }
  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) loops_.pack(mem, packed);
  }
  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) loops_.unpack(packed, mem);
  }

 private:
  HandLoops loops_;
};

}  // namespace

bool HandLoops::prepare(const Type& type, int64_t count) {
  const auto shape = hand_shape(type, count);
  if (!shape) return false;
  steps_.clear();
  lists_.clear();
  const bool is_done = shape->structs > 1 ? add_structs(*shape) : add_nests(*shape);
  int64_t packed = 0;
  for (Step& step : steps_) {
    step.packed_offset = packed;
    packed += step.part.packed_bytes;
  }
  return is_done && packed == count * type.size_bytes;
}

void HandLoops::pack(const std::byte* mem, std::byte* packed) const {
  // Packing only reads it; one signature serves both directions.
  auto* from = const_cast<char*>(reinterpret_cast<const char*>(mem));
  auto* to = reinterpret_cast<char*>(packed);
  for (const Step& step : steps_)
    step.pack(step.part, from + step.part.offset_bytes, to + step.packed_offset);
}

void HandLoops::unpack(const std::byte* packed, std::byte* mem) const {
  auto* to = reinterpret_cast<char*>(mem);
  auto* from = const_cast<char*>(reinterpret_cast<const char*>(packed));
  for (const Step& step : steps_)
    step.unpack(step.part, to + step.part.offset_bytes, from + step.packed_offset);
}

bool HandLoops::add(const Part& part) {
  Step step{part};
  step.pack = best_target().find(part, false);
  step.unpack = best_target().find(part, true);
  steps_.push_back(step);
  return step.pack != nullptr && step.unpack != nullptr;
}

const std::vector<int>* HandLoops::list(const std::vector<int64_t>& bytes, int64_t unit) {
  lists_.push_back(std::make_unique<std::vector<int>>());
  return to_ints(bytes, unit, lists_.back().get()) ? lists_.back().get() : nullptr;
}

bool HandLoops::add_nests(const HandShape& shape) {
  for (const LoopNest& nest : shape.nests) {
    Part part;
    part.unit = unit_of(nest);
    part.offset_bytes = nest.offset;
    part.block = nest.bytes / part.unit;
    if (!nest.at.empty()) {
      if (!nest.loops.empty() || !add_list(nest, &part)) return false;
    } else {
      if (nest.loops.size() > kByHandLoops) return false;
      size_t at = kByHandLoops - nest.loops.size();
      part.packed_bytes = nest.bytes;
      for (const LoopNest::Loop& loop : nest.loops) {
        part.count[at] = loop.count;
        part.stride[at++] = loop.stride / part.unit;
        part.packed_bytes *= loop.count;
      }
    }
    if (!add(part)) return false;
  }
  return true;
}

bool HandLoops::add_list(const LoopNest& nest, Part* part) {
  const auto* index = list(nest.at, part->unit);
  if (index == nullptr) return false;
  part->kind = Part::kGather;
  part->entries = static_cast<int64_t>(index->size());
  part->index = index->data();
  part->packed_bytes = nest.bytes * part->entries;
  if (nest.lengths.empty()) return true;
  const auto* lengths = list(nest.lengths, part->unit);
  if (lengths == nullptr) return false;
  part->kind = Part::kRagged;
  part->lengths = lengths->data();
  part->packed_bytes = 0;
  for (const int64_t length : nest.lengths) part->packed_bytes += length;
  return true;
}

bool HandLoops::add_structs(const HandShape& shape) {
  std::vector<int64_t> offsets, bytes;
  Part part;
  for (const LoopNest& field : shape.nests) {
    offsets.push_back(field.offset);
    bytes.push_back(field.bytes);
    part.packed_bytes += field.bytes * shape.structs;
  }
  part.kind = Part::kStructs;
  part.entries = shape.structs;
  part.extent = shape.extent;
  part.fields = static_cast<int>(shape.nests.size());
  if (!shape.at.empty() && (part.index = data(list(shape.at, shape.extent))) == nullptr)
    return false;
  const auto* offset = list(offsets, 1);
  const auto* length = list(bytes, 1);
  if (offset == nullptr || length == nullptr) return false;
  part.field_offset = offset->data();
  part.table_bytes = length->data();
  return add(part);
}

std::unique_ptr<Rival> by_hand_rival() { return std::make_unique<ByHand>(); }

std::string by_hand_target() { return best_target().name; }

}  // namespace lacuna::bench
