// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/behind.hpp"

#include "interpose/library/next.hpp"
#include "interpose/requests/freed.hpp"
#include "telling.gen.hpp"

namespace lacuna {
namespace {

constinit thread_local int t_in_library __attribute__((tls_model("initial-exec"))) = 0;

// What stood in the tables before; never changed once a call may read it.
constinit Next g_plain{};
constinit Next g_profiling{};
constinit bool g_kept = false;

template <const Next& before, auto function>
struct Behind;
template <const Next& before, typename... Arguments, int (*Next::*function)(Arguments...)>
struct Behind<before, function> {
  // Not noexcept: an error handler of the program's may throw through the library.
  static int call(Arguments... arguments) {
    const int code = [&] {
      const InLibrary inside;
      return (before.*function)(arguments...);
    }();
    // A call inside another one is a callback, or the library's own.
    if (!is_in_library()) finish_freed_requests();
    return code;
  }
};

// Other threads may be calling meanwhile, through the fields that they find.
template <const Next& before>
void stand_behind(Next* next) {
  for_each_telling([next]<auto function>() {
    __atomic_store_n(&(next->*function), &Behind<before, function>::call, __ATOMIC_RELEASE);
  });
}

template <const Next& before>
void stand_back(Next* next) {
  for_each_telling([next]<auto function>() {
    __atomic_store_n(&(next->*function), before.*function, __ATOMIC_RELEASE);
  });
}

template <Next& before>
void keep(Next* next) {
  before = *next;
}

}  // namespace

void look_behind_calls(bool on) noexcept {
  if (!g_kept) change_next(&keep<g_plain>, &keep<g_profiling>);
  g_kept = true;
  if (on)
    change_next(&stand_behind<g_plain>, &stand_behind<g_profiling>);
  else
    change_next(&stand_back<g_plain>, &stand_back<g_profiling>);
}

bool is_in_library() noexcept { return t_in_library != 0; }

InLibrary::InLibrary() noexcept { ++t_in_library; }

InLibrary::~InLibrary() { --t_in_library; }

}  // namespace lacuna
