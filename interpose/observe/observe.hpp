// SPDX-License-Identifier: BSD-3-Clause
//
// ObservedCall: one call that has passed the gate, from there until it returns. With report or
// verification, what happens meanwhile is recorded for this call's function.
#ifndef LACUNA_INTERPOSE_OBSERVE_OBSERVE_HPP_
#define LACUNA_INTERPOSE_OBSERVE_OBSERVE_HPP_

#include "interpose/functions/answer.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/policy/outcome.hpp"
#include "interpose/report/report.hpp"
#include "interpose/report/sampling.hpp"

namespace lacuna {

// Counts the calls that got past the gate, for lacuna_interposed_calls().
void count_answer(FunctionId function, Answer answer) noexcept;

// What a call does, for the report.
enum class CallKind : uint8_t {
  kEnds,  // completes or queries requests: it starts nothing
  kMoves,
  kMovesMany,  // moves data, and declines small data of new types (is_left_alone(),
               // types/record.hpp)
};

class ObservedCall {
 public:
  // `caller`: the return address of the wrapper.
  ObservedCall(FunctionId function, CallKind kind, const void* caller) noexcept
      : function_(function), kind_(kind), caller_(caller) {
    if (is_watched(kReported | kVerified)) begin();
  }
  // A receive that the program has freed may have completed during this call.
  ~ObservedCall() {
    finish_freed_requests();
    if (watched_) end();
  }
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;

  Answer record(Answer answer) noexcept {
    ::lacuna::count_answer(function_, answer);
    if (watched_ && kind_ != CallKind::kEnds && !answer.handled && recorded_ == 0) record_nothing();
    return answer;
  }

  // For a collective on predefined types, which passes the gate only because all ranks vote: it
  // counts as kPredefined, unless another outcome is recorded.
  void count_as_vote() noexcept { default_outcome_ = static_cast<size_t>(Outcome::kPredefined); }
  bool watched() const noexcept { return watched_; }

  FunctionId function() const noexcept { return function_; }
  CallKind kind() const noexcept { return kind_; }
  uint16_t site() const noexcept { return site_; }
  TypeId type() const noexcept { return type_; }
  // How many calls its time stands for (report/sampling.hpp); 0: it is not timed.
  uint16_t weight() const noexcept { return static_cast<uint16_t>(weight_); }
  // Records an outcome of the call. Of several types, the first is the call's. True: it is counted
  // later, with other untimed calls; false: the caller must count it.
  bool record_outcome(TypeId type, Outcome outcome, int64_t bytes) noexcept {
    if (recorded_ == 0 || type_ == kOtherTypes) type_ = type;
    ++recorded_;
    outcome_ = outcome;
    bytes_ += bytes;
    return weight_ == 0 && keep(type, static_cast<size_t>(outcome), bytes);
  }
  // Subtracts time that is counted for another call.
  void subtract_time(int64_t ns) noexcept { elsewhere_ns_ += ns; }

 private:
  void begin() noexcept;
  void end() noexcept;
  void end_untimed() noexcept;
  void record_nothing() noexcept;
  bool might_pass() const noexcept;
  // Records an outcome of an untimed call. False: there are more than kMostOutcomes.
  bool keep(TypeId type, size_t outcome, int64_t bytes) noexcept;
  CallGroup* call_group_of(CallGroups* groups) noexcept;
  Account account_here() const noexcept;

  const FunctionId function_;
  const CallKind kind_;
  bool watched_ = false;
  Outcome outcome_{};  // the last outcome
  unsigned recorded_ = 0;
  bool recorded_nothing_ = false;
  size_t default_outcome_ =
      kOutcomesOfTypes;  // what is counted without one: kNothing (report/data.hpp) or a Outcome
  TypeId type_ = kOtherTypes;
  uint16_t site_ = 0;
  const void* caller_;
  CallGroup* group_ = nullptr;  // null: all calls are timed
  uint32_t weight_ = 1;
  int64_t begin_ns_ = 0;
  int64_t elsewhere_ns_ = 0;
  int64_t bytes_ = 0;
  // Of a call that is not timed: its outcomes, as in UntimedCalls.
  uint64_t kept_[kMostOutcomes];
  int64_t kept_bytes_[kMostOutcomes];
  ObservedCall* outer_ = nullptr;  // the call around it: a callback of the program's may call MPI
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_OBSERVE_OBSERVE_HPP_
