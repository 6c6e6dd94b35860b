// SPDX-License-Identifier: BSD-3-Clause
//
// MovedType: what is needed to move the data of a datatype in place of the MPI library, fragment by
// fragment. It is part of the type's record (types/record.hpp), and is found here by the handle
// alone: the library asks for fragments where no function of MPI may be called.
//
// Lifetime. A type is looked up for a message that is under way in it, so the library has not
// destroyed it: it tells lacuna by the type's attribute when it does, and only then is the entry
// removed.
#ifndef LACUNA_INTERPOSE_INSIDE_MOVED_TYPE_HPP_
#define LACUNA_INTERPOSE_INSIDE_MOVED_TYPE_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/hash.hpp"
#include "plan/plan.hpp"
#include "plan/step.hpp"

namespace lacuna::inside {
// What is known of lacuna's plan for a type, for each way. Until a fragment has been compared, the
// library moves the data itself.
enum class Trust : uint8_t { kUntried, kSame, kDiffers };

struct MovedType {
  PlanPtr plan;
  uint64_t structure = 0;  // the hash of the decoded type: equal types need one comparison
  int64_t unit_bytes = 1;  // fragments that are sent end at multiples of it; 0: the library sends
  std::atomic<Trust> trust[2] = {};
  // The library's own function, by which the first fragments are moved.
  std::atomic<void*> own[2] = {};

  // For another type, which no data under way have.
  void reset(PlanPtr new_plan, uint64_t new_structure, int64_t unit) noexcept;
  Trust trusted(Direction way) noexcept;
  void settle(Direction way, bool same) noexcept;
};

// Open addressing in buckets of one cache line. Reading takes no lock; those who write have one.
class TypeTable {
 public:
  MovedType* find(uintptr_t handle) const noexcept {
    for (const Slot& slot : buckets_[bucket(handle)].slots) {
      if (slot.handle.load(std::memory_order_acquire) == handle)
        return slot.type.load(std::memory_order_relaxed);
    }
    return nullptr;
  }
  // If the bucket is full, the library moves data of this type itself.
  void add(uintptr_t handle, MovedType* type) noexcept;
  void remove(uintptr_t handle) noexcept;

 private:
  static constexpr unsigned kBucketBits = 10;
  static constexpr size_t kSlots = 4;
  struct Slot {
    std::atomic<uintptr_t> handle{0};  // 0: free
    std::atomic<MovedType*> type{nullptr};
  };
  struct alignas(64) Bucket {
    Slot slots[kSlots];
  };
  static size_t bucket(uintptr_t handle) noexcept { return hash_slot(handle, kBucketBits); }
  Bucket buckets_[size_t{1} << kBucketBits];
};

extern constinit TypeTable g_types;

}  // namespace lacuna::inside

#endif  // LACUNA_INTERPOSE_INSIDE_MOVED_TYPE_HPP_
