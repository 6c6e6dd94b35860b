// SPDX-License-Identifier: BSD-3-Clause
//
// Structural identity of types: a hash, by which a type made anew finds what is known of its
// equals, and the comparison that has the last word. The hash of a type takes its children's as
// they are, so it costs what its own arguments cost.
#include <algorithm>
#include <tuple>

#include "type/bounds.hpp"
#include "type/type.hpp"

namespace lacuna {
namespace {

__extension__ typedef unsigned __int128 Wide;

// Two words to one: the halves of a product, over each other. Odd random constants keep products of
// small numbers apart and from zero.
constexpr uint64_t kFirst = 0x9d6f3b5a17c2e84d;
constexpr uint64_t kSecond = 0xc3a5c85c97cb3127;

uint64_t mixed(uint64_t a, uint64_t b) {
  const Wide product = Wide{a ^ kFirst} * (b ^ kSecond);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t word(int64_t value) { return static_cast<uint64_t>(value); }

// Two independent chains, so that a long list takes as long as the processor multiplies, not as one
// product waits for another.
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

// What arguments that few combiners have add to the hash.
uint64_t hash_of_lists(const Type& t, uint64_t hash) {
  for (const auto* list :
       {&t.blocklengths, &t.displacements, &t.sizes, &t.subsizes, &t.starts, &t.dargs, &t.psizes}) {
    if (!list->empty()) hash = hash_of(*list, hash);
  }
  for (const Distribution distribution : t.distribs)
    hash = mixed(hash, static_cast<uint64_t>(distribution));
  if (t.combiner == Combiner::kDarray)
    hash = mixed(hash ^ word(t.darray_size), word(t.darray_rank));
  return mixed(hash, static_cast<uint64_t>(t.order));
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
  switch (t.combiner) {
    case Combiner::kDup:
    case Combiner::kContiguous:
    case Combiner::kValueIndex:
      break;
    case Combiner::kVector:
    case Combiner::kHvector:
      hash = mixed(hash ^ word(t.blocklength), word(t.stride));
      break;
    case Combiner::kResized:
      hash = mixed(hash ^ word(t.resized_lb), word(t.resized_extent));
      break;
    case Combiner::kNamed:
    case Combiner::kF90Real:
    case Combiner::kF90Complex:
    case Combiner::kF90Integer:
      hash = mixed(hash ^ word(t.precision), word(t.range));
      hash = mixed(hash, reinterpret_cast<uintptr_t>(t.basic));
      break;
    default:
      hash = hash_of_lists(t, mixed(hash, word(t.blocklength)));
      // The longest lists are those of blocks and of struct entries; others have a few dimensions.
      bytes = saturating_add(
          bytes, static_cast<int64_t>(8 * (t.blocklengths.size() + t.displacements.size() +
                                           t.children.size() + 7 * t.sizes.size())));
      break;
  }
  type->hash = hash;
  type->tree_bytes = bytes;
}

}  // namespace detail

bool equal(const Type& a, const Type& b) {
  if (&a == &b) return true;
  // Size and depth say nothing new, but tell most unequal types apart before their trees are
  // walked.
  const auto numbers = [](const Type& t) {
    return std::tie(t.combiner, t.size_bytes, t.depth, t.count, t.blocklength, t.stride,
                    t.resized_lb, t.resized_extent, t.order, t.darray_size, t.darray_rank,
                    t.precision, t.range, t.basic);
  };
  const auto lists = [](const Type& t) {
    return std::tie(t.blocklengths, t.displacements, t.sizes, t.subsizes, t.starts, t.distribs,
                    t.dargs, t.psizes);
  };
  if (numbers(a) != numbers(b) || lists(a) != lists(b) || a.children.size() != b.children.size())
    return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    // Entries of a struct are often the same type over and over.
    if (i > 0 && a.children[i] == a.children[i - 1] && b.children[i] == b.children[i - 1]) continue;
    if (!equal(*a.children[i], *b.children[i])) return false;
  }
  return true;
}

}  // namespace lacuna
