// SPDX-License-Identifier: BSD-3-Clause
//
// Type -> layout: each MPI constructor becomes loops, lists and sequences of its child's layout.
// The work is O(nodes) plus the entries of index lists, whatever the number of bytes described; a
// child shared by several places is lowered once.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "layout/layout.hpp"

namespace lacuna {
namespace {

class Lowering {
 public:
  // From the innermost types outwards, without recursion: the depth of types is not limited by the
  // stack.
  Placed lower_all(const Type& root) {
    struct Visit {
      const Type* type;
      size_t next = 0;  // of its children
    };
    std::vector<Visit> path{{&root}};
    for (;;) {
      Visit& at = path.back();
      if (at.next < at.type->children.size()) {
        const Type* const child = at.type->children[at.next++].get();
        if (!child->children.empty() && !done_.contains(child)) path.push_back({child});
        continue;
      }
      if (path.size() == 1) return lower_new(root);
      lower(*at.type);
      path.pop_back();
    }
  }

 private:
  Placed lower(const Type& type) {
    auto found = done_.find(&type);
    if (found != done_.end()) return found->second;
    Placed placed = lower_new(type);
    done_.emplace(&type, placed);
    return placed;
  }

  // `count` consecutive elements of a child, as every block of every constructor is.
  static Placed block(int64_t count, const Type& child, const Placed& element) {
    return make_loop(count, child.extent(), element);
  }

  static Placed placed_at(int64_t offset, Placed placed) {
    placed.offset += offset;
    return placed;
  }

  [[gnu::noinline]] static Placed basic_parts(const Basic& basic) {
    if (basic.part_count == 1)
      return make_run(basic.parts[0].offset_bytes, basic.parts[0].size_bytes);
    std::vector<int64_t> offsets;
    std::vector<int64_t> lengths;
    for (int i = 0; i < basic.part_count; ++i) {
      offsets.push_back(basic.parts[i].offset_bytes);
      lengths.push_back(basic.parts[i].size_bytes);
    }
    return make_runs(std::move(offsets), std::move(lengths));
  }

  // The functions that it calls are not inlined, or its frame would be that of all together.
  Placed lower_new(const Type& type) {
    switch (type.combiner) {
      case Combiner::kNamed:
      case Combiner::kF90Real:
      case Combiner::kF90Complex:
      case Combiner::kF90Integer:
        return basic_parts(*type.basic);
      case Combiner::kValueIndex:
        return lower_value_index(type);
      case Combiner::kDup:
      case Combiner::kResized:
        return lower(*type.children[0]);
      case Combiner::kContiguous:
        return block(type.count, *type.children[0], lower(*type.children[0]));
      case Combiner::kVector:
      case Combiner::kHvector: {
        const Type& child = *type.children[0];
        const int64_t stride = type.combiner == Combiner::kVector
                                   ? wrapping_mul(type.stride, child.extent())
                                   : type.stride;
        return make_loop(type.count, stride, block(type.blocklength, child, lower(child)));
      }
      case Combiner::kIndexed:
      case Combiner::kHindexed:
      case Combiner::kIndexedBlock:
      case Combiner::kHindexedBlock:
        return lower_indexed(type);
      case Combiner::kStruct:
        return lower_struct(type);
      case Combiner::kSubarray:
        return lower_subarray(type);
      case Combiner::kDarray:
        return lower_darray(type);
    }
    return {};
  }

  [[gnu::noinline]] Placed lower_value_index(const Type& type) {
    if (type.basic != nullptr) return basic_parts(*type.basic);
    const Type& value = *type.children[0];
    const Type& index = *type.children[1];
    // C's struct {value; index;}: the index is at the next multiple of its alignment.
    const int64_t offset = (value.size_bytes + index.alignment_bytes - 1) / index.alignment_bytes *
                           index.alignment_bytes;
    return make_seq({lower(value), placed_at(offset, lower(index))});
  }

  [[gnu::noinline]] Placed lower_indexed(const Type& type) {
    const Type& child = *type.children[0];
    const Placed element = lower(child);
    if (element.empty()) return {};
    const bool in_bytes =
        type.combiner == Combiner::kHindexed || type.combiner == Combiner::kHindexedBlock;
    const int64_t unit = in_bytes ? 1 : child.extent();
    std::vector<int64_t> offsets(type.displacements);
    for (int64_t& offset : offsets) offset = wrapping_mul(offset, unit);
    if (type.combiner == Combiner::kIndexedBlock || type.combiner == Combiner::kHindexedBlock) {
      return make_blocks(std::move(offsets), block(type.blocklength, child, element));
    }
    if (element.node->kind == LayoutNode::Kind::kRun && element.node->size == child.extent()) {
      std::vector<int64_t> lengths(type.blocklengths);
      for (int64_t& length : lengths) length *= element.node->size;
      for (int64_t& offset : offsets) offset += element.offset;
      return make_runs(std::move(offsets), std::move(lengths));
    }
    // Blocks of a child with gaps: pieces, each distinct blocklength built once.
    std::map<int64_t, Placed> blocks;
    std::vector<Placed> parts;
    parts.reserve(offsets.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
      auto [it, fresh] = blocks.try_emplace(type.blocklengths[i]);
      if (fresh) it->second = block(type.blocklengths[i], child, element);
      parts.push_back(placed_at(offsets[i], it->second));
    }
    return make_seq(std::move(parts));
  }

  [[gnu::noinline]] Placed lower_struct(const Type& type) {
    std::vector<Placed> parts;
    parts.reserve(type.children.size());
    for (size_t i = 0; i < type.children.size(); ++i) {
      const Type& child = *type.children[i];
      parts.push_back(
          placed_at(type.displacements[i], block(type.blocklengths[i], child, lower(child))));
    }
    return make_seq(std::move(parts));
  }

  [[gnu::noinline]] Placed lower_subarray(const Type& type) {
    const Type& child = *type.children[0];
    Placed placed = lower(child);
    int64_t stride = child.extent();
    const size_t ndims = type.sizes.size();
    for (size_t k = 0; k < ndims; ++k) {  // from the fastest dimension to the slowest
      const size_t d = type.order == Order::kC ? ndims - 1 - k : k;
      placed = placed_at(type.starts[d] * stride, make_loop(type.subsizes[d], stride, placed));
      stride *= type.sizes[d];
    }
    return placed;
  }

  [[gnu::noinline]] Placed lower_darray(const Type& type) {
    const Type& child = *type.children[0];
    Placed placed = lower(child);
    const std::vector<int64_t> coords = darray_coords(type);
    int64_t stride = child.extent();
    const size_t ndims = type.sizes.size();
    for (size_t k = 0; k < ndims; ++k) {
      const size_t d = type.order == Order::kC ? ndims - 1 - k : k;
      const OwnedBlocks owned =
          darray_owned(type.sizes[d], type.distribs[d], type.dargs[d], type.psizes[d], coords[d]);
      const Placed full = make_loop(owned.full, wrapping_mul(owned.period, stride),
                                    make_loop(owned.block, stride, placed));
      const Placed tail = make_loop(owned.tail, stride, placed);
      placed = make_seq({placed_at(owned.first * stride, full),
                         placed_at((owned.first + owned.full * owned.period) * stride, tail)});
      stride *= type.sizes[d];
    }
    return placed;
  }

  std::unordered_map<const Type*, Placed> done_;
};

}  // namespace

Layout lower(const Type& type) {
  Layout layout;
  layout.element = Lowering().lower_all(type);
  layout.extent = type.extent();
  return layout;
}

}  // namespace lacuna
