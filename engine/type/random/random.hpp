// SPDX-License-Identifier: BSD-3-Clause
//
// Random types for tests: a seed gives a tree, the same on every machine. A tree that fails is
// shrunk to a small one that still fails. Built only into tests.
#ifndef LACUNA_ENGINE_TYPE_RANDOM_RANDOM_HPP_
#define LACUNA_ENGINE_TYPE_RANDOM_RANDOM_HPP_

#include <cstdint>
#include <functional>

#include "type/type.hpp"

namespace lacuna {

// Numbers that are the same on every machine and with every standard library (xoshiro256**, seeded
// by splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed);
  uint64_t next();                             // all 64 bits
  int64_t between(int64_t low, int64_t high);  // in [low, high]; low <= high
  bool chance(int percent) { return between(1, 100) <= percent; }
  // In [low, high]: low plus a number whose bit length is uniformly distributed, so mostly small.
  int64_t magnitude(int64_t low, int64_t high);

 private:
  uint64_t state_[4];
};

struct RandomOptions {
  int max_depth = 4;           // constructors above a basic
  int64_t max_entries = 4096;  // typemap entries of one element
  // Bytes: the limit for the true extent and for the absolute values of lb, ub, true_lb and
  // true_ub.
  int64_t max_true_extent = int64_t{1} << 20;
  // Entries may share bytes: legal to send, not to receive. Where false, 3 elements in a row do not
  // overlap either.
  bool overlap = true;
  bool negative = true;  // negative strides, displacements, lower bounds and extents
};

// Half of the types are random trees: all combiners, zero counts, zero and negative extents, pair
// types, one-entry and regular lists. Half are the shapes of real programs: transposes, faces of
// arrays, blocks of matrices, records and gathers.
TypePtr random_type(uint64_t seed, const RandomOptions& options = {});

// Whether two entries of `count` elements of the type share a byte (such a type may only be sent).
// True also where there are too many entries to tell (2^24).
bool has_overlap(const Type& type, int64_t count);

// Calls `visit` with one-step simplifications of a type, the greatest first: a child in place of a
// node, fewer copies, list entries or dimensions, smaller numbers, a simpler constructor or basic.
// Every step goes down a well-founded order, so that shrinking ends. Stops when `visit` returns
// true; returns whether it did.
bool for_each_simplification(const TypePtr& type, const std::function<bool(const TypePtr&)>& visit);

// A simplification of `type` that still fails, while none of its own one-step simplifications does
// (or the best found within `max_steps` calls of `fails`).
TypePtr shrink_type(TypePtr type, const std::function<bool(const TypePtr&)>& fails,
                    int max_steps = 10000);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_TYPE_RANDOM_RANDOM_HPP_
