// SPDX-License-Identifier: BSD-3-Clause
//
// Signatures: the sequence of basics of a type as a polynomial over the field of 2^61 - 1,
//   hash(b_1 ... b_n) = sum of symbol(b_i) * kBase^(n - i),
// so that hash(first second) = hash(first) * kBase^length(second) + hash(second), and n repetitions
// of one sequence come from O(log n) such steps. Used to compare what two ends of a message move,
// never to move it.
#include <unordered_map>

#include "base/hash.hpp"
#include "type/type.hpp"

namespace lacuna {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
// Any element of the field serves; this one was drawn at random.
constexpr uint64_t kBase = 0x1b5d70a3c94ef826 % kPrime;

__extension__ typedef unsigned __int128 Wide;

uint64_t add(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}

uint64_t multiply(uint64_t a, uint64_t b) {
  const Wide product = Wide{a} * b;
  return add(static_cast<uint64_t>(product >> 61), static_cast<uint64_t>(product) & kPrime);
}

uint64_t power(uint64_t base, int64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

// A basic's symbol depends on its name alone: FNV-1a mixes well enough for a few dozen names.
uint64_t symbol(const Basic& basic) {
  uint64_t hash = kFnvOffset;
  for (const char c : basic.name) hash = (hash ^ static_cast<unsigned char>(c)) * kFnvPrime;
  const uint64_t reduced = hash % kPrime;
  return reduced != 0 ? reduced : 1;
}

}  // namespace

Signature signature_of(const Basic& basic) { return {{1, &basic}, symbol(basic)}; }

Signature concat(const Signature& first, const Signature& second) {
  if (first.length == 0) return second;
  if (second.length == 0) return first;
  return {{first.length + second.length, first.uniform == second.uniform ? first.uniform : nullptr},
          add(multiply(first.hash, power(kBase, second.length)), second.hash)};
}

Signature repeat(const Signature& once, int64_t count) {
  Signature result;
  // By binary powers: the hash of 1, 2, 4, ... repetitions, combined by the bits of count.
  uint64_t hash = once.hash;
  uint64_t shift = power(kBase, once.length);
  for (int64_t rest = count; rest > 0; rest >>= 1) {
    if (rest & 1) result.hash = add(multiply(result.hash, shift), hash);
    hash = add(multiply(hash, shift), hash);
    shift = multiply(shift, shift);
  }
  result.length = once.length * count;
  if (result.length > 0) result.uniform = once.uniform;
  return result;
}

Signature signature_of(const Type& type) {
  std::unordered_map<const Type*, Signature> done;
  const auto visit = [&](const auto& self, const Type& node) -> Signature {
    if (node.basic != nullptr) return signature_of(*node.basic);
    if (const auto found = done.find(&node); found != done.end()) return found->second;
    Signature signature;
    if (node.combiner == Combiner::kStruct || node.combiner == Combiner::kValueIndex) {
      for (size_t i = 0; i < node.children.size(); ++i) {
        const int64_t times = node.combiner == Combiner::kStruct ? node.blocklengths[i] : 1;
        signature = concat(signature, repeat(self(self, *node.children[i]), times));
      }
    } else if (node.children[0]->size_bytes > 0) {
      signature =
          repeat(self(self, *node.children[0]), node.size_bytes / node.children[0]->size_bytes);
    }
    done.emplace(&node, signature);
    return signature;
  };
  return visit(visit, type);
}

}  // namespace lacuna
