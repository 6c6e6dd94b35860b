// SPDX-License-Identifier: BSD-3-Clause
//
// Structural identity of types: a hash, by which a type made anew is found in caches, and the
// comparison that decides. The hash of a type is made from its children's hashes, so it costs
// O(own arguments).
#include "type/bounds.hpp"
#include "type/type.hpp"

namespace lacuna {
namespace {

__extension__ typedef unsigned __int128 Wide;

// Combines two words: both halves of their product, by exclusive or. Odd random constants keep
// products of small numbers different, and from zero.
constexpr uint64_t kFirst = 0x9d6f3b5a17c2e84d;
constexpr uint64_t kSecond = 0xc3a5c85c97cb3127;

uint64_t mixed(uint64_t a, uint64_t b) {
  const Wide product = Wide{a ^ kFirst} * (b ^ kSecond);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t word(int64_t value) { return static_cast<uint64_t>(value); }

// Two independent chains of products, so that a long list is not bound by the latency of one.
uint64_t hash_of(const std::vector<int64_t>& list, uint64_t seed) {
  uint64_t a = mixed(seed, list.size());
  uint64_t b = seed;
  size_t i = 0;
  for (; i + 4 <= list.size(); i += 4) {
    a = mixed(a ^ word(list[i]), word(list[i + 1]));
    b = mixed(b ^ word(list[i + 2]), word(list[i + 3]));
  }
  for (; i < list.size(); ++i) a = mixed(a, word(list[i]));
  return mixed(a, b);
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// Which arguments a combiner has besides count and children.
enum class Arguments { kNone, kStrided, kBounds, kBasic, kBlocks, kArray };

Arguments arguments_of(Combiner combiner) {
  switch (combiner) {
    case Combiner::kDup:
    case Combiner::kContiguous:
      return Arguments::kNone;
    case Combiner::kVector:
    case Combiner::kHvector:
      return Arguments::kStrided;
    case Combiner::kResized:
      return Arguments::kBounds;
    case Combiner::kNamed:
    case Combiner::kValueIndex:
    case Combiner::kF90Real:
    case Combiner::kF90Complex:
    case Combiner::kF90Integer:
      return Arguments::kBasic;
    case Combiner::kIndexed:
    case Combiner::kHindexed:
    case Combiner::kIndexedBlock:
    case Combiner::kHindexedBlock:
    case Combiner::kStruct:
      return Arguments::kBlocks;
    case Combiner::kSubarray:
    case Combiner::kDarray:
      return Arguments::kArray;
  }
  return Arguments::kArray;
}

bool equal_arguments(const Type& a, const Type& b) {
  switch (arguments_of(a.combiner)) {
    case Arguments::kNone:
      return true;
    case Arguments::kStrided:
      return a.blocklength == b.blocklength && a.stride == b.stride;
    case Arguments::kBounds:
      return a.resized_lb == b.resized_lb && a.resized_extent == b.resized_extent;
    case Arguments::kBasic:
      return a.basic == b.basic && a.precision == b.precision && a.range == b.range;
    case Arguments::kBlocks:
      return a.blocklength == b.blocklength && a.blocklengths == b.blocklengths &&
             a.displacements == b.displacements;
    case Arguments::kArray:
      return a.order == b.order && a.sizes == b.sizes && a.subsizes == b.subsizes &&
             a.starts == b.starts && a.darray_size == b.darray_size &&
             a.darray_rank == b.darray_rank && a.distribs == b.distribs && a.dargs == b.dargs &&
             a.psizes == b.psizes;
  }
  return false;
}

}  // namespace

namespace detail {

void fingerprint(Type* type) {
  const Type& t = *type;
  uint64_t hash = mixed(static_cast<uint64_t>(t.combiner), word(t.count));
  int64_t bytes = sizeof(Type);
  const Type* before = nullptr;
  for (const TypePtr& child : t.children) {
    hash = mixed(hash, child->hash);
    if (child.get() != before) bytes = saturating_add(bytes, child->tree_bytes);
    before = child.get();
  }
  switch (arguments_of(t.combiner)) {
    case Arguments::kNone:
      break;
    case Arguments::kStrided:
      hash = mixed(hash ^ word(t.blocklength), word(t.stride));
      break;
    case Arguments::kBounds:
      hash = mixed(hash ^ word(t.resized_lb), word(t.resized_extent));
      break;
    case Arguments::kBasic:
      hash = mixed(hash ^ word(t.precision), word(t.range));
      hash = mixed(hash, reinterpret_cast<uintptr_t>(t.basic));
      break;
    case Arguments::kBlocks:
      hash = hash_of(t.blocklengths, mixed(hash, word(t.blocklength)));
      hash = hash_of(t.displacements, hash);
      bytes = saturating_add(
          bytes, static_cast<int64_t>(
                     8 * (t.blocklengths.size() + t.displacements.size() + t.children.size())));
      break;
    case Arguments::kArray:
      hash = mixed(hash, static_cast<uint64_t>(t.order));
      for (const auto* list : {&t.sizes, &t.subsizes, &t.starts, &t.dargs, &t.psizes}) {
        if (!list->empty()) hash = hash_of(*list, hash);
      }
      for (const Distribution distribution : t.distribs)
        hash = mixed(hash, static_cast<uint64_t>(distribution));
      hash = mixed(hash ^ word(t.darray_size), word(t.darray_rank));
      bytes = saturating_add(bytes, static_cast<int64_t>(8 * 7 * t.sizes.size()));
      break;
  }
  type->hash = hash;
  type->tree_bytes = bytes;
}

}  // namespace detail

bool equal(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.combiner != b.combiner || a.count != b.count || a.children.size() != b.children.size() ||
      !equal_arguments(a, b))
    return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (a.children[i] == b.children[i]) continue;
    // Entries of a struct often have the same type as the entry before.
    if (i > 0 && a.children[i] == a.children[i - 1] && b.children[i] == b.children[i - 1]) continue;
    if (!equal(*a.children[i], *b.children[i])) return false;
  }
  return true;
}

}  // namespace lacuna
