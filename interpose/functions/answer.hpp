// SPDX-License-Identifier: BSD-3-Clause
//
// Answer: what the hand-written body of a wrapper returns. `kDeclined`: the body had no side
// effect, and the generated wrapper passes the original arguments to the library. `handled`: the
// call is done.
#ifndef LACUNA_INTERPOSE_FUNCTIONS_ANSWER_HPP_
#define LACUNA_INTERPOSE_FUNCTIONS_ANSWER_HPP_

namespace lacuna {

struct Answer {
  bool handled;
  int code;  // what the MPI function returns, if handled
  // The library has done the call, and lacuna only observed it: it does not count as handled.
  bool watched = false;
};

inline constexpr Answer kDeclined{false, 0};

constexpr Answer handled(int code) { return {true, code}; }
constexpr Answer watched(int code) { return {true, code, true}; }

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_FUNCTIONS_ANSWER_HPP_
