// SPDX-License-Identifier: BSD-3-Clause
//
// Look: one call that has got past the gate, from there until it returns. Where the user wants to
// be told, what happens meanwhile is told of this call's function.
#ifndef LACUNA_INTERPOSE_OBSERVE_OBSERVE_HPP_
#define LACUNA_INTERPOSE_OBSERVE_OBSERVE_HPP_

#include "interpose/library/answer.hpp"
#include "interpose/library/bodies.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/policy/outcome.hpp"
#include "interpose/report/report.hpp"
#include "interpose/report/sampling.hpp"

namespace lacuna {

// Counts the calls that got past the gate, for lacuna_interposed_calls().
void note(FunctionId function, Answer answer) noexcept;

// What a call is to the report: one that moves data or starts to is named in it.
enum class Role : uint8_t {
  kEnds,  // or asks: nothing starts
  kMoves,
  kMovesMany,  // of new types only much data, or after some uses (is_left_alone(),
               // types/record.hpp)
};

class Look {
 public:
  // `caller`: the return address of the wrapper.
  Look(FunctionId function, Role role, const void* caller) noexcept
      : function_(function), role_(role), caller_(caller) {
    if (is_watched(kReported | kVerified)) begin();
  }
  // A receive that the program has freed may have come with what the call has waited for.
  ~Look() {
    finish_freed_requests();
    if (watched_) end();
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  Answer note(Answer answer) noexcept {
    ::lacuna::note(function_, answer);
    if (watched_ && role_ != Role::kEnds && !answer.taken && times_told_ == 0) tell_nothing();
    return answer;
  }

  // A collective whose types are predefined comes here because all ranks vote: that is why it is
  // the library's, if nothing else is told.
  void comes_to_vote() noexcept { untold_ = static_cast<size_t>(Note::kPredefined); }
  bool watched() const noexcept { return watched_; }

  FunctionId function() const noexcept { return function_; }
  Role role() const noexcept { return role_; }
  uint16_t site() const noexcept { return site_; }
  TypeId type() const noexcept { return type_; }
  // How many calls its time stands for; 0: it is not timed.
  uint16_t weight() const noexcept { return static_cast<uint16_t>(weight_); }
  // Something is known of the call's data. Of several types, the first is the call's. True: it is
  // booked later; false: it is for the caller to book.
  bool told(TypeId type, Note note, int64_t bytes) noexcept {
    if (times_told_ == 0 || type_ == kOtherTypes) type_ = type;
    ++times_told_;
    note_ = note;
    bytes_ += bytes;
    return weight_ == 0 && keep(type, static_cast<size_t>(note), bytes);
  }
  // Time that is booked on another call.
  void leave_out(int64_t ns) noexcept { elsewhere_ns_ += ns; }

 private:
  void begin() noexcept;
  void end() noexcept;
  void end_untimed() noexcept;
  void tell_nothing() noexcept;
  bool might_pass() const noexcept;
  // For the lot. False: there are too many things.
  bool keep(TypeId type, size_t outcome, int64_t bytes) noexcept;
  Lane* lane_of(Lanes* lanes) noexcept;
  Account account_here() const noexcept;

  const FunctionId function_;
  const Role role_;
  bool watched_ = false;
  Note note_{};  // what it was told last
  unsigned times_told_ = 0;
  bool told_nothing_ = false;
  size_t untold_ = kNotes;  // what is counted then: kNothing (report/data.hpp), or that
  TypeId type_ = kOtherTypes;
  uint16_t site_ = 0;
  const void* caller_;
  Lane* lane_ = nullptr;  // null: all calls are timed
  uint32_t weight_ = 1;
  int64_t begin_ns_ = 0;
  int64_t elsewhere_ns_ = 0;
  int64_t bytes_ = 0;
  // Of a call that is not timed: what it was told, as in a Lot.
  uint64_t kept_[kMostTold];
  int64_t kept_bytes_[kMostTold];
  Look* outer_ = nullptr;  // a library may call back into the program, and that into us
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_OBSERVE_OBSERVE_HPP_
