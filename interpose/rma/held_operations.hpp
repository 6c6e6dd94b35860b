// SPDX-License-Identifier: BSD-3-Clause
//
// What is held for one-sided operations on their way: by window and target, until the library says
// that they are complete at the origin. Then what a get has brought is unpacked, and the memory for
// packed data is given back.
//
// An operation is held only after the library has begun it, and a synchronisation ends those that
// were held before the library was asked: what other threads have begun meanwhile may be complete
// or not. Until it is ended, an operation can be found by every thread, and it is ended under the
// lock of its window: two threads may synchronise the same target at once, and both may use the
// data afterwards.
#ifndef LACUNA_INTERPOSE_RMA_HELD_OPERATIONS_HPP_
#define LACUNA_INTERPOSE_RMA_HELD_OPERATIONS_HPP_

#include <cstdint>

#include "interpose/library/staging.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

struct HeldOperation {
  Staging outgoing;
  Staging incoming;  // goes to `count` elements at `buf`
  PlanPtr plan;
  void* buf = nullptr;
  MPI_Count count = 0;
  int64_t bytes = 0;
  Account account;

  uintptr_t window = 0;  // bits of the handle; 0: never held
  int target = 0;
  uint64_t number = 0;       // later ones have greater numbers
  bool listed = false;       // held, and not ended yet
  bool has_request = false;  // lives as long as its request
  HeldOperation* next = nullptr;
  HeldOperation* previous = nullptr;
};

// From here on a synchronisation of the window ends it. One without a request belongs to the
// window.
void hold(HeldOperation* operation, MPI_Win window, int target);

// Its request is complete, with or without success; the operation is gone. In no window: complete
// when it returned.
void end_with_request(HeldOperation* operation, bool success);

inline constexpr int kAllTargets = -1;
// What a synchronisation of a window will end if it succeeds: so much of what is held now.
class Synchronization {
 public:
  Synchronization(MPI_Win window, int target);
  bool concerns_any() const { return last_ != 0; }
  // The library has completed them. False: they never will be.
  void end(bool success) const;

 private:
  bool concerns(const HeldOperation& operation) const {
    return operation.window == window_ && (target_ == kAllTargets || operation.target == target_);
  }

  uintptr_t window_;
  int target_;
  uint64_t last_ = 0;  // number of the last one
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_RMA_HELD_OPERATIONS_HPP_
