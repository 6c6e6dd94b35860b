// SPDX-License-Identifier: BSD-3-Clause
//
// Next: where a call goes when lacuna passes it on, and the only way lacuna itself calls MPI. The
// next symbol in the program's search order comes first, so that tools above and below see what
// they would see without lacuna.
#ifndef LACUNA_INTERPOSE_NEXT_HPP_
#define LACUNA_INTERPOSE_NEXT_HPP_

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/functions.hpp"
#include "mpi/header.hpp"
#include "next.gen.hpp"

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
extern const Next kFirst;  // each wrapped function: resolve, then call; null for the others
extern std::atomic<const Next*> g_next;
const Next& resolve() noexcept;
}  // namespace detail

// The table, resolved at the first call of any wrapper (not earlier: libmpi may come late).
inline const Next& next_functions() noexcept {
  return *detail::g_next.load(std::memory_order_acquire);
}

// Whether the library has all that lacuna needs. If not, everything passes through.
bool next_is_complete() noexcept;
// Whether the library has the large-count forms of communication.
bool next_has_large() noexcept;

// The same functions for mpi/decode.cpp.
MpiFunctions mpi_functions_of(const Next& next) noexcept;

// Where the code of the MPI library and its bindings lies: calls from there are not the program's.
// Filled once.
void find_mpi_code() noexcept;
bool called_by_mpi(const void* return_address) noexcept;

// Whether requests may be completed where no wrapper sees it: a binding library in this process
// calls PMPI_Wait, or another tool stands before us in the search order.
bool completion_may_be_hidden() noexcept;
// The same for receives and probes.
bool receives_may_be_hidden() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_NEXT_HPP_
