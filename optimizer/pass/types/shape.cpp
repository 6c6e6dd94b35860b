// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/types/shape.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownBits.h>

namespace lacuna::pass {

namespace {

constexpr int64_t kHuge = int64_t(1) << 31;
constexpr size_t kMostParts = 16;     // each with its own code
constexpr size_t kMostListed = 4096;  // equal parts in one loop, with a table of offsets

// Whether two nodes are equal; their own offsets are compared only `with_offset`.
bool alike(const Node* one, const Node* other, bool with_offset = false) {
  if (one->kind != other->kind || one->bytes != other->bytes || one->count != other->count ||
      one->stride != other->stride || one->offsets != other->offsets || one->list != other->list ||
      one->list_bits != other->list_bits || one->is_far != other->is_far ||
      one->parts.size() != other->parts.size() || (with_offset && one->offset != other->offset)) {
    return false;
  }
  for (size_t i = 0; i < one->parts.size(); ++i) {
    if (!alike(one->parts[i], other->parts[i], true)) return false;
  }
  return true;
}

}  // namespace

Shape Shaper::no(const char* reason) {
  if (why_.empty()) why_ = reason;
  return {};
}

Shape Shaper::impossible(const char* reason) {
  is_impossible_ = true;
  return no(reason);
}

Node* Shaper::node(Node::Kind kind, llvm::Value* offset, llvm::Value* bytes) {
  nodes_.push_back({});
  nodes_.back().kind = kind;
  nodes_.back().offset = offset;
  nodes_.back().bytes = bytes;
  return &nodes_.back();
}

// `is_given`: the program gave the displacement. Unless it is constant, it may be the distance to
// another variable (Kernel::moved).
const Node* Shaper::moved(const Node* node, llvm::Value* by, bool is_given) {
  if (is(by, 0)) return node;
  nodes_.push_back(*node);
  nodes_.back().offset = sum(node->offset, by);
  nodes_.back().is_far |= is_given && constant(by) == nullptr;
  return &nodes_.back();
}

llvm::Value* Shaper::held(llvm::Value* bytes, llvm::IRBuilder<>& builder) {
  llvm::Value* huge = builder.getInt64(kHuge);
  return builder.CreateSelect(builder.CreateICmpULT(bytes, huge), bytes, huge);
}

Shape Shaper::elements(const Type& type, llvm::Value* count) {
  if (is_negative(count)) return impossible("the count is negative");
  const Shape one = of(type);
  if (one.node == nullptr) return {};
  Shape all = row(one, wide(count));
  all.one = one.node->bytes;
  all.pattern = one.pattern;  // that of one element: most counts are 1
  return all;
}

Shape Shaper::of(const Type& type) {
  if (type.basic != nullptr) return basic(*type.basic);
  Shape shape = constructed(type);
  if (shape.node == nullptr || shape.lb == nullptr || shape.is_marked) return shape;
  // Libraries pad an extent to the alignment of the data: MPICH that of a struct, Open MPI any. The
  // extent is sure where it is a multiple of the alignment.
  llvm::Value* extent = builder_.CreateSub(shape.ub, shape.lb);
  const llvm::DataLayout& layout = builder_.GetInsertBlock()->getModule()->getDataLayout();
  const llvm::KnownBits bits = llvm::computeKnownBits(extent, layout);
  if ((int64_t(1) << std::min(bits.countMinTrailingZeros(), 62U)) < shape.alignment)
    shape.lb = shape.ub = nullptr;
  return shape;
}

Shape Shaper::constructed(const Type& type) {
  const llvm::StringRef kind = type.made_by->text;
  if (kind == "dup") return of(*type.parts[0]);
  if (kind == "contiguous") {
    if (is_negative(type.numbers[0][0])) return impossible("contiguous with a negative count");
    const Shape part = of(*type.parts[0]);
    return part.node == nullptr ? part : block(part, wide(type.numbers[0][0]));
  }
  if (kind == "vector" || kind == "hvector") return strided(type, kind == "hvector");
  if (kind == "indexed" || kind == "hindexed") return listed(type, false, kind == "hindexed");
  if (kind == "indexed_block" || kind == "hindexed_block")
    return listed(type, true, kind == "hindexed_block");
  if (kind == "struct") return fields(type);
  if (kind == "resized") return resized(type);
  if (kind == "subarray") return subarray(type);
  return no("a constructor that is not known");
}

Shape Shaper::basic(const Basic& basic) {
  Shape shape;
  shape.node = node(Node::kRun, number(0), number(basic.bytes));
  shape.lb = number(0);
  shape.ub = number(basic.bytes);
  shape.unit = &basic;
  shape.alignment = basic.alignment;
  return shape;
}

// `count` repetitions, each `stride` bytes after the one before.
Shape Shaper::repeated(const Shape& part, llvm::Value* count, llvm::Value* stride, bool is_given) {
  if (is(count, 1)) return part;
  Shape shape = part;
  shape.may_be_empty = part.may_be_empty || constant(count) == nullptr || is(count, 0);
  if (part.lb != nullptr) {
    llvm::Value* last = product(builder_.CreateSub(count, number(1)), stride);
    shape.lb = sum(part.lb, least(number(0), last));
    shape.ub = sum(part.ub, greatest(number(0), last));
  }
  llvm::Value* bytes = held(product(held(count), part.node->bytes));
  // If the part is empty at run time, a negative count must still make the size huge: it is an
  // error.
  if (constant(part.node->bytes) == nullptr && constant(count) == nullptr)
    bytes =
        builder_.CreateSelect(builder_.CreateICmpULT(count, number(kHuge)), bytes, number(kHuge));
  if (part.node->kind == Node::kRun && part.node->bytes == stride) {
    shape.node = node(Node::kRun, part.node->offset, bytes);
    return shape;
  }
  Node* loop = node(Node::kLoop, number(0), bytes);
  loop->count = count;
  loop->stride = stride;
  loop->is_far = is_given && constant(stride) == nullptr;
  loop->parts.push_back(part.node);
  shape.node = loop;
  if (part.node->kind == Node::kLoop && shape.pattern == options::Pattern::kStrided)
    shape.pattern = options::Pattern::kNested;
  return shape;
}

// `count` repetitions, one extent apart.
// Elements side by side, in a message.
Shape Shaper::row(const Shape& part, llvm::Value* count) {
  if (is(count, 1)) return part;
  if (part.lb == nullptr) return no("the extent of the type is not known for sure");
  return repeated(part, count, builder_.CreateSub(part.ub, part.lb));
}

// The same within a type.
Shape Shaper::block(const Shape& part, llvm::Value* count) {
  Shape shape = row(part, count);
  if (is(count, 1) || shape.node == nullptr) return shape;
  llvm::Value* extent = builder_.CreateSub(part.ub, part.lb);
  // MPICH 4 and 5 lay such rows out in their own way, on both sides of a message alike
  // (docs/internals/defects.md).
  if (is_negative(extent)) return no("a row of elements that each begin before the last");
  if (part.is_marked && constant(extent) == nullptr)
    shape.node = unless(builder_.CreateICmpSLT(extent, number(0)), *shape.node);
  return shape;
}

// The node, too large to be packed first where that holds at run time.
const Node* Shaper::unless(llvm::Value* holds, const Node& node) {
  nodes_.push_back(node);
  nodes_.back().bytes = builder_.CreateSelect(holds, number(kHuge), node.bytes);
  return &nodes_.back();
}

Shape Shaper::strided(const Type& type, bool in_bytes) {
  llvm::Value *count = type.numbers[0][0], *length = type.numbers[1][0];
  if (is_negative(count) || is_negative(length))
    return impossible("a vector with a negative count or length");
  const Shape part = of(*type.parts[0]);
  if (part.node == nullptr) return part;
  llvm::Value* stride = wide(type.numbers[2][0]);
  if (!in_bytes) {
    if (part.lb == nullptr) return no("the extent of a part is not known for sure");
    stride = product(stride, builder_.CreateSub(part.ub, part.lb));
  }
  const Shape blocks = block(part, wide(length));
  if (blocks.node == nullptr) return blocks;
  return repeated(blocks, wide(count), stride, in_bytes);
}

Shape Shaper::listed(const Type& type, bool one_length, bool in_bytes) {
  const Shape part = of(*type.parts[0]);
  if (part.node == nullptr) return part;
  if (part.lb == nullptr) return no("the extent of a part is not known for sure");
  if (type.listed_by != nullptr) return list(type, part, in_bytes);
  // indexed_block has (count, length, [displacements]); indexed has (count, [lengths],
  // [displacements]).
  const auto& lengths = type.numbers[1];
  const auto& places = type.numbers[2];
  std::vector<Shape> shapes;
  std::vector<llvm::Value*> offsets;
  for (size_t i = 0; i < places.size(); ++i) {
    llvm::Value* length = one_length ? lengths[0] : lengths[i];
    if (is_negative(length)) return impossible("a negative block length");
    if (is(length, 0)) continue;
    shapes.push_back(block(part, wide(length)));
    llvm::Value* place = wide(places[i]);
    offsets.push_back(in_bytes ? place : product(place, builder_.CreateSub(part.ub, part.lb)));
  }
  return joined(std::move(shapes), std::move(offsets), options::Pattern::kListed);
}

// An indexed_block whose displacements are in memory.
Shape Shaper::list(const Type& type, const Shape& part, bool in_bytes) {
  if (is_negative(type.numbers[1][0])) return impossible("a negative block length");
  Shape shape = block(part, wide(type.numbers[1][0]));
  if (shape.node == nullptr) return shape;
  const unsigned bits = type.made_by->parameters[2] == 'I' ? 32 : 64;
  llvm::Value*& copy = copies_[type.listed_by];
  if (copy == nullptr)
    copy = builder_.CreateLoad(builder_.getPtrTy(), lists_.copy_of(*type.listed_by, bits));
  llvm::Value* count = wide(type.numbers[0][0]);
  // A list that was not copied makes the message too large to be packed first, as a negative size.
  llvm::Value* bytes = builder_.CreateSelect(
      builder_.CreateIsNotNull(copy), held(product(held(count), shape.node->bytes)), number(kHuge));
  Node* node = this->node(Node::kList, number(0), bytes);
  node->count = count;
  node->stride = in_bytes ? number(1) : builder_.CreateSub(part.ub, part.lb);
  node->parts.push_back(shape.node);
  node->list = builder_.CreatePtrToInt(copy, builder_.getInt64Ty());
  node->list_bits = bits;
  node->is_far = in_bytes;
  shape.node = node;
  shape.lb = shape.ub = nullptr;
  shape.may_be_empty = shape.has_list = true;
  shape.pattern = options::Pattern::kListed;
  return shape;
}

Shape Shaper::fields(const Type& type) {
  std::vector<Shape> shapes;
  std::vector<llvm::Value*> offsets;
  for (size_t i = 0; i < type.parts.size(); ++i) {
    llvm::Value* length = type.numbers[1][i];
    if (is_negative(length)) return impossible("a negative block length");
    if (is(length, 0)) continue;
    const Shape part = of(*type.parts[i]);
    if (part.node == nullptr) return part;
    const Shape blocks = block(part, wide(length));
    if (blocks.node == nullptr) return blocks;
    shapes.push_back(blocks);
    offsets.push_back(wide(type.numbers[2][i]));
  }
  return joined(std::move(shapes), std::move(offsets), options::Pattern::kFields);
}

Shape Shaper::resized(const Type& type) {
  Shape shape = of(*type.parts[0]);
  if (shape.node == nullptr) return shape;
  shape.lb = wide(type.numbers[0][0]);
  shape.ub = sum(shape.lb, wide(type.numbers[1][0]));
  shape.is_marked = true;
  return shape;
}

// Whether a dimension of a subarray does not fit into its array's, as a value.
llvm::Value* Shaper::is_outside(llvm::Value* size, llvm::Value* subsize, llvm::Value* start) {
  llvm::Value* is_none = builder_.CreateOr(builder_.CreateICmpSLT(size, number(1)),
                                           builder_.CreateICmpSLT(subsize, number(1)));
  // Unsigned: a negative start is huge.
  llvm::Value* room = builder_.CreateSub(size, subsize);
  llvm::Value* is_out = builder_.CreateOr(builder_.CreateICmpSLT(room, number(0)),
                                          builder_.CreateICmpUGT(start, room));
  return builder_.CreateOr(is_none, is_out);
}

// Parameters: count, [sizes], [subsizes], [starts], order.
Shape Shaper::subarray(const Type& type) {
  Shape shape = of(*type.parts[0]);
  if (shape.node == nullptr) return shape;
  if (shape.lb == nullptr || !is(shape.lb, 0)) return no("a subarray of a type with a lower bound");
  const auto &sizes = type.numbers[1], &subsizes = type.numbers[2], &starts = type.numbers[3];
  const auto* order = constant(type.numbers[4][0]);
  const size_t dims = sizes.size();
  if (order == nullptr || dims == 0) return no("a subarray of unknown order or without dimensions");
  const bool is_c = order->getSExtValue() == library_.order_c;
  if (!is_c && order->getSExtValue() != library_.order_fortran)
    return impossible("a subarray of no known order");
  llvm::Value* stride = builder_.CreateSub(shape.ub, shape.lb);
  llvm::Value* offset = number(0);
  llvm::Value* lies_outside = builder_.getFalse();
  for (size_t i = 0; i < dims; ++i) {
    const size_t dim = is_c ? dims - 1 - i : i;  // the contiguous dimension first
    const auto *size = constant(sizes[dim]), *subsize = constant(subsizes[dim]),
               *start = constant(starts[dim]);
    const bool is_bad = (size != nullptr && size->getSExtValue() < 1) ||
                        (subsize != nullptr && subsize->getSExtValue() < 1) ||
                        (start != nullptr && start->isNegative()) ||
                        (size != nullptr && subsize != nullptr && start != nullptr &&
                         start->getSExtValue() + subsize->getSExtValue() > size->getSExtValue());
    if (is_bad) return impossible("a subarray that does not lie in its array");
    lies_outside = builder_.CreateOr(
        lies_outside, is_outside(wide(sizes[dim]), wide(subsizes[dim]), wide(starts[dim])));
    shape = repeated(shape, wide(subsizes[dim]), stride);
    offset = sum(offset, product(wide(starts[dim]), stride));
    stride = product(stride, wide(sizes[dim]));
  }
  shape.node = moved(shape.node, offset);
  // An error, which MPI reports, as with negative counts.
  if (!is(lies_outside, 0)) shape.node = unless(lies_outside, *shape.node);
  shape.lb = number(0);
  shape.ub = stride;
  shape.is_marked = true;
  shape.may_be_empty = false;
  return shape;
}

// One shape of several, each at its offset.
Shape Shaper::joined(std::vector<Shape> shapes, std::vector<llvm::Value*> offsets,
                     options::Pattern pattern) {
  if (shapes.empty()) return no("a type without data");
  for (const Shape& part : shapes) {
    if (part.node == nullptr) return {};
  }
  const bool are_runs =
      llvm::all_of(shapes, [](const Shape& part) { return part.node->kind == Node::kRun; });
  Shape shape = shapes[0];
  shape.pattern =
      are_runs || pattern == options::Pattern::kListed ? pattern : options::Pattern::kFaces;
  if (shapes.size() == 1) {
    shape.node = moved(shape.node, offsets[0], true);
    if (shape.lb != nullptr) {
      shape.lb = sum(shape.lb, offsets[0]);
      shape.ub = sum(shape.ub, offsets[0]);
    }
    return shape;
  }
  bool are_bounds_sure = true;
  llvm::Value* bytes = number(0);
  std::vector<const Node*> nodes;
  std::vector<int64_t> constants;
  bool are_alike = true;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& part = shapes[i];
    // An empty part has no bounds, and a bound that was set (resized) takes precedence over others.
    are_bounds_sure = are_bounds_sure && part.lb != nullptr && !part.may_be_empty &&
                      part.is_marked == shapes[0].is_marked;
    nodes.push_back(moved(part.node, offsets[i], true));
    bytes = held(sum(bytes, part.node->bytes));
    are_alike = are_alike && alike(part.node, shapes[0].node, true);
    if (const auto* known = constant(offsets[i])) constants.push_back(known->getSExtValue());
    if (part.unit != shape.unit) shape.unit = library_.packed();
    shape.alignment = std::max(shape.alignment, part.alignment);
  }
  if (are_bounds_sure) {
    shape.lb = sum(shapes[0].lb, offsets[0]);
    shape.ub = sum(shapes[0].ub, offsets[0]);
    for (size_t i = 1; i < shapes.size(); ++i) {
      shape.lb = least(shape.lb, sum(shapes[i].lb, offsets[i]));
      shape.ub = greatest(shape.ub, sum(shapes[i].ub, offsets[i]));
    }
  } else {
    shape.lb = shape.ub = nullptr;
  }
  shape.may_be_empty = llvm::any_of(shapes, [](const Shape& part) { return part.may_be_empty; });
  shape.has_list = llvm::any_of(shapes, [](const Shape& part) { return part.has_list; });
  if (shape.has_list) shape.pattern = options::Pattern::kListed;
  // Merges adjacent runs.
  std::vector<const Node*> merged;
  for (const Node* next : nodes) {
    const Node* last = merged.empty() ? nullptr : merged.back();
    if (last != nullptr && last->kind == Node::kRun && next->kind == Node::kRun &&
        sum(last->offset, last->bytes) == next->offset) {
      Node* both = node(Node::kRun, last->offset, sum(last->bytes, next->bytes));
      both->is_far = last->is_far || next->is_far;
      merged.back() = both;
    } else {
      merged.push_back(next);
    }
  }
  if (merged.size() == 1) {
    shape.node = merged[0];
  } else if (merged.size() <= kMostParts) {
    Node* parts = node(Node::kParts, number(0), bytes);
    parts->parts = merged;
    shape.node = parts;
  } else if (are_alike && constants.size() == nodes.size() && nodes.size() <= kMostListed) {
    Node* table = node(Node::kTable, number(0), bytes);
    table->parts.push_back(shapes[0].node);
    table->offsets = constants;
    shape.node = table;
  } else {
    return no("more parts than are written out, and not alike");
  }
  return shape;
}

}  // namespace lacuna::pass
