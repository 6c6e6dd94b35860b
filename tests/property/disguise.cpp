// SPDX-License-Identifier: BSD-3-Clause
#include "property/disguise.hpp"

#include <utility>

namespace lacuna::testing {
namespace {

TypePtr must(Result<TypePtr> made) { return std::move(made).value(); }

std::vector<int64_t> arithmetic(int64_t count, int64_t stride) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(i * stride);
  return values;
}

// `count` children `stride_bytes` apart, by one of the constructors that can say it.
TypePtr repeated(int64_t count, int64_t stride_bytes, const TypePtr& child, Choices& choices) {
  switch (choices.below(count <= 64 ? 5 : 2)) {
    case 0:
      return must(make_hvector(count, 1, stride_bytes, child));
    case 1:
      if (child->extent() != 0 && stride_bytes % child->extent() == 0) {
        return must(make_vector(count, 1, stride_bytes / child->extent(), child));
      }
      return must(make_hvector(count, 1, stride_bytes, child));
    case 2:
      return must(make_hindexed_block(1, arithmetic(count, stride_bytes), child));
    case 3:
      return must(make_hindexed(std::vector<int64_t>(static_cast<size_t>(count), 1),
                                arithmetic(count, stride_bytes), child));
    default:
      return must(make_struct(std::vector<int64_t>(static_cast<size_t>(count), 1),
                              arithmetic(count, stride_bytes),
                              std::vector<TypePtr>(static_cast<size_t>(count), child)));
  }
}

TypePtr with_child(const Type& type, TypePtr child) {
  switch (type.combiner) {
    case Combiner::kDup:
      return must(make_dup(child));
    case Combiner::kContiguous:
      return must(make_contiguous(type.count, child));
    case Combiner::kVector:
      return must(make_vector(type.count, type.blocklength, type.stride, child));
    case Combiner::kHvector:
      return must(make_hvector(type.count, type.blocklength, type.stride, child));
    case Combiner::kIndexed:
      return must(make_indexed(type.blocklengths, type.displacements, child));
    case Combiner::kHindexed:
      return must(make_hindexed(type.blocklengths, type.displacements, child));
    case Combiner::kIndexedBlock:
      return must(make_indexed_block(type.blocklength, type.displacements, child));
    case Combiner::kHindexedBlock:
      return must(make_hindexed_block(type.blocklength, type.displacements, child));
    case Combiner::kSubarray:
      return must(make_subarray(type.sizes, type.subsizes, type.starts, type.order, child));
    case Combiner::kDarray:
      return must(make_darray(type.darray_size, type.darray_rank, type.sizes, type.distribs,
                              type.dargs, type.psizes, type.order, child));
    case Combiner::kResized:
      return must(make_resized(type.resized_lb, type.resized_extent, child));
    default:
      return nullptr;
  }
}

// A struct whose first entries may have become a struct of their own.
TypePtr nested_struct(std::vector<int64_t> blocklengths, std::vector<int64_t> displacements,
                      std::vector<TypePtr> children, Choices& choices) {
  int64_t basics = 0;
  for (size_t i = 0; i < children.size(); ++i)
    basics += blocklengths[i] * children[i]->signature.length;
  // Only small ones: what a larger struct's first entries have in common is hoisted before the rest
  // is seen.
  if (children.size() >= 3 && basics <= 8 && choices.below(2) == 0) {
    const auto k =
        static_cast<ptrdiff_t>(1 + choices.below(static_cast<int64_t>(children.size()) - 1));
    const TypePtr head = must(make_struct({blocklengths.begin(), blocklengths.begin() + k},
                                          {displacements.begin(), displacements.begin() + k},
                                          {children.begin(), children.begin() + k}));
    blocklengths.erase(blocklengths.begin(), blocklengths.begin() + k - 1);
    displacements.erase(displacements.begin(), displacements.begin() + k - 1);
    children.erase(children.begin(), children.begin() + k - 1);
    blocklengths[0] = 1;
    displacements[0] = 0;
    children[0] = head;
  }
  return must(make_struct(std::move(blocklengths), std::move(displacements), std::move(children)));
}

// Another construction of this node over the (already disguised) child.
TypePtr rebuild(const Type& type, const TypePtr& child, Choices& choices) {
  const int64_t extent = child->extent();
  switch (type.combiner) {
    case Combiner::kContiguous:
      return repeated(type.count, extent, child, choices);
    case Combiner::kVector:
    case Combiner::kHvector: {
      const int64_t stride =
          type.combiner == Combiner::kVector ? type.stride * extent : type.stride;
      const TypePtr block = must(make_contiguous(type.blocklength, child));
      return repeated(type.count, stride, block, choices);
    }
    case Combiner::kIndexed:
    case Combiner::kIndexedBlock: {
      std::vector<int64_t> bytes(type.displacements);
      for (int64_t& value : bytes) value *= extent;
      if (type.combiner == Combiner::kIndexedBlock)
        return must(make_hindexed_block(type.blocklength, bytes, child));
      return must(make_hindexed(type.blocklengths, bytes, child));
    }
    case Combiner::kHindexedBlock:
      return must(make_hindexed(std::vector<int64_t>(type.displacements.size(), type.blocklength),
                                type.displacements, child));
    case Combiner::kHindexed: {
      std::vector<TypePtr> children(type.blocklengths.size(), child);
      return must(make_struct(type.blocklengths, type.displacements, std::move(children)));
    }
    case Combiner::kSubarray: {
      TypePtr inner = child;
      int64_t stride = extent;
      int64_t offset = 0;
      const size_t n = type.sizes.size();
      for (size_t k = 0; k < n; ++k) {
        const size_t d = type.order == Order::kC ? n - 1 - k : k;
        inner = repeated(type.subsizes[d], stride, inner, choices);
        offset += type.starts[d] * stride;
        stride *= type.sizes[d];
      }
      return must(make_hindexed({1}, {offset}, inner));
    }
    default:
      return with_child(type, child);
  }
}

}  // namespace

TypePtr disguise(const TypePtr& type, Choices& choices) {
  TypePtr made;
  if (type->combiner == Combiner::kStruct) {
    std::vector<TypePtr> children;
    for (const TypePtr& child : type->children) children.push_back(disguise(child, choices));
    made = nested_struct(type->blocklengths, type->displacements, std::move(children), choices);
  } else if (type->children.empty() || type->combiner == Combiner::kValueIndex) {
    made = type;
  } else {
    const TypePtr child = disguise(type->children[0], choices);
    made = choices.below(3) == 0 ? with_child(*type, child) : rebuild(*type, child, choices);
  }
  switch (choices.below(8)) {
    case 0:
      made = must(make_dup(made));
      break;
    case 1:
      made = must(make_contiguous(1, made));
      break;
    case 2:
      made = must(make_hvector(1, 1, 12345, made));
      break;
    case 3:
      made = must(make_struct({1, 0}, {0, 77}, {made, made}));
      break;
    default:
      break;
  }
  // Bounds that the other construction does not carry (markers, struct padding).
  if (made->lb != type->lb || made->extent() != type->extent())
    made = must(make_resized(type->lb, type->extent(), made));
  return made;
}

}  // namespace lacuna::testing
