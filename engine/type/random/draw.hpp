// SPDX-License-Identifier: BSD-3-Clause
//
// What random.cpp draws trees from: counts, strides, index lists and leaves, a mixture of usual and
// unusual values. Each draw must be a statement of its own: else its order would depend on the
// order in which a compiler evaluates arguments. Private to random.cpp.
#ifndef LACUNA_ENGINE_TYPE_RANDOM_DRAW_HPP_
#define LACUNA_ENGINE_TYPE_RANDOM_DRAW_HPP_

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

#include "type/random/random.hpp"

namespace lacuna::detail {

using List = std::vector<int64_t>;

// Blocks in units of the child's extent.
struct Blocks {
  List lengths;
  List displacements;
};

class Draw {
 protected:
  Draw(uint64_t seed, const RandomOptions& options) : rng_(seed), options_(options) {}

  // ---- numbers ----

  template <size_t n>
  size_t weighted(const int (&weights)[n]) {
    int64_t sum = 0;
    for (const int weight : weights) sum += weight;
    int64_t at = rng_.between(0, sum - 1);
    size_t i = 0;
    while (at >= weights[i]) at -= weights[i++];
    return i;
  }

  // How many copies of a child there may be.
  int64_t room(const Type& child) const {
    const int64_t entries = std::max<int64_t>(1, child.signature.length);
    const int64_t bytes = std::max<int64_t>({1, child.true_extent(), std::abs(child.extent())});
    return std::max<int64_t>(
        1, std::min(options_.max_entries / entries, options_.max_true_extent / bytes));
  }

  // The side of the largest square of so many elements.
  static int64_t square_side(int64_t elements) {
    int64_t side = 1;
    while ((side + 1) * (side + 1) <= elements) ++side;
    return side;
  }

  // A count: rarely 0, mostly small, sometimes a power of two, sometimes up to `most`.
  int64_t count(int64_t most) {
    most = std::max<int64_t>(most, 1);
    if (rng_.chance(3)) return 0;
    if (rng_.chance(20)) return std::min(most, int64_t{1} << rng_.between(0, 8));
    return rng_.magnitude(1, rng_.chance(70) ? std::min<int64_t>(most, 12) : most);
  }

  int64_t maybe_negative(int64_t value, int percent) {
    return options_.negative && rng_.chance(percent) ? -value : value;
  }

  // The stride of blocks of `length` (same unit), such that `blocks` of them stay within `most`.
  int64_t stride(int64_t length, int64_t blocks, int64_t most) {
    const int64_t widest = std::max(length, most / std::max<int64_t>(blocks, 1));
    if (options_.overlap && rng_.chance(4)) return 0;
    if (options_.overlap && rng_.chance(6)) return rng_.between(0, length);
    if (rng_.chance(10)) return maybe_negative(length, 20);
    if (rng_.chance(20)) {
      int64_t round = 1;
      while (round < length) round *= 2;
      return maybe_negative(std::min(round << rng_.between(0, 4), widest), 15);
    }
    return maybe_negative(rng_.magnitude(length, widest), 15);
  }

  // Displacements and lengths of blocks: regular or not, in order or not, sometimes with empty or
  // repeated ones.
  Blocks blocks(int64_t most_copies, int64_t most_displacement, bool equal_lengths) {
    Blocks result;
    const int64_t entries =
        rng_.chance(3) ? 0 : rng_.magnitude(1, std::min<int64_t>(most_copies, 48));
    const int64_t longest =
        rng_.magnitude(1, std::max<int64_t>(1, most_copies / std::max<int64_t>(1, entries)));
    const bool same = equal_lengths || rng_.chance(40);
    const bool regular = rng_.chance(35);
    const int64_t gap = rng_.magnitude(0, 8);
    int64_t at = rng_.chance(50) ? 0 : maybe_negative(rng_.magnitude(0, 32), 30);
    for (int64_t i = 0; i < entries; ++i) {
      int64_t length = same ? longest : rng_.between(1, longest);
      if (!equal_lengths && rng_.chance(5)) length = 0;
      result.lengths.push_back(length);
      result.displacements.push_back(std::min(at, most_displacement));
      at += (regular ? longest : length) + (regular ? gap : rng_.magnitude(0, 8));
      if (!regular && rng_.chance(5)) at += rng_.magnitude(0, 256);
    }
    List& displacements = result.displacements;
    if (rng_.chance(10)) std::reverse(displacements.begin(), displacements.end());
    if (rng_.chance(15)) {
      for (size_t i = displacements.size(); i > 1; --i) {
        std::swap(displacements[i - 1],
                  displacements[static_cast<size_t>(rng_.between(0, static_cast<int64_t>(i) - 1))]);
      }
    }
    if (options_.overlap && entries > 1 && rng_.chance(10)) displacements.back() = displacements[0];
    return result;
  }

  // Displacements in bytes for blocks that were drawn in extents, sometimes unaligned.
  List in_bytes(const List& displacements, const Type& child) {
    const int64_t step = std::max<int64_t>({1, child.extent(), child.true_extent()}) +
                         (rng_.chance(30) ? rng_.between(0, 9) : 0);
    const int64_t offset = rng_.chance(30) ? rng_.between(0, 16) : 0;
    List result;
    for (const int64_t displacement : displacements) result.push_back(displacement * step + offset);
    return result;
  }

  // ---- leaves ----

  TypePtr named(std::initializer_list<const char*> names) {
    const auto i = rng_.between(0, static_cast<int64_t>(names.size()) - 1);
    return make_named(*find_basic(names.begin()[i]));
  }

  TypePtr common() {
    return named({"double", "double", "double", "float", "int", "int", "char", "byte", "short",
                  "long", "c_double_complex", "long_double"});
  }

  TypePtr leaf(int depth) {
    const int64_t kind = rng_.between(1, 100);
    if (kind <= 70) return common();
    if (kind <= 78) {
      return named({"double_int", "short_int", "long_double_int", "float_int", "2int", "long_int"});
    }
    if (kind <= 84 && depth > 0) {
      const TypePtr value = common();
      return *make_value_index(value, rng_.chance(60) ? named({"int"}) : common());
    }
    if (kind <= 90) {
      const int64_t precision = rng_.between(1, 33);
      const int64_t range = rng_.between(1, 4931);
      const bool known = rng_.chance(50);
      if (kind <= 87) return *make_f90_real(precision, known ? range : kUndefined);
      return *make_f90_complex(known ? precision : kUndefined, range);
    }
    if (kind <= 93) return *make_f90_integer(rng_.between(0, 38));
    const std::span<const Basic> basics = all_basics();
    return make_named(
        basics[static_cast<size_t>(rng_.between(0, static_cast<int64_t>(basics.size()) - 1))]);
  }

  Random rng_;
  const RandomOptions& options_;
};

}  // namespace lacuna::detail

#endif  // LACUNA_ENGINE_TYPE_RANDOM_DRAW_HPP_
