// SPDX-License-Identifier: BSD-3-Clause
//
// The tests' oracle: enumerates a typemap by MPI's definitions (MPI 5.0, 5.1.2 to 5.1.4 and 5.1.7),
// one function for each constructor. It shares no arithmetic with what tests compare with it:
// build.cpp, darray.cpp and layout/.
#include "type/typemap.hpp"

#include <string>

#include "base/checked.hpp"

namespace lacuna {
namespace {

// Partial sums of displacements may overflow int64 though all entries fit. The final sum is right
// modulo 2^64.
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

class Enumerator {
 public:
  explicit Enumerator(size_t limit) : limit_(limit) {}

  bool within_limit() const { return entries_.size() <= limit_; }
  std::vector<TypemapEntry> take() && { return std::move(entries_); }

  // Appends the typemap of `type` displaced by `at`.
  void enumerate(const Type& type, int64_t at) {
    if (type.size_bytes == 0) return;  // nothing below, however many copies of it
    switch (type.combiner) {
      case Combiner::kNamed:
      case Combiner::kF90Real:
      case Combiner::kF90Complex:
      case Combiner::kF90Integer:
        return basic(*type.basic, at);
      case Combiner::kDup:
      case Combiner::kResized:
        return enumerate(*type.children[0], at);
      case Combiner::kContiguous:
        return block(*type.children[0], at, type.count);
      case Combiner::kVector:
        return strided(type, at, times(type.stride, type.children[0]->extent()));
      case Combiner::kHvector:
        return strided(type, at, type.stride);
      case Combiner::kIndexed:
      case Combiner::kIndexedBlock:
        return listed(type, at, type.children[0]->extent());
      case Combiner::kHindexed:
      case Combiner::kHindexedBlock:
      case Combiner::kStruct:
        return listed(type, at, 1);
      case Combiner::kSubarray:
        return subarray(type, at, 0, 0);
      case Combiner::kDarray:
        return darray(type, at, 0, 0);
      case Combiner::kValueIndex:
        return value_index(type, at);
    }
  }

 private:
  void basic(const Basic& basic, int64_t at) {
    for (int i = 0; i < basic.part_count && within_limit(); ++i) {
      entries_.push_back({plus(at, basic.parts[i].offset_bytes), basic.parts[i].size_bytes});
    }
  }

  // `length` copies, one extent apart.
  void block(const Type& child, int64_t at, int64_t length) {
    if (child.size_bytes == 0) return;
    for (int64_t i = 0; i < length && within_limit(); ++i) {
      enumerate(child, plus(at, times(i, child.extent())));
    }
  }

  void strided(const Type& type, int64_t at, int64_t stride_bytes) {
    for (int64_t i = 0; i < type.count && within_limit(); ++i) {
      block(*type.children[0], plus(at, times(i, stride_bytes)), type.blocklength);
    }
  }

  // All constructors with lists: displacements in units of `unit` bytes; one blocklength for all,
  // or a list; one child for all, or a list.
  void listed(const Type& type, int64_t at, int64_t unit) {
    for (size_t i = 0; i < type.displacements.size() && within_limit(); ++i) {
      const Type& child = *type.children[type.combiner == Combiner::kStruct ? i : 0];
      block(child, plus(at, times(type.displacements[i], unit)),
            type.blocklengths.empty() ? type.blocklength : type.blocklengths[i]);
    }
  }

  // The number of elements between neighbours in dimension `dim`: the product of the sizes of all
  // faster ones.
  static int64_t stride_elements(const Type& array, size_t dim) {
    int64_t stride = 1;
    const size_t dims = array.sizes.size();
    const bool c_order = array.order == Order::kC;
    for (size_t i = c_order ? dim + 1 : 0; i < (c_order ? dims : dim); ++i) {
      stride = times(stride, array.sizes[i]);
    }
    return stride;
  }

  // Arrays are walked in storage order, the slowest dimension first: this is the dimension after
  // `done` of them. Below, `element` is the index in the whole array so far.
  static size_t slowest(const Type& array, size_t done) {
    return array.order == Order::kC ? done : array.sizes.size() - 1 - done;
  }

