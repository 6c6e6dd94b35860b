// SPDX-License-Identifier: BSD-3-Clause
//
// The constructors of types over copies of a child (but subarray and darray: darray.cpp). They
// check MPI's rules for the arguments, and derive size, bounds and signature from these and the
// child alone. All arithmetic is checked for overflow. Class Bounds derives the bounds for all of
// them.
#include <algorithm>
#include <string>
#include <utility>

#include "type/bounds.hpp"
#include "type/type.hpp"

namespace lacuna {
namespace detail {

void Bounds::add(const Type& child, Checked copies, Checked first, Checked last) {
  if (copies.ok() && copies.value() == 0) return;
  if (child.size_bytes == 0 && !child.lb_marker) return;  // an empty typemap has no bounds
  size_bad_ |= !copies.ok();
  const bool bad = !first.ok() || !last.ok();
  add_copies(child, copies.value(), std::min(first.value(), last.value()),
             std::max(first.value(), last.value()), bad);
}

// Called for each entry of every list: few branches; overflows are collected and reported by store.
void Bounds::add_copies(const Type& child, int64_t copies, int64_t low, int64_t high, bool bad) {
  if (child.size_bytes > 0) {
    int64_t bytes = 0;
    size_bad_ |= __builtin_mul_overflow(copies, child.size_bytes, &bytes);
    size_bad_ |= __builtin_add_overflow(size_, bytes, &size_);
    data_.include(low, child.true_lb, high, child.true_ub, bad);
    alignment_ = std::max(alignment_, child.alignment_bytes);
  }
  // Markers are sticky: from the first one on, only markers count.
  if (child.lb_marker && !markers_) {
    markers_ = true;
    bounds_ = Range();
  }
  if (child.lb_marker == markers_) bounds_.include(low, child.lb, high, child.ub, bad);
}

void Bounds::add_blocks(const Type& child, int64_t blocks, int64_t blocklength, Checked first,
                        Checked last) {
  if (blocks == 0 || blocklength == 0) return;
  if (child.size_bytes == 0 && !child.lb_marker) return;
  int64_t span = 0;
  bool bad = !first.ok() || !last.ok();
  bad |= __builtin_mul_overflow(blocklength - 1, child.extent(), &span);
  int64_t low = std::min(first.value(), last.value());
  int64_t high = std::max(first.value(), last.value());
  bad |= __builtin_add_overflow(low, std::min<int64_t>(span, 0), &low);
  bad |= __builtin_add_overflow(high, std::max<int64_t>(span, 0), &high);
  int64_t copies = 0;
  size_bad_ |= __builtin_mul_overflow(blocks, blocklength, &copies);
  add_copies(child, copies, low, high, bad);
}

void Bounds::pad_to_alignment() {
  if (markers_ || !bounds_.ok()) return;
  const int64_t excess = (bounds_.end - bounds_.begin) % alignment_;
  if (excess != 0)
    bounds_.bad = __builtin_add_overflow(bounds_.end, alignment_ - excess, &bounds_.end);
}

void Bounds::set_markers(Checked lb, Checked ub) {
  markers_ = true;
  bounds_ = Range{lb.value(), ub.value(), true, !lb.ok() || !ub.ok()};
}

bool Bounds::store(Type* type) const {
  if (!data_.ok() || !bounds_.ok() || size_bad_) return false;
  type->size_bytes = size_;
  type->lb = bounds_.begin;
  type->ub = bounds_.end;
  type->true_lb = data_.begin;
  type->true_ub = data_.end;
  type->alignment_bytes = alignment_;
  type->lb_marker = type->ub_marker = markers_;
  return true;
}

Error invalid(std::string_view constructor, std::string_view argument, int64_t value,
              std::string_view rule) {
  return {LACUNA_INVALID_ARGUMENT, std::string(constructor) + ": " + std::string(argument) +
                                       " is " + std::to_string(value) + "; " + std::string(rule)};
}

Error invalid_entry(std::string_view constructor, std::string_view list, size_t index,
                    int64_t value, std::string_view rule) {
  return invalid(constructor, std::string(list) + "[" + std::to_string(index) + "]", value, rule);
}

Error unequal_lists(std::string_view constructor, std::string_view first, size_t first_entries,
                    std::string_view second, size_t second_entries) {
  return {LACUNA_INVALID_ARGUMENT,
          std::string(constructor) + ": " + std::string(first) + " has " +
              std::to_string(first_entries) + " entries, " + std::string(second) + " has " +
              std::to_string(second_entries) + "; they must have the same number"};
}

Error null_child(std::string_view constructor, std::string_view argument) {
  return {LACUNA_INVALID_ARGUMENT,
          std::string(constructor) + ": " + std::string(argument) + " is null; it must be a type"};
}

Error too_large(std::string_view constructor) {
  return {LACUNA_OVERFLOW,
          std::string(constructor) +
              ": the size or a bound of the type does not fit into 64 bits (at most " +
              std::to_string(INT64_MAX) + " bytes)"};
}

Error too_deep(std::string_view constructor) {
  return {LACUNA_UNSUPPORTED, std::string(constructor) + ": the type would be " +
                                  std::to_string(kMaxDepth + 1) +
                                  " constructors deep; the limit is " + std::to_string(kMaxDepth)};
}

Error too_many_parts(std::string_view constructor) {
  return {LACUNA_UNSUPPORTED,
          std::string(constructor) + ": the type would have more than " +
              std::to_string(kMaxParts) +
              " constructors, shared ones counted each time; that is the limit"};
}

Result<Ref<Type>> draft(Combiner combiner, std::string_view constructor, TypePtr child) {
  if (!child) return null_child(constructor, "oldtype");
  if (child->depth >= kMaxDepth) return too_deep(constructor);
  if (child->parts >= kMaxParts) return too_many_parts(constructor);
  auto type = make_ref<Type>();
  type->combiner = combiner;
  type->depth = child->depth + 1;
  type->parts = child->parts + 1;
  type->children.push_back(std::move(child));
  return type;
}

Result<TypePtr> finish(std::string_view constructor, const Bounds& bounds, Ref<Type> type) {
  if (!bounds.store(type.get())) return too_large(constructor);
  const Type& child = *type->children[0];
  if (child.size_bytes > 0) {
    type->signature.length = type->size_bytes / child.size_bytes * child.signature.length;
    if (type->signature.length > 0) type->signature.uniform = child.signature.uniform;
  }
  fingerprint(type.get());
  return TypePtr(std::move(type));
}

}  // namespace detail

namespace {

using detail::Bounds;

constexpr std::string_view kNotNegative = "it must be 0 or more";

// vector (stride in extents of the child) and hvector (in bytes).
Result<TypePtr> make_strided(Combiner combiner, std::string_view name, int64_t count,
                             int64_t blocklength, int64_t stride, TypePtr oldtype) {
  if (count < 0) return detail::invalid(name, "count", count, kNotNegative);
  if (blocklength < 0) return detail::invalid(name, "blocklength", blocklength, kNotNegative);
  auto type = detail::draft(combiner, name, std::move(oldtype));
  if (!type) return type.error();
  Type& made = **type;
  const Type& child = *made.children[0];
  const int64_t unit = combiner == Combiner::kVector ? child.extent() : 1;
  Bounds bounds;
  if (count > 0) {
    bounds.add_blocks(child, count, blocklength, 0, Checked(count - 1) * stride * unit);
  }
  made.count = count;
  made.blocklength = blocklength;
  made.stride = stride;
  return detail::finish(name, bounds, *std::move(type));
}

// indexed (displacements in extents of the child) and hindexed (in bytes).
Result<TypePtr> make_blocks(Combiner combiner, std::string_view name,
                            std::vector<int64_t> blocklengths, std::vector<int64_t> displacements,
                            TypePtr oldtype) {
  if (blocklengths.size() != displacements.size()) {
    return detail::unequal_lists(name, "blocklengths", blocklengths.size(), "displacements",
                                 displacements.size());
  }
  auto type = detail::draft(combiner, name, std::move(oldtype));
  if (!type) return type.error();
  Type& made = **type;
  const Type& child = *made.children[0];
  const int64_t unit = combiner == Combiner::kIndexed ? child.extent() : 1;
  Bounds bounds;
  for (size_t i = 0; i < blocklengths.size(); ++i) {
    if (blocklengths[i] < 0) {
      return detail::invalid_entry(name, "blocklengths", i, blocklengths[i], kNotNegative);
    }
    const Checked displacement = Checked(displacements[i]) * unit;
    bounds.add_blocks(child, 1, blocklengths[i], displacement, displacement);
  }
  made.count = static_cast<int64_t>(blocklengths.size());
  made.blocklengths = std::move(blocklengths);
  made.displacements = std::move(displacements);
  return detail::finish(name, bounds, *std::move(type));
}

// indexed_block and hindexed_block.
Result<TypePtr> make_equal_blocks(Combiner combiner, std::string_view name, int64_t blocklength,
                                  std::vector<int64_t> displacements, TypePtr oldtype) {
  if (blocklength < 0) return detail::invalid(name, "blocklength", blocklength, kNotNegative);
  auto type = detail::draft(combiner, name, std::move(oldtype));
  if (!type) return type.error();
  Type& made = **type;
  const Type& child = *made.children[0];
  const int64_t unit = combiner == Combiner::kIndexedBlock ? child.extent() : 1;
  Bounds bounds;
  if (!displacements.empty()) {
    const auto [low, high] = std::minmax_element(displacements.begin(), displacements.end());
    bounds.add_blocks(child, static_cast<int64_t>(displacements.size()), blocklength,
                      Checked(*low) * unit, Checked(*high) * unit);
  }
  made.count = static_cast<int64_t>(displacements.size());
  made.blocklength = blocklength;
  made.displacements = std::move(displacements);
  return detail::finish(name, bounds, *std::move(type));
}

}  // namespace

Result<TypePtr> make_dup(TypePtr oldtype) {
  auto type = detail::draft(Combiner::kDup, "dup", std::move(oldtype));
  if (!type) return type.error();
  Bounds bounds;
  bounds.add(*(*type)->children[0], 1, 0, 0);
  return detail::finish("dup", bounds, *std::move(type));
}

Result<TypePtr> make_contiguous(int64_t count, TypePtr oldtype) {
  if (count < 0) return detail::invalid("contiguous", "count", count, kNotNegative);
  auto type = detail::draft(Combiner::kContiguous, "contiguous", std::move(oldtype));
  if (!type) return type.error();
  Bounds bounds;
  bounds.add_blocks(*(*type)->children[0], 1, count, 0, 0);
  (*type)->count = count;
  return detail::finish("contiguous", bounds, *std::move(type));
}

Result<TypePtr> make_vector(int64_t count, int64_t blocklength, int64_t stride, TypePtr oldtype) {
  return make_strided(Combiner::kVector, "vector", count, blocklength, stride, std::move(oldtype));
}

Result<TypePtr> make_hvector(int64_t count, int64_t blocklength, int64_t stride_bytes,
                             TypePtr oldtype) {
  return make_strided(Combiner::kHvector, "hvector", count, blocklength, stride_bytes,
                      std::move(oldtype));
}

Result<TypePtr> make_indexed(std::vector<int64_t> blocklengths, std::vector<int64_t> displacements,
                             TypePtr oldtype) {
  return make_blocks(Combiner::kIndexed, "indexed", std::move(blocklengths),
                     std::move(displacements), std::move(oldtype));
}

Result<TypePtr> make_hindexed(std::vector<int64_t> blocklengths,
                              std::vector<int64_t> displacements_bytes, TypePtr oldtype) {
  return make_blocks(Combiner::kHindexed, "hindexed", std::move(blocklengths),
                     std::move(displacements_bytes), std::move(oldtype));
}

Result<TypePtr> make_indexed_block(int64_t blocklength, std::vector<int64_t> displacements,
                                   TypePtr oldtype) {
  return make_equal_blocks(Combiner::kIndexedBlock, "indexed_block", blocklength,
                           std::move(displacements), std::move(oldtype));
}

Result<TypePtr> make_hindexed_block(int64_t blocklength, std::vector<int64_t> displacements_bytes,
                                    TypePtr oldtype) {
  return make_equal_blocks(Combiner::kHindexedBlock, "hindexed_block", blocklength,
                           std::move(displacements_bytes), std::move(oldtype));
}

Result<TypePtr> make_struct(std::vector<int64_t> blocklengths,
                            std::vector<int64_t> displacements_bytes,
                            std::vector<TypePtr> oldtypes) {
  constexpr std::string_view kName = "struct";
  if (blocklengths.size() != displacements_bytes.size()) {
    return detail::unequal_lists(kName, "blocklengths", blocklengths.size(), "displacements",
                                 displacements_bytes.size());
  }
  if (blocklengths.size() != oldtypes.size()) {
    return detail::unequal_lists(kName, "blocklengths", blocklengths.size(), "oldtypes",
                                 oldtypes.size());
  }
  auto type = make_ref<Type>();
  type->combiner = Combiner::kStruct;
  type->depth = 1;
  type->parts = 1;
  Bounds bounds;
  for (size_t i = 0; i < blocklengths.size(); ++i) {
    if (blocklengths[i] < 0) {
      return detail::invalid_entry(kName, "blocklengths", i, blocklengths[i], kNotNegative);
    }
    if (!oldtypes[i]) return detail::null_child(kName, "oldtypes[" + std::to_string(i) + "]");
    const Type& child = *oldtypes[i];
    if (child.depth >= kMaxDepth) return detail::too_deep(kName);
    type->depth = std::max(type->depth, child.depth + 1);
    type->parts += child.parts;
    if (type->parts > kMaxParts) return detail::too_many_parts(kName);
    bounds.add_blocks(child, 1, blocklengths[i], displacements_bytes[i], displacements_bytes[i]);
  }
  bounds.pad_to_alignment();
  if (!bounds.store(type.get())) return detail::too_large(kName);
  // No length can overflow now: the size fits, and every basic has at least a byte.
  for (size_t i = 0; i < blocklengths.size(); ++i) {
    const SignatureOutline& entry = oldtypes[i]->signature;
    if (blocklengths[i] == 0 || entry.length == 0) continue;
    SignatureOutline& all = type->signature;
    if (all.length == 0) all.uniform = entry.uniform;
    if (all.uniform != entry.uniform) all.uniform = nullptr;
    all.length += blocklengths[i] * entry.length;
  }
  type->count = static_cast<int64_t>(blocklengths.size());
  type->blocklengths = std::move(blocklengths);
  type->displacements = std::move(displacements_bytes);
  type->children = std::move(oldtypes);
  detail::fingerprint(type.get());
  return TypePtr(std::move(type));
}

Result<TypePtr> make_resized(int64_t lb, int64_t extent, TypePtr oldtype) {
  auto type = detail::draft(Combiner::kResized, "resized", std::move(oldtype));
  if (!type) return type.error();
  Bounds bounds;
  bounds.add(*(*type)->children[0], 1, 0, 0);
  bounds.set_markers(lb, Checked(lb) + extent);
  (*type)->resized_lb = lb;
  (*type)->resized_extent = extent;
  return detail::finish("resized", bounds, *std::move(type));
}

Result<TypePtr> make_from_fields(const Type& fields) {
  const Type& f = fields;
  const TypePtr child = f.children.empty() ? nullptr : f.children[0];
  switch (f.combiner) {
    case Combiner::kNamed:
      if (!f.basic) return detail::null_child("named", "basic");
      return make_named(*f.basic);
    case Combiner::kDup:
      return make_dup(child);
    case Combiner::kContiguous:
      return make_contiguous(f.count, child);
    case Combiner::kVector:
      return make_vector(f.count, f.blocklength, f.stride, child);
    case Combiner::kHvector:
      return make_hvector(f.count, f.blocklength, f.stride, child);
    case Combiner::kIndexed:
      return make_indexed(f.blocklengths, f.displacements, child);
    case Combiner::kHindexed:
      return make_hindexed(f.blocklengths, f.displacements, child);
    case Combiner::kIndexedBlock:
      return make_indexed_block(f.blocklength, f.displacements, child);
    case Combiner::kHindexedBlock:
      return make_hindexed_block(f.blocklength, f.displacements, child);
    case Combiner::kStruct:
      return make_struct(f.blocklengths, f.displacements, f.children);
    case Combiner::kSubarray:
      return make_subarray(f.sizes, f.subsizes, f.starts, f.order, child);
    case Combiner::kDarray:
      return make_darray(f.darray_size, f.darray_rank, f.sizes, f.distribs, f.dargs, f.psizes,
                         f.order, child);
    case Combiner::kResized:
      return make_resized(f.resized_lb, f.resized_extent, child);
    case Combiner::kValueIndex:
      return make_value_index(child, f.children.size() > 1 ? f.children[1] : nullptr);
    case Combiner::kF90Real:
      return make_f90_real(f.precision, f.range, f.basic);
    case Combiner::kF90Complex:
      return make_f90_complex(f.precision, f.range, f.basic);
    case Combiner::kF90Integer:
      return make_f90_integer(f.range, f.basic);
  }
  return Error{LACUNA_INVALID_ARGUMENT, "type: combiner is " +
                                            std::to_string(static_cast<int>(f.combiner)) +
                                            "; there is no such constructor"};
}

}  // namespace lacuna
