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

// Reached without the global offset table, which every call would read.
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
// At first each wrapped function is: resolve, then call; the others are null. Each field is right
// on its own at any time, so that a call needs neither a lock nor a pointer to read.
LACUNA_HIDDEN extern Next g_next;
const Next& resolve() noexcept;
}  // namespace detail

// The table, resolved at the first call of any wrapper (not earlier: libmpi may come late).
inline const Next& next_functions() noexcept { return detail::g_next; }
// The same of the names that begin with PMPI_: where a call under such a name is passed on.
const Next& next_profiling() noexcept;

// Changes what calls to some functions meet before the library: `change` for those by MPI's names,
// `change_profiling` for those by PMPI. Other threads may be calling: a field is set at once.
void change_next(void (*change)(Next* next), void (*change_profiling)(Next* next)) noexcept;

// The first function that lacuna needs and the library does not have; nullptr: it has all. Without
// one everything passes through.
const char* next_lacks() noexcept;
inline bool next_is_complete() noexcept { return next_lacks() == nullptr; }
// Whether the library has the large-count forms of communication.
bool next_has_large() noexcept;

// Where the code of the MPI library lies: calls from there are not the program's. Calls from its
// Fortran bindings are, translated to C. Found once.
void find_mpi_code() noexcept;
// Which functions a tool takes from lacuna before the library sees them, as one number. Tools call
// PMPI_ names, which are lacuna's again: so where ranks differ in this, so does what they count.
uint64_t tools_below() noexcept;
namespace detail {
// Places of calls that were found not to be the library's: a program has few.
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

// Whether requests may be completed where no wrapper sees it: other tools stand before us in the
// search order, or Fortran's entry points are part of the library itself (or, in static programs,
// go past us).
bool completion_may_be_hidden();
// The same for receives and probes.
bool receives_may_be_hidden();
// The same for synchronisations of windows, where completions are not hidden.
bool synchronization_may_be_hidden();

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_NEXT_HPP_
