// SPDX-License-Identifier: BSD-3-Clause
//
// Look: one call that has got past the gate, from there until it returns. Where the user wants to
// be told, what happens meanwhile is told of this call's function.
#ifndef LACUNA_INTERPOSE_LOOK_HPP_
#define LACUNA_INTERPOSE_LOOK_HPP_

#include "interpose/answer.hpp"
#include "interpose/gate.hpp"
#include "interpose/report.hpp"

namespace lacuna {

// Counts the calls that got past the gate, for lacuna_interposed_calls().
void note(FunctionId function, Answer answer) noexcept;

class Look {
 public:
  // `starts`: the call moves data or starts to, so that the report must name it.
  Look(FunctionId function, bool starts) noexcept : function_(function), starts_(starts) {
    if (is_watched(kReported | kVerified)) begin();
  }
  ~Look() {
    if (watched_) end();
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  Answer note(Answer answer) noexcept {
    ::lacuna::note(function_, answer);
    if (watched_ && starts_ && !answer.taken && !told_) tell_nothing();
    return answer;
  }

  FunctionId function() const noexcept { return function_; }
  void told() noexcept { told_ = true; }

 private:
  void begin() noexcept;
  void end() noexcept;
  void tell_nothing() const noexcept;

  const FunctionId function_;
  const bool starts_;
  bool watched_ = false;
  bool told_ = false;
  Look* outer_ = nullptr;  // a library may call back into the program, and that into us
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LOOK_HPP_
