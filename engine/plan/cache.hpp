// SPDX-License-Identifier: BSD-3-Clause
//
// PlanCache: plans by the structure of their types, so that a type made anew for every message is
// planned once. It keeps the plans used last, up to a number of plans and of bytes. An evicted plan
// lives on with its other owners.
//
// Set-associative: a type's hash names the one set that may hold its plan, so a lookup compares a
// few entries under that set's lock. Equality is structural; the hash only finds the set. No thread
// waits long for a lock: one that does not get it makes a plan that is not kept. So a thread that
// is stopped while it holds a lock, or that a fork leaves behind with it, blocks no other.
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

  // The plan of this structure for these kernels and this machine (compared by address); made if it
  // is not there. Equal types get the same plan until the cache evicts it. `large`: what a plan
  // keeps that, or whose type, is too large for the cache.
  PlanPtr find_or_make(const TypePtr& type, const KernelTable& kernels, const Machine& host,
                       Keeps large = Keeps::kType) {
    return find_or_make(type, type->hash, kernels, host, large);
  }
  // The same with a given hash, for tests of collisions.
  PlanPtr find_or_make(const TypePtr& type, uint64_t hash, const KernelTable& kernels,
                       const Machine& host, Keeps large = Keeps::kType);

  // The memory of all plans kept, approximately.
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
  // Takes out the plan used least recently; null where the set is empty or its lock is held.
  PlanPtr take_oldest(Set& set);
  void make_room(size_t first_set);

  // Not new Set[]: it keeps its count before the first set, so no pointer to the block's beginning
  // exists, and valgrind reports the whole cache as "possibly lost".
  std::vector<Set> sets_;
  const int64_t most_bytes_;
  std::atomic<int64_t> bytes_{0};
};

// From the process-wide cache, with the default kernels and for this machine.
PlanPtr cached_plan(const TypePtr& type, Keeps large = Keeps::kType);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_CACHE_HPP_
