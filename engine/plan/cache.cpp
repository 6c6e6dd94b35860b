// SPDX-License-Identifier: BSD-3-Clause
#include "plan/cache.hpp"

#include <utility>

namespace lacuna {
namespace {

// 1024 plans. A plan of a few nodes takes 2 to 4 KiB.
constexpr size_t kSets = 128;
constexpr int64_t kMostBytes = int64_t{64} << 20;

}  // namespace

class PlanCache::Lock {
 public:
  explicit Lock(Set& set) : set_(set) {
    constexpr int kTries = 200;  // together they take longer than a lookup
    for (int i = 0; i < kTries && !held_; ++i) {
      held_ = !set.locked.load(std::memory_order_relaxed) &&
              !set.locked.exchange(true, std::memory_order_acquire);
    }
  }
  ~Lock() {
    if (held_) set_.locked.store(false, std::memory_order_release);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  bool held() const { return held_; }

 private:
  Set& set_;
  bool held_ = false;
};

PlanCache::PlanCache(size_t sets, int64_t most_bytes) : sets_(sets), most_bytes_(most_bytes) {}

PlanCache::Entry* PlanCache::find(Set& set, const Type& type, uint64_t hash,
                                  const KernelTable& kernels, const Machine& host) {
  for (Entry& entry : set.entries) {
    if (entry.hash != hash || entry.plan == nullptr) continue;
    const Plan& plan = *entry.plan;
    if (&plan.kernels() == &kernels && &plan.machine() == &host && equal(plan.type(), type))
      return &entry;
  }
  return nullptr;
}

PlanPtr PlanCache::find_or_make(const TypePtr& type, uint64_t hash, const KernelTable& kernels,
                                const Machine& host, Keeps large) {
  if (type->tree_bytes > most_bytes_ / 8) return make_plan(type, kernels, host, large);
  Set& set = set_of(hash);
  {
    const Lock lock(set);
    if (!lock.held()) return make_plan(type, kernels, host);
    if (Entry* entry = find(set, *type, hash, kernels, host)) {
      entry->used = ++set.clock;
      return entry->plan;
    }
  }
  // Without the lock: making a plan takes long, and may throw std::bad_alloc.
  PlanPtr made = make_plan(type, kernels, host);
  if (made->memory_bytes() > most_bytes_ / 8)
    return large == Keeps::kType ? made : make_plan(type, kernels, host, large);
  PlanPtr dropped;  // destroyed after the lock is given back
  {
    const Lock lock(set);
    if (!lock.held()) return made;
    if (Entry* entry = find(set, *type, hash, kernels, host)) return entry->plan;
    Entry* oldest = &set.entries[0];
    for (Entry& entry : set.entries) {
      if (entry.used < oldest->used) oldest = &entry;
    }
    dropped = std::exchange(oldest->plan, made);
    oldest->hash = hash;
    oldest->used = ++set.clock;
  }
  const int64_t less = dropped != nullptr ? dropped->memory_bytes() : 0;
  bytes_.fetch_add(made->memory_bytes() - less, std::memory_order_relaxed);
  if (bytes() > most_bytes_) make_room(static_cast<size_t>(&set - sets_.data()));
  return made;
}

PlanPtr PlanCache::take_oldest(Set& set) {
  const Lock lock(set);
  if (!lock.held()) return nullptr;
  Entry* oldest = nullptr;
  for (Entry& entry : set.entries) {
    if (entry.plan != nullptr && (oldest == nullptr || entry.used < oldest->used)) oldest = &entry;
  }
  if (oldest == nullptr) return nullptr;
  oldest->used = 0;
  return std::exchange(oldest->plan, nullptr);
}

// Evicts one plan from each set in turn, first_set last: it has the newest plan, which is most
// likely to be used next.
void PlanCache::make_room(size_t first_set) {
  for (size_t i = 1; bytes() > most_bytes_ && i <= sets_.size() * kWays; ++i) {
    const PlanPtr dropped = take_oldest(sets_[(first_set + i) % sets_.size()]);
    if (dropped != nullptr) bytes_.fetch_sub(dropped->memory_bytes(), std::memory_order_relaxed);
  }
}

PlanPtr cached_plan(const TypePtr& type, Keeps large) {
  // Never destroyed: the program may use types while the process exits.
  static PlanCache& cache = *new PlanCache(kSets, kMostBytes);
  return cache.find_or_make(type, default_kernels(), machine(), large);
}

}  // namespace lacuna
