// SPDX-License-Identifier: BSD-3-Clause
//
// PlanCache: plans by the structure of their types, so that a type made anew for every message is
// planned once. It holds on to what was used last, up to a number of plans and of bytes; what it
// drops lives on with its other owners.
//
// A table of sets. A plan may only be in the set that its type's hash names, so that a lookup looks
// at a few entries under a lock of their own. Hashes only say where to look: equality is
// structural. Nobody waits for a lock for long: who does not get it makes a plan that is not kept.
// So a thread that was stopped with the lock, or that a fork left behind with it, stops no other.
#ifndef LACUNA_ENGINE_PLAN_CACHE_HPP_
#define LACUNA_ENGINE_PLAN_CACHE_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace lacuna {

class PlanCache {
 public:
  static constexpr size_t kWays = 8;  // plans in a set

  // `sets`: a power of two. Types above an eighth of `most_bytes` are not kept at all, which also
  // bounds what comparing two of them can cost.
  PlanCache(size_t sets, int64_t most_bytes);

  // The plan of this structure for these kernels and this machine (by their addresses), made if
  // need be. As long as no more is asked of the cache than it holds, equal types have the same
  // plan.
  // What is too large to be kept is planned with this (Keeps).
  PlanPtr find_or_make(const TypePtr& type, const KernelTable& kernels, const Machine& host,
                       Keeps large = Keeps::kType) {
    return find_or_make(type, type->hash, kernels, host, large);
  }
  // The same with the hash from elsewhere: for the tests of what happens when two are equal.
  PlanPtr find_or_make(const TypePtr& type, uint64_t hash, const KernelTable& kernels,
                       const Machine& host, Keeps large = Keeps::kType);

  // About the memory of all that is kept.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    uint64_t hash = 0;
    uint64_t used = 0;  // when, on the set's clock; 0: never
    PlanPtr plan;
  };
  class Lock;
  struct alignas(64) Set {
    std::atomic<bool> locked{false};
    uint64_t clock = 0;
    Entry entries[kWays];
  };

  Set& set_of(uint64_t hash) { return sets_[(hash >> 32) & (sets_.size() - 1)]; }
  static Entry* find(Set& set, const Type& type, uint64_t hash, const KernelTable& kernels,
                     const Machine& host);
  // Takes out the plan that was used least recently; null where there is none to get.
  PlanPtr take_oldest(Set& set);
  void make_room(size_t first_set);

  // Not new Set[]: nothing would point to where that begins (it keeps the count there, before the
  // sets), and valgrind would call the cache of the process "possibly lost", and all in it.
  std::vector<Set> sets_;
  const int64_t most_bytes_;
  std::atomic<int64_t> bytes_{0};
};

// From the cache of the process: with the default kernels, for this machine.
PlanPtr cached_plan(const TypePtr& type, Keeps large = Keeps::kType);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_CACHE_HPP_
