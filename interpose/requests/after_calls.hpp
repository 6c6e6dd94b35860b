// SPDX-License-Identifier: BSD-3-Clause
//
// Work after each call that may tell the program about other processes, calls that the gate
// lets pass included. Only while a receive is incomplete whose request the program has freed.
//
// It is installed in the table of next symbols, so that calls cost nothing more while there is no
// such receive.
#ifndef LACUNA_INTERPOSE_REQUESTS_AFTER_CALLS_HPP_
#define LACUNA_INTERPOSE_REQUESTS_AFTER_CALLS_HPP_

namespace lacuna {

// Switches it on or off. Any thread, one at a time.
void finish_after_calls(bool on) noexcept;

// Whether this thread is in such a call, and so in a callback. The library may hold locks of its
// own then.
bool is_in_library() noexcept;

// is_in_library() is true during its lifetime.
class InLibrary {
 public:
  InLibrary() noexcept;
  ~InLibrary();
  InLibrary(const InLibrary&) = delete;
  InLibrary& operator=(const InLibrary&) = delete;
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_AFTER_CALLS_HPP_
