// SPDX-License-Identifier: BSD-3-Clause
//
// Next: where a call goes when lacuna passes it on, and the only way lacuna itself calls MPI. The
// next symbol in the program's search order comes first, so that tools above and below see what
// they would see without lacuna.
#ifndef LACUNA_INTERPOSE_LIBRARY_NEXT_HPP_
#define LACUNA_INTERPOSE_LIBRARY_NEXT_HPP_

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/header.hpp"
#include "next.gen.hpp"

// A hidden symbol is reached without the global offset table, which would cost a load in each call.
#define LACUNA_HIDDEN __attribute__((visibility("hidden")))

namespace lacuna {

// One field of Next, for resolve() to fill.
struct NextRow {
  const char* name;
  size_t offset;
  void* stand_in;  // for what the library lacks
  bool optional;   // lacuna can work without it
};
std::span<const NextRow> next_rows();
// The names behind FunctionId.
std::span<const char* const> wrapped_names();

// What a function answers that the library does not have.
inline constexpr int kUnsupported = MPI_ERR_UNSUPPORTED_OPERATION;

inline bool fits_int(MPI_Count value) { return value >= INT_MIN && value <= INT_MAX; }

namespace detail {
// At first the field of each wrapped function is a stub that resolves the table and then calls; the
// other fields are null. Each field is valid on its own at any time, so that a call needs neither a
// lock nor an indirection.
LACUNA_HIDDEN extern Next g_next;
const Next& resolve() noexcept;
}  // namespace detail

// The table, resolved at the first call of any wrapper (not earlier: libmpi may come late).
inline const Next& next_functions() noexcept { return detail::g_next; }
// The table for PMPI_ names: where a call of such a name is passed on.
const Next& next_profiling() noexcept;

// Lets both tables be changed, so that calls meet another function before the library: `change`
// gets the table of MPI_ names, `change_profiling` that of PMPI_ names. Other threads may be
// calling: each field must be set by one atomic store.
void change_next(void (*change)(Next* next), void (*change_profiling)(Next* next)) noexcept;

// The first function that lacuna needs and the library does not have, or nullptr. If one is
// missing, every call passes through.
const char* next_lacks() noexcept;
inline bool next_is_complete() noexcept { return next_lacks() == nullptr; }
// Whether the library has the large-count forms of communication.
bool next_has_large() noexcept;

// Finds where the code of the MPI library lies. Calls from there are not the program's; calls from
// its Fortran bindings are: they are the program's, translated to C. Called once, in MPI_Init.
void find_mpi_code() noexcept;
// A hash of which functions a tool below lacuna intercepts. Such a tool calls PMPI_ names, which
// are wrapped again: so ranks with different hashes count different calls.
uint64_t tools_below() noexcept;
namespace detail {
// A cache of return addresses that are not the library's. A program has few.
inline constexpr unsigned kCallers = 64;
extern std::atomic<const void*> g_program_callers[kCallers];
bool look_up_caller(const void* return_address) noexcept;
}  // namespace detail

inline bool called_by_mpi(const void* return_address) noexcept {
  const auto& known =
      detail::g_program_callers[reinterpret_cast<uintptr_t>(return_address) % detail::kCallers];
  return known.load(std::memory_order_relaxed) != return_address &&
         detail::look_up_caller(return_address);
}

bool called_by_fortran(const void* return_address) noexcept;

// Whether requests may be completed without a wrapper seeing it: another tool precedes lacuna in
// the search order, or Fortran's entry points are part of the library (or, in static programs,
// bypass lacuna).
bool completion_may_be_hidden();
// The same for receives and probes.
bool receives_may_be_hidden();
// The same for synchronisations of windows; asked only if completions are not hidden.
bool synchronization_may_be_hidden();

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_NEXT_HPP_
