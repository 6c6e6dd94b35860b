// SPDX-License-Identifier: BSD-3-Clause
//
// Random types for tests: a seed gives a tree, a failing tree is shrunk to a small one that still
// fails. Same seed, same type, on every machine. Built only into tests.
#ifndef LACUNA_ENGINE_TYPE_RANDOM_HPP_
#define LACUNA_ENGINE_TYPE_RANDOM_HPP_

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
  // In [low, high], low + a number of as likely one bit as two, three ...: mostly small, now and
  // then large.
  int64_t magnitude(int64_t low, int64_t high);

 private:
  uint64_t state_[4];
};

struct RandomOptions {
  int max_depth = 4;           // constructors above a basic
  int64_t max_entries = 4096;  // typemap entries of one element
  // Bytes: the most that the true extent and each of lb, ub, true_lb and true_ub, taken positive,
  // may be.
  int64_t max_true_extent = int64_t{1} << 20;
  // Entries may share bytes: legal to send, not to receive. Where false, 3 elements in a row do not
  // overlap either.
  bool overlap = true;
  bool negative = true;  // negative strides, displacements, lower bounds and extents
};

// Draws all combiners, zero counts, zero and negative extents, pair types, one-entry and regular
// lists, and about as often the shapes of real programs: transposes, faces of arrays, blocks of
// matrices, records and gathers.
TypePtr random_type(uint64_t seed, const RandomOptions& options = {});

// Whether two entries of `count` elements of the type share a byte (such a type may only be sent).
// True also where there are too many entries to tell (2^24).
bool has_overlap(const Type& type, int64_t count);

// Calls `visit` with one-step simplifications of a type, the boldest first: a child in place of a
// node, fewer copies, list entries or dimensions, smaller numbers, a simpler constructor or basic.
// Every step goes down a well-founded order. Stops when `visit` answers true, and answers whether
// it did.
bool for_each_simplification(const TypePtr& type, const std::function<bool(const TypePtr&)>& visit);

// A type for which `fails` still holds and for none of whose one-step simplifications it does (or
// the best found within `max_steps` calls of `fails`).
TypePtr shrink_type(TypePtr type, const std::function<bool(const TypePtr&)>& fails,
                    int max_steps = 10000);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_TYPE_RANDOM_HPP_
