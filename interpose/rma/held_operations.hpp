// SPDX-License-Identifier: BSD-3-Clause
//
// What is held for incomplete one-sided operations: by window and target, until the library reports
// them complete at the origin. Then the data of a get are unpacked, and the buffers are given back.
//
// An operation is held only after the library has begun it. A synchronisation ends the operations
// that were held before its library call: those that other threads have begun since may be
// incomplete. Every thread can find a held operation, and it is ended under the lock of its window,
// as two threads may synchronise the same target at once, and both may use the data afterwards.
#ifndef LACUNA_INTERPOSE_RMA_HELD_OPERATIONS_HPP_
#define LACUNA_INTERPOSE_RMA_HELD_OPERATIONS_HPP_

#include <cstdint>

#include "interpose/memory/staging.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

struct HeldOperation : Completion {
  Staging outgoing;
  Staging incoming;  // packed data for `count` elements at `buf`
  PlanPtr plan;
  void* buf = nullptr;
  MPI_Count count = 0;
  int64_t bytes = 0;
  Account account;

  uintptr_t window = 0;  // bits of the handle; 0: never held
  int target = 0;
  uint64_t number = 0;       // later ones have greater numbers
  bool listed = false;       // held, and not ended yet
  bool has_request = false;  // its request owns it
  HeldOperation* next = nullptr;
  HeldOperation* previous = nullptr;

  // Its request has completed. A synchronisation may have ended it before.
  int finish(bool success) noexcept override;
};

// Adds an operation, which a synchronisation of the window then ends. The list owns it, unless it
// has a request.
void hold(HeldOperation* operation, MPI_Win window, int target);

inline constexpr int kAllTargets = -1;
// The operations that a synchronisation of a window ends if it succeeds: those that are held when
// this is made.
class Synchronization {
 public:
  Synchronization(MPI_Win window, int target);
  bool concerns_any() const { return last_ != 0; }
  // Ends them. `success` false: they will never complete, and nothing is unpacked.
  void end(bool success) const;

 private:
  bool concerns(const HeldOperation& operation) const {
    return operation.window == window_ && (target_ == kAllTargets || operation.target == target_);
  }

  uintptr_t window_;
  int target_;
  uint64_t last_ = 0;  // number of the last of them; 0: none
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_RMA_HELD_OPERATIONS_HPP_
