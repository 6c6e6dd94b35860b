// SPDX-License-Identifier: BSD-3-Clause
//
// Behind: what is done after each call that may tell a program of other processes, also after those
// that pass in their gates. Only while a receive is under way whose request the program has freed.
//
// It stands in the table of next symbols, so that calls cost nothing more when there is none.
#ifndef LACUNA_INTERPOSE_REQUESTS_BEHIND_HPP_
#define LACUNA_INTERPOSE_REQUESTS_BEHIND_HPP_

namespace lacuna {

// From now on, or no more. Any thread, one at a time.
void look_behind_calls(bool on) noexcept;

// Whether this thread is in a call that is looked behind, and so in a callback: the library may
// hold locks of its own then.
bool is_in_library() noexcept;

// A stretch in which it counts as such.
class InLibrary {
 public:
  InLibrary() noexcept;
  ~InLibrary();
  InLibrary(const InLibrary&) = delete;
  InLibrary& operator=(const InLibrary&) = delete;
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_BEHIND_HPP_