  void subarray(const Type& type, int64_t at, size_t done, int64_t element) {
    if (done == type.sizes.size()) {
      return enumerate(*type.children[0], plus(at, times(element, type.children[0]->extent())));
    }
    const size_t dim = slowest(type, done);
    for (int64_t i = 0; i < type.subsizes[dim] && within_limit(); ++i) {
      const int64_t index = plus(type.starts[dim], i);
      subarray(type, at, done + 1, plus(element, times(index, stride_elements(type, dim))));
    }
  }

  // The process's coordinate in dimension `dim` of the process grid, whose last dimension varies
  // fastest in either order.
  static int64_t coordinate(const Type& array, size_t dim) {
    int64_t rank = array.darray_rank;
    for (size_t i = array.psizes.size() - 1; i > dim; --i) rank /= array.psizes[i];
    return rank % array.psizes[dim];
  }

  void darray(const Type& type, int64_t at, size_t done, int64_t element) {
    if (done == type.sizes.size()) {
      return enumerate(*type.children[0], plus(at, times(element, type.children[0]->extent())));
    }
    const size_t dim = slowest(type, done);
    const int64_t gsize = type.sizes[dim];
    const int64_t processes = type.psizes[dim];
    const bool by_default = type.dargs[dim] == kDefaultDarg;
    int64_t length = gsize;  // of a block
    if (type.distribs[dim] == Distribution::kBlock) {
      length = by_default ? (gsize - 1) / processes + 1 : type.dargs[dim];
    } else if (type.distribs[dim] == Distribution::kCyclic) {
      length = by_default ? 1 : type.dargs[dim];
    }
    // Blocks are distributed cyclically; the very last one may be short.
    const int64_t last_block = (gsize - 1) / length;
    // (b >= 0: the sum of two legal numbers may overflow int64.)
    for (int64_t b = coordinate(type, dim); b >= 0 && b <= last_block && within_limit();
         b = plus(b, processes)) {
      for (int64_t i = 0; i < length && i < gsize - b * length && within_limit(); ++i) {
        darray(type, at, done + 1,
               plus(element, times(b * length + i, stride_elements(type, dim))));
      }
    }
  }

  // A C struct of the two.
  void value_index(const Type& type, int64_t at) {
    const int64_t alignment = type.children[1]->alignment_bytes;
    int64_t offset = type.children[0]->size_bytes;
    while (offset % alignment != 0) ++offset;
    enumerate(*type.children[0], at);
    enumerate(*type.children[1], plus(at, offset));
  }

  std::vector<TypemapEntry> entries_;
  size_t limit_;
};

Error too_many(int64_t limit) {
  return {LACUNA_UNSUPPORTED,
          "typemap: there are more than " + std::to_string(limit) + " entries; too many to list"};
}

}  // namespace

Result<std::vector<TypemapEntry>> typemap(const Type& type, int64_t count, int64_t limit) {
  if (count < 0) {
    return Error{LACUNA_INVALID_ARGUMENT,
                 "typemap: count is " + std::to_string(count) + "; it must be 0 or more"};
  }
  if (count == 0 || type.size_bytes == 0) return std::vector<TypemapEntry>();
  const Checked last = Checked(count - 1) * type.extent();
  if (!(last + type.true_lb).ok() || !(last + type.true_ub).ok()) {
    return Error{LACUNA_OVERFLOW, "typemap: offsets of " + std::to_string(count) +
                                      " elements do not fit into 64 bits"};
  }
  // Every basic has at least one entry, so most types with too many are found without a walk.
  if (limit < 0 || type.signature.length > limit / count) return too_many(limit);
  Enumerator enumerator(static_cast<size_t>(limit));
  for (int64_t i = 0; i < count && enumerator.within_limit(); ++i) {
    enumerator.enumerate(type, i * type.extent());
  }
  if (!enumerator.within_limit()) return too_many(limit);
  return std::move(enumerator).take();
}

}  // namespace lacuna
