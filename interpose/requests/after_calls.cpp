// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/after_calls.hpp"

#include "interpose/library/next.hpp"
#include "interpose/requests/freed.hpp"
#include "telling.gen.hpp"

namespace lacuna {
namespace {

constinit thread_local int t_in_library __attribute__((tls_model("initial-exec"))) = 0;

// The tables as they were before; constant once a call may read them.
constinit Next g_plain_before{};
constinit Next g_profiling_before{};
constinit bool g_kept = false;

template <const Next& before, auto function>
struct Behind;
template <const Next& before, typename... Arguments, int (*Next::*function)(Arguments...)>
struct Behind<before, function> {
  // Not noexcept: an error handler of the program may throw through the library.
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

// Atomic stores, as other threads may be calling through these fields.
template <const Next& before>
void install_wrappers(Next* next) {
  for_each_telling([next]<auto function>() {
    __atomic_store_n(&(next->*function), &Behind<before, function>::call, __ATOMIC_RELEASE);
  });
}

template <const Next& before>
void remove_wrappers(Next* next) {
  for_each_telling([next]<auto function>() {
    __atomic_store_n(&(next->*function), before.*function, __ATOMIC_RELEASE);
  });
}

template <Next& before>
void keep(Next* next) {
  before = *next;
}

}  // namespace

void finish_after_calls(bool on) noexcept {
  if (!g_kept) change_next(&keep<g_plain_before>, &keep<g_profiling_before>);
  g_kept = true;
  if (on)
    change_next(&install_wrappers<g_plain_before>, &install_wrappers<g_profiling_before>);
  else
    change_next(&remove_wrappers<g_plain_before>, &remove_wrappers<g_profiling_before>);
}

bool is_in_library() noexcept { return t_in_library != 0; }

InLibrary::InLibrary() noexcept { ++t_in_library; }

InLibrary::~InLibrary() { --t_in_library; }

}  // namespace lacuna
