// SPDX-License-Identifier: BSD-3-Clause
//
// Answer: what a hand-written body says about a call. `declined` means that nothing has happened
// yet and nobody will know; the generated wrapper then passes the original arguments on. `taken`
// means that the call is done.
#ifndef LACUNA_INTERPOSE_LIBRARY_ANSWER_HPP_
#define LACUNA_INTERPOSE_LIBRARY_ANSWER_HPP_

namespace lacuna {

struct Answer {
  bool taken;
  int code;  // what the MPI function returns, if taken
  // Done as the library would have, only looked at.
  bool watched = false;
};

inline constexpr Answer kDeclined{false, 0};

constexpr Answer taken(int code) { return {true, code}; }
constexpr Answer watched(int code) { return {true, code, true}; }

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_ANSWER_HPP_
